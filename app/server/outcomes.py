"""How a call ends: refused, failed or answered, its line in the log and its marks in the metrics."""

import logging
from collections.abc import Mapping
from enum import StrEnum
from time import perf_counter

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from app.server import metrics
from app.server.logs import CallRecord, sane_request_id

log = logging.getLogger("hangar.calls")


class Reason(StrEnum):
    """Why a call was refused; a label of the metrics and a field of the logs."""

    UNAUTHORIZED = "unauthorized"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    BUSY = "busy"
    NOT_JSON = "not_json"
    UNREADABLE = "unreadable"
    NOT_FOUND = "not_found"
    WRONG_METHOD = "wrong_method"
    DISCONNECTED = "disconnected"


class Refused(Exception):
    """A call that is answered with `status` and one sentence instead of children and a status.

    The whole body lands in an event on the user's object, so the sentence is short and holds nothing secret.
    """

    def __init__(self, status: int, reason: Reason, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.reason = reason
        self.sentence = sentence
        self.headers = dict(headers or {})


def record_of(request: Request) -> CallRecord:
    """The empty record of a call, with the caller's request id where it is a sane one."""
    return CallRecord(path=request.scope["path"], request_id=sane_request_id(request.headers.get("x-request-id")))


def refusal(refused: Refused, record: CallRecord) -> Response:
    """The response to a refused call; counts it."""
    metrics.REFUSALS.labels(refused.reason).inc()
    record.reason, record.problem = refused.reason, refused.sentence
    return PlainTextResponse(refused.sentence, refused.status, refused.headers)


def failure(record: CallRecord) -> Response:
    """The response to a call in which Hangar itself failed; the trace goes to the log alone."""
    log.exception("call failed", extra={"fields": {"requestId": record.request_id, "path": record.path}})
    return PlainTextResponse(
        f"Hangar failed on this call and changed nothing; its log says why under request id {record.request_id}.", 500
    )


def concluded(response: Response, record: CallRecord, started: float) -> Response:
    """Completes the record with what is sent, measures and logs it. `started` is of `perf_counter`."""
    record.status = response.status_code
    record.outcome = _outcome(response.status_code)
    record.bytes_out = len(response.body)
    record.milliseconds = round((perf_counter() - started) * 1000, 3)
    response.headers["X-Request-Id"] = record.request_id
    if record.hook:
        _measure(record)
    level = {"refused": logging.WARNING, "failed": logging.ERROR}.get(record.outcome, logging.INFO)
    log.log(level, "call", extra={"fields": record.fields()})
    return response


def _outcome(status: int) -> str:
    if status in (200, 304):
        return "answered" if status == 200 else "not_modified"
    return "refused" if status < 500 else "failed"


def _measure(record: CallRecord) -> None:
    names = (record.controller, record.hook)
    metrics.CALL_SECONDS.labels(*names, record.outcome).observe(record.milliseconds / 1000)
    if record.bytes_in:
        metrics.REQUEST_BYTES.labels(*names).observe(record.bytes_in)
    if record.outcome == "answered":
        metrics.RESPONSE_BYTES.labels(*names).observe(record.bytes_out)
    elif record.outcome == "not_modified":
        metrics.NOT_MODIFIED.labels(*names).inc()
