"""How much the service takes: the size of one body, the time it may take to arrive, and the work that may wait."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from starlette.requests import Request

from app.server.outcomes import Reason, Refused
from app.settings import MIB

# An upload that is still under way after so long waits for its caller, not for us: see `Load`.
SLOW_SECONDS = 1.0


class Upload:
    """The place of one call while its body arrives. `size` is in bytes: as declared, or as received where that is more.

    `since` is of the load's own clock.
    """

    def __init__(self, size: int, since: float) -> None:
        self.size = size
        self.since = since
        self.gave_way = False
        self.deadline: asyncio.Timeout | None = None

    def give_way(self) -> None:
        """Ends the reading of the body: the place is needed."""
        self.gave_way = True
        if self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time())


class Load:
    """Calls that have been accepted and not answered yet, by number and by bytes.

    One process works one call at a time, at roughly 100 MB a second; twice the largest body is some two seconds of
    work, well inside a hook's time-out. A call beyond that is told to come back, which Metacontroller does without an
    event on the user's object.

    A slow caller takes no place from the others: where all are taken, uploads that have had more than a second of this
    process's attention give way first. Its clock stands still while an answer is made, so that being busy makes no
    caller slow.
    """

    def __init__(self, max_calls: int, max_bytes: int, clock: Callable[[], float] = monotonic) -> None:
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._clock = clock
        self._busy = 0.0
        self._held: dict[Upload, None] = {}  # in order of arrival
        self._bytes = 0

    @contextmanager
    def taken(self, size: int, *, always: bool = False) -> Iterator[Upload]:
        """Holds one call of `size` bytes. Raises `Refused` with a 429; a lone call is taken whatever its size.

        With `always` the call is neither counted nor refused.
        """
        upload = Upload(size, self._now())
        if not always:
            self._make_room(size)
            self._held[upload] = None
            self._bytes += size
        try:
            yield upload
        finally:
            self._release(upload)

    def received(self, upload: Upload, size: int) -> None:
        """Notes that `size` bytes of a body have come, which may be more than were declared. Raises as `taken`."""
        if size > upload.size and upload in self._held:
            self._release(upload)
            self._make_room(size)
            upload.size = size
            self._held[upload] = None
            self._bytes += size

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Stops the clock by which uploads are slow."""
        started = self._clock()
        try:
            yield
        finally:
            self._busy += self._clock() - started

    def _now(self) -> float:
        return self._clock() - self._busy

    def _make_room(self, size: int) -> None:
        if self._full(size):
            latest = self._now() - SLOW_SECONDS
            for upload in [held for held in self._held if held.since < latest]:
                upload.give_way()
                self._release(upload)
                if not self._full(size):
                    return
            raise _busy()

    def _full(self, size: int) -> bool:
        return bool(self._held) and (len(self._held) >= self._max_calls or self._bytes + size > self._max_bytes)

    def _release(self, upload: Upload) -> None:
        if upload in self._held:
            del self._held[upload]
            self._bytes -= upload.size


async def read_body(request: Request, upload: Upload, load: Load, maximum: int, seconds: float) -> bytes:
    """The request's body: at most `maximum` bytes, and all of them within `seconds`. Raises `Refused`.

    It is refused as soon as its length is known to be too large, and where its place is needed.
    """
    declared = declared_length(request)
    if declared > maximum:
        raise _too_large(maximum)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds) as upload.deadline:
            async for chunk in request.stream():
                size += len(chunk)
                if size > maximum:
                    raise _too_large(maximum)
                load.received(upload, size)
                chunks.append(chunk)
    except TimeoutError:
        raise (_busy() if upload.gave_way else _too_slow(size, declared, seconds)) from None
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


def _too_slow(size: int, declared: int, seconds: float) -> Refused:
    came = f"{size} of {declared} bytes" if declared else f"{size} bytes"
    return Refused(
        408,
        Reason.TOO_SLOW,
        f"The request's body did not arrive within {seconds:g} s (HANGAR_READ_SECONDS): {came} came.",
        {"Connection": "close"},
    )


def _busy() -> Refused:
    return Refused(
        429,
        Reason.BUSY,
        "Too much work is waiting: the call will be repeated.",
        # Metacontroller reads anything but an integer as 0, and then calls 300 times a second.
        {"Retry-After": "1"},
    )
