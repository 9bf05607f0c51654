"""HTTP/1.1 as uvicorn speaks it, with a limit on how long a caller may take to send a request.

A connection that says nothing or trickles would else stay for ever: uvicorn times idle connections between calls, and
nothing else. The body of a call that is being answered is timed by `read_body`, which can say more about it.
"""

from asyncio import BaseTransport, TimerHandle
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

# What the call itself gets to answer with a sentence before its connection is closed.
_GRACE_SECONDS = 1


class TimedProtocol(HttpToolsProtocol):
    """One connection. `read_seconds` is the time for the headers of a request, and then for its body."""

    def __init__(self, *arguments: Any, read_seconds: float, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._read_seconds = read_seconds
        self._begun = False
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """A caller has connected (and shaken hands, with TLS)."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._await(self._headers_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request. An empty line before one counts too: it has stopped the clock for idle connections."""
        if self._deadline is None:
            self._await(self._headers_late)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A request's first byte."""
        super().on_message_begin()
        self._begun = True
        if self._deadline is None:  # it came in one piece with the end of the one before
            self._await(self._headers_late)

    def on_headers_complete(self) -> None:
        """The call starts here; its body may still be on the way."""
        super().on_headers_complete()
        self._await(self._body_late, _GRACE_SECONDS)

    def on_message_complete(self) -> None:
        """All of the request is here."""
        self._relax()
        self._begun = False
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came for long. A caller that has not taken its answer either is cut off, else it would stay."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def _await(self, late: Callable[[], None], more_seconds: float = 0) -> None:
        self._relax()
        self._deadline = self.loop.call_later(self._read_seconds + more_seconds, late)

    def _relax(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _headers_late(self) -> None:
        if self._begun and not self._answering():
            sentence = f"The request's headers did not arrive within {self._read_seconds:g} s (HANGAR_READ_SECONDS)."
            self.logger.info("closing a connection whose headers did not arrive")
            self.transport.write(_late(sentence))
        self.transport.close()

    def _body_late(self) -> None:
        """The rest of a body that nobody reads, because the call was refused before it had arrived."""
        self.transport.close()

    def _answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # before the first call there is none


def _late(sentence: str) -> bytes:
    head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(sentence)}\r\nconnection: close\r\n\r\n"
    return STATUS_LINE[408] + head.encode("ascii") + sentence.encode("ascii")
