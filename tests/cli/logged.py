"""Lines as Metacontroller writes them with --zap-log-level=6."""

from typing import Any

import orjson

from app.kube.hook import JSON
from tests.support.recorded import RUNNING, recorded

URL = "http://hooks.test:8080/keeper/sync"
EMPTY_BODY = "json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"
NOT_JSON = "json: error calling MarshalJSON for type json.RawMessage: invalid character 'c' looking for value"


def a_request(name: str = "job", **spec: Any) -> JSON:
    """A recorded sync request, of an object of this name."""
    request = recorded(RUNNING)
    request["parent"]["metadata"]["name"] = name
    request["parent"]["spec"] |= spec
    return request


def line(message: str, second: float, url: str = URL, hook: str = "sync", **fields: Any) -> bytes:
    """One line of the log; `second` counts from twelve o'clock."""
    stamp = f"2026-11-29T12:00:{second:012.9f}Z"
    entry = {"level": "Level(-6)", "ts": stamp, "msg": message, "version": "v2", "type": hook, "url": url}
    return orjson.dumps(entry | fields) + b"\n"


def asked(second: float, body: JSON, **fields: Any) -> bytes:
    """The line of a request."""
    return line("Webhook request", second, body=body, **fields)


def answered(second: float, body: JSON | None = None, **fields: Any) -> bytes:
    """The line of a response; without a body that of a 304."""
    content = {"bodyError": EMPTY_BODY} if body is None else {"body": body}
    return line("Webhook response", second, **{**content, **fields})


def other(second: float) -> bytes:
    """A line about something else."""
    return line("Sync", second, logger="composite.keeper", object={"name": "job", "namespace": "t"})
