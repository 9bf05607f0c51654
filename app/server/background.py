"""An application served from a thread: for the local run, for tests, and for the operations port."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from app.server.protocol import TimedProtocol
from app.settings import ServerSettings

LOOPBACK = "127.0.0.1"
_START_SECONDS = 20
# A worker that has not answered its parent for so long is ended; a start on a throttled CPU takes ten or more.
_WORKER_SECONDS = 60
_IN_A_THREAD = ServerSettings(read_seconds=5, shutdown_seconds=5)


class NotServing(Exception):
    """The application did not begin to serve; the message says where."""


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound TCP socket; port 0 takes a free one. Raises `NotServing` where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as problem:
        bound.close()
        raise NotServing(f"cannot listen on {host} port {port}: {problem.strerror}") from None
    bound.set_inheritable(True)
    return bound


def uvicorn_config(
    app: object, server: ServerSettings, *, factory: bool = False, tls: Callable[..., ssl.SSLContext] | None = None
) -> uvicorn.Config:
    """uvicorn as Hangar uses it: uvloop, httptools, our own logs, and connections that outlive the client's patience.

    Metacontroller drops idle connections after 90 seconds; were the server first, a call could meet a closing one.
    `tls` makes the context of a process that listens with TLS.
    """
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # an application, or with `factory` what makes one
        factory=factory,
        workers=server.workers,
        loop="uvloop",
        http=partial(TimedProtocol, read_seconds=server.read_seconds),  # type: ignore[arg-type]  # called as a class is
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=server.shutdown_seconds,
        timeout_worker_healthcheck=_WORKER_SECONDS,
        ssl_context_factory=tls,
    )


@contextmanager
def running(
    app: ASGIApp, host: str = LOOPBACK, port: int = 0, settings: ServerSettings = _IN_A_THREAD
) -> Iterator[str]:
    """Serves `app` from a thread and yields its base URL; the server has ended when the block has.

    Of `settings` the times count. Raises `NotServing` where the address is taken or the server does not start.
    """
    bound = listening_socket(host, port)
    server = uvicorn.Server(uvicorn_config(app, settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="hangar-http", daemon=True)
    thread.start()
    try:
        _await_start(server, thread)
        yield shown_url(host, bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def shown_url(host: str, port: int, *, tls: bool = False) -> str:
    """Where a server listens, as a URL."""
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise NotServing("the server did not start; its log says why")
        time.sleep(0.005)
