"""An application served from a thread: for the local run, for tests, and for the operations port."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
_START_SECONDS = 20
# A worker that has not answered its parent for so long is ended; a start on a throttled CPU takes ten or more.
_WORKER_SECONDS = 60


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


def uvicorn_config(app: object, *, shutdown_seconds: int, workers: int = 1, factory: bool = False) -> uvicorn.Config:
    """uvicorn as Hangar uses it: uvloop, httptools, our own logs, and connections that outlive the client's patience.

    Metacontroller drops idle connections after 90 seconds; were the server first, a call could meet a closing one.
    """
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # an application, or with `factory` what makes one
        factory=factory,
        workers=workers,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=shutdown_seconds,
        timeout_worker_healthcheck=_WORKER_SECONDS,
    )


@contextmanager
def running(app: ASGIApp, host: str = LOOPBACK, port: int = 0, shutdown_seconds: int = 5) -> Iterator[str]:
    """Serves `app` from a thread and yields its base URL; the server has ended when the block has.

    Raises `NotServing` where the address is taken or the server does not start.
    """
    bound = listening_socket(host, port)
    server = uvicorn.Server(uvicorn_config(app, shutdown_seconds=shutdown_seconds))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="hangar-http", daemon=True)
    thread.start()
    try:
        _await_start(server, thread)
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise NotServing("the server did not start; its log says why")
        time.sleep(0.005)
