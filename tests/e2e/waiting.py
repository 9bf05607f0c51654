"""Waiting for what comes by itself, and what is said when it does not."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_EVERY_SECONDS = 0.05


def eventually(look: Callable[[], T | None], what: str, seconds: float = 30) -> T:
    """What `look` gives as soon as it is true. AssertionError with `what` and the last that it gave after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"within {seconds:.0f} s not: {what} (last seen: {found!r})")
        time.sleep(_EVERY_SECONDS)


def always(look: Callable[[], object], what: str, seconds: float) -> None:
    """AssertionError where `look` is not true all the time for so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert look(), f"not all the time: {what}"
        time.sleep(_EVERY_SECONDS)
