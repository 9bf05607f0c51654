"""Lines of Metacontroller's debug log that hold a hook call.

With `--zap-log-level=6` it writes a line `Webhook request` with the whole request before each call and a line
`Webhook response` with the whole answer after it, as JSON or, with `--zap-encoder=console`, as text and JSON.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from app.kube import times
from app.kube.hook import JSON

_REQUEST, _RESPONSE = "Webhook request", "Webhook response"
_TS = re.compile(rb'"ts":\s*"([^"\\]+)"')
_URL = re.compile(rb'"url":\s*"([^"\\]+)"')
# A container runtime's own file cuts a line into parts: `<time> stdout P <part>`, the last with F.
_PART = re.compile(rb"^\S+ std(?:out|err) ([PF])(?::\S+)? (.*)$", re.DOTALL)
_CUT = "it is cut off: collectors of logs cut long lines, so take it from `kubectl logs`"


def holds_call(line: bytes) -> bool:
    """Whether the line may be one of a hook call; most are not, and need not be parsed."""
    return b"Webhook re" in line


def rough(line: bytes) -> tuple[str, datetime | None, bool]:
    """Of a line that cannot be read: its URL (empty where there is none), its time, and whether it is a request."""
    url, stamp = (found[1].decode(errors="replace") if found else "" for found in (_URL.search(line), _TS.search(line)))
    return url, times.parse(stamp), _REQUEST.encode() in line


def joined(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines with their number, those of a container runtime's file put together again."""
    parts: list[bytes] = []
    for number, line in enumerate(lines, start=1):
        found = _PART.match(line.rstrip(b"\r\n"))
        if found is None:
            yield number, line
            continue
        parts.append(found[2])
        if found[1] == b"F":
            yield number, b"".join(parts)
            parts = []


@dataclass(frozen=True, slots=True)
class Entry:
    """What a line says. `body` is None where it is no object; `problem` is what Metacontroller says of it."""

    is_request: bool
    at: datetime
    hook: str
    url: str
    body: JSON | None
    problem: str

    @classmethod
    def read(cls, line: bytes) -> "Entry | None":
        """From a line of the JSON or the console encoder, whatever stands before it; ValueError says what is wrong."""
        start = line.find(b"{")
        head = line[: max(start, 0)].decode(errors="replace").split("\t")
        document = _parsed(line, start)
        message = document.get("msg", next((part for part in reversed(head) if part.strip()), ""))
        if message not in {_REQUEST, _RESPONSE}:
            return None
        at = _moment(document.get("ts", head[0].split(" ")[-1]))
        if at is None:
            raise ValueError("it states no time that can be read: give Metacontroller --zap-time-encoding=rfc3339nano")
        body, hook, url = (document.get(key) for key in ("body", "type", "url"))
        if not (isinstance(hook, str) and isinstance(url, str) and (isinstance(body, dict) or message == _RESPONSE)):
            raise ValueError("it lacks its type, url or body")
        problem = document.get("bodyError", "not an object")
        return cls(message == _REQUEST, at, hook, url, body if isinstance(body, dict) else None, str(problem))


def _parsed(line: bytes, start: int) -> JSON:
    if start < 0:
        raise ValueError(_CUT)
    try:
        document = orjson.loads(line[start:])
    except orjson.JSONDecodeError as problem:
        at_end = problem.pos >= len(problem.doc.rstrip()) - 1 or "unexpected end" in problem.msg
        raise ValueError(_CUT if at_end else f"it is not JSON at column {start + problem.pos + 1}") from None
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    return document


def _moment(stated: Any) -> datetime | None:
    """The time of a line: RFC 3339, or seconds, milliseconds or nanoseconds since 1970."""
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        unit = next((size for limit, size in ((1e11, 1.0), (1e14, 1e3)) if stated < limit), 1e9)
        return datetime.fromtimestamp(stated / unit, UTC)
    return times.parse(stated)
