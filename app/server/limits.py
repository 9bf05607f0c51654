"""How much the service takes: the size of one body, and the work that may wait."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from app.server.outcomes import Reason, Refused
from app.settings import MIB


async def read_body(request: Request, maximum: int) -> bytes:
    """The request's body, refused as soon as its length is known to exceed `maximum` bytes."""
    if declared_length(request) > maximum:
        raise _too_large(maximum)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > maximum:
            raise _too_large(maximum)
        chunks.append(chunk)
    return b"".join(chunks)


def declared_length(request: Request) -> int:
    """`Content-Length` in bytes; 0 where it is absent or no number, as with a chunked body."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() and text.isascii() else 0


def _too_large(maximum: int) -> Refused:
    return Refused(
        413,
        Reason.TOO_LARGE,
        f"The request exceeds {maximum / MIB:g} MiB (HANGAR_MAX_BODY_BYTES={maximum}): "
        f"raise that setting, or declare fewer replicas per deployment.",
    )


class Load:
    """Calls that have been accepted and not answered yet, by number and by bytes.

    One process works one call at a time, at roughly 100 MB a second; twice the largest body is some two seconds of
    work, well inside a hook's time-out. A call beyond that is told to come back, which Metacontroller does without an
    event on the user's object.
    """

    def __init__(self, max_calls: int, max_bytes: int) -> None:
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._calls = 0
        self._bytes = 0

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Holds one call of `size` bytes. Raises `Refused` with a 429; a lone call is always taken."""
        if self._calls and (self._calls >= self._max_calls or self._bytes + size > self._max_bytes):
            raise Refused(
                429,
                Reason.BUSY,
                "Too much work is waiting: the call will be repeated.",
                # Metacontroller reads anything but an integer as 0, and then calls 300 times a second.
                {"Retry-After": "1"},
            )
        self._calls += 1
        self._bytes += size
        try:
            yield
        finally:
            self._calls -= 1
            self._bytes -= size
