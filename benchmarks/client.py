"""A client that costs little: one thread per kept connection, bytes made beforehand, answers counted and not read."""

import socket
import threading
import time
from collections.abc import Callable, Sequence

_TIMEOUT_SECONDS = 120


class Client:
    """Calls one hook with the same requests over and over, on a few connections."""

    def __init__(self, port: int, path: str, bodies: Sequence[bytes], connections: int) -> None:
        self._calls = [_head(path, len(body)) + body for body in bodies]
        self._port = port
        self._connections = connections

    def answer(self) -> bytes:
        """The body of the answer to the first request. Raises `RuntimeError` where it is no 200."""
        with self._connected() as connection:
            return _exchange(connection, self._calls[0])

    def for_seconds(self, seconds: float) -> tuple[int, float]:
        """Answered calls within about `seconds`, and the seconds that they took."""
        start = time.perf_counter()
        until = start + seconds
        calls = self._work(lambda done: not done or time.perf_counter() < until)
        return calls, time.perf_counter() - start

    def times(self, calls: int) -> None:
        """So many calls, spread over the connections."""
        each, rest = divmod(calls, self._connections)
        if rest:
            raise ValueError(f"{calls} calls do not spread over {self._connections} connections")
        self._work(lambda done: done < each)

    def _work(self, more: Callable[[int], bool]) -> int:
        counts = [0] * self._connections

        def work(number: int) -> None:
            with self._connected() as connection:
                while more(counts[number]):
                    _exchange(connection, self._calls[(number + counts[number]) % len(self._calls)])
                    counts[number] += 1

        _in_threads(work, self._connections)
        return sum(counts)

    def _connected(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=_TIMEOUT_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _in_threads(work: Callable[[int], None], count: int) -> None:
    problems: list[Exception] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def _head(path: str, length: int) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: hook", "Content-Type: application/json", f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _exchange(connection: socket.socket, call: bytes) -> bytes:
    """One call and the body of its answer, which states its length."""
    connection.sendall(call)
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"a hook answered {head.splitlines()[0]!r}: {body[:200]!r}")
    (length,) = (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += _more(connection)
    return body


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(262144)
    if not data:
        raise RuntimeError("a hook closed the connection within an answer")
    return data
