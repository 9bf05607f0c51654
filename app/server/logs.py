"""Structured logs: one JSON object per line on standard error; never a body, never a token."""

import logging
import re
import secrets
import sys
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime
from typing import Any

import orjson

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


@dataclass(slots=True)
class CallRecord:
    """What one line says about one call; filled while the call proceeds. Sizes are bytes."""

    path: str
    request_id: str
    controller: str = ""
    hook: str = ""
    namespace: str = ""
    name: str = ""
    generation: int | None = None
    status: int = 0
    outcome: str = ""
    reason: str = ""
    problem: str = ""
    milliseconds: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    children_observed: int | None = None
    children_answered: int | None = None

    def fields(self) -> dict[str, Any]:
        """The fields that are known, named as in the log."""
        known = ((shown, getattr(self, name)) for name, shown in _SHOWN)
        return {shown: value for shown, value in known if value is not None and value != ""}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


_SHOWN = tuple((field.name, _camel(field.name)) for field in dataclass_fields(CallRecord))


class JSONFormatter(logging.Formatter):
    """One line per record: time, level, logger, message, and what `extra={"fields": …}` adds."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def configure(level: str) -> None:
    """Sends all loggers of this process through one handler that writes JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # httpx announces every request at info level; Hangar's own lines say more.
    logging.getLogger("httpx").setLevel(logging.WARNING)


def sane_request_id(given: str | None) -> str:
    """The caller's request id where it is short and plain, else a new one."""
    return given if given and _SANE_ID.fullmatch(given) else secrets.token_hex(8)
