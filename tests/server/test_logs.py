"""Log lines: one JSON object each, whatever happened."""

import logging
import sys
from typing import Any

import orjson

from app.server.logs import CallRecord, JSONFormatter


def line(message: str, *arguments: object, failing: bool = False, **extra: Any) -> dict[str, Any]:
    """What a record becomes, parsed."""
    caught = None
    if failing:
        try:
            raise ValueError("first\nsecond")
        except ValueError:
            caught = sys.exc_info()
    record = logging.LogRecord("hangar.x", logging.WARNING, __file__, 1, message, arguments, caught)
    record.__dict__.update(extra)
    text = JSONFormatter().format(record)
    assert "\n" not in text
    found: dict[str, Any] = orjson.loads(text)
    return found


def test_a_line_says_when_how_bad_who_and_what() -> None:
    found = line("read %d tokens", 2, fields={"path": "/x"})
    assert found.pop("time").endswith("+00:00")
    assert found == {"level": "warning", "logger": "hangar.x", "message": "read 2 tokens", "path": "/x"}


def test_a_trace_stays_on_its_line() -> None:
    assert line("failed", failing=True)["trace"].endswith("ValueError: first\nsecond")


def test_what_json_does_not_know_is_written_as_text() -> None:
    assert line("x", fields={"what": {1, 2}})["what"] == "{1, 2}"


def test_what_is_not_known_of_a_call_is_left_out() -> None:
    assert CallRecord(path="/x", request_id="a").fields() == {
        "path": "/x",
        "requestId": "a",
        "status": 0,
        "milliseconds": 0.0,
        "bytesIn": 0,
        "bytesOut": 0,
    }
