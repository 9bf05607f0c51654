"""`hangar serve` as processes on free loopback ports, and sockets to call it by hand."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from tests.support.cases import cases

PATH = "/modeldeployments/sync"
REQUEST = orjson.dumps(cases()["all-ready-changes-nothing"].request)
PATIENCE = 60.0


class Served:
    """One running `hangar serve`, whose log lines are read as they come."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        serving = self.until("serving")
        self.hooks: str = serving["hooks"]
        self.operations: str = serving["operations"]

    def until(self, message: str) -> dict[str, Any]:
        """The first log line from here on that begins with `message`."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(json.loads(line))
            if self.lines[-1]["message"].startswith(message):
                return self.lines[-1]
        raise AssertionError(f"no {message!r} in {self.lines}")

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.operations + path)

    def sync(self, content: bytes = REQUEST, **headers: str) -> httpx.Response:
        return httpx.post(self.hooks + PATH, content=content, headers=headers, timeout=PATIENCE)

    def connected(self) -> socket.socket:
        return connected(self.hooks)

    def await_ready(self, word: str = "ready") -> None:
        deadline = time.monotonic() + PATIENCE
        while self.get("/readyz").text != word:
            assert time.monotonic() < deadline, f"never {word}"
            time.sleep(0.05)

    def await_workers(self, count: int) -> set[int]:
        deadline = time.monotonic() + PATIENCE
        while len(found := self.workers()) != count:
            assert time.monotonic() < deadline, f"never {count} workers"
            time.sleep(0.05)
        return found

    def workers(self) -> set[int]:
        """Process ids of the workers: children of the served process that hold our code."""
        found = set()
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = status.read_text()
                command = status.with_name("cmdline").read_bytes()
            except OSError:
                continue
            if int(text.rpartition(")")[2].split()[1]) == self.process.pid and b"spawn_main" in command:
                found.add(int(status.parent.name))
        return found


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[Served]:
    """`hangar serve` on free loopback ports. What it started is gone afterwards."""
    command = [sys.executable, "-m", "app", "serve", "--host", "127.0.0.1", "--port", "0", "--operations-port", "0"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HANGAR_", "COV_"))}
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [*command, *options],
        env=environment | {"HANGAR_DRAIN_SECONDS": "0"} | variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Served(process)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def connected(url: str) -> socket.socket:
    """A plain connection to where `url` is served. Raises `ConnectionError` where nobody listens."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port or 0), timeout=PATIENCE)


def head(path: str, length: int | None, headers: Mapping[str, str] | None = None) -> bytes:
    """The head of a POST; without a `length` its body is chunked."""
    framing = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
    lines = [
        f"POST {path} HTTP/1.1",
        *(f"{k}: {v}" for k, v in ({"Host": "hangar"} | framing | dict(headers or {})).items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def received(connection: socket.socket) -> tuple[int, dict[str, str], str]:
    """Status, headers (names in lower case) and body of one response with a `Content-Length`."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    text, _, body = data.partition(b"\r\n\r\n")
    status, *lines = text.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += _more(connection)
    return int(status.split()[1]), headers, body.decode()


def closed(connection: socket.socket) -> bool:
    """Waits for the other side to say something: True where it closes the connection."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    assert data, "the connection was closed before the response was complete"
    return data
