"""The life of `hangar serve`: one parent process for the operations port, and workers for the hooks.

The parent binds the hooks' socket and hands it to its workers, restarts one that dies or hangs, and answers health,
readiness and metrics, also while every worker is busy. On SIGTERM it reports `draining` first and lets calls come for
a moment, since a Service goes on sending until the endpoint's removal has spread; meanwhile each answer closes its
connection, since one that is kept alive would never notice. Then nobody accepts any more, and the workers finish what
they have begun and end.
"""

import gc
import logging
import os
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import NoReturn

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from app.controllers import CONTROLLERS
from app.server import logs
from app.server.application import create_app
from app.server.auth import Tokens
from app.server.background import listening_socket, running, shown_url, uvicorn_config
from app.server.operations import Readiness, create_operations
from app.server.tls import Certificate
from app.settings import ControllerSettings, ServerSettings, SettingsError

log = logging.getLogger(__name__)

# Tells a worker that the service drains.
LEAVING = signal.SIGUSR1
# What a worker may take to end beyond the time that calls under way have.
_END_SECONDS = 5

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a folder of ours is made in it, readable by us alone


def serve(environment: Mapping[str, str]) -> int:
    """Serves until a signal ends it. Returns the exit code: 0 after a signal, 1 where the workers cannot start.

    Raises `SettingsError` and `NotServing`, before anything is served, for what the person who starts it can mend.
    """
    server = ServerSettings.from_environment(environment)
    ControllerSettings.from_environment(environment)
    if server.token_file:
        Tokens(server.token_file)
    if server.tls_cert_file:
        Certificate(server.tls_cert_file, server.tls_key_file)
    logs.configure(server.log_level)
    readiness = Readiness()
    with metrics_folder() as folder:
        # Read by prometheus-client where a worker imports it.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        operations = create_operations(lambda: readiness.word, Path(folder))
        with (
            listening_socket(server.host, server.port) as hooks,
            running(operations, server.host, server.operations_port) as operations_url,
        ):
            config = uvicorn_config(
                partial(worker_app, dict(environment)),
                server,
                factory=True,
                tls=partial(worker_tls, dict(environment)) if server.tls_cert_file else None,
            )
            supervisor = Supervisor(config, [hooks], readiness, server)
            url = shown_url(server.host, hooks.getsockname()[1], tls=bool(server.tls_cert_file))
            log.info("serving", extra={"fields": {"hooks": url, "operations": operations_url}})
            if not server.token_file:
                log.warning("no bearer token is asked for: whoever reaches %s is answered", url)
            supervisor.run()
    return 0 if readiness.draining else 1


def worker_app(environment: Mapping[str, str]) -> Starlette:
    """The hook application of one worker process. What was read by the parent is read again: nothing is shared."""
    server = ServerSettings.from_environment(environment)
    logs.configure(server.log_level)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = ControllerSettings.from_environment(environment)
    leaving = threading.Event()
    signal.signal(LEAVING, lambda *_: leaving.set())
    try:
        app = create_app(CONTROLLERS, settings, server, lambda: datetime.now(UTC), leaving.is_set)
    except SettingsError as problem:
        _give_up(problem)
    # What start-up made lives as long as the process; the collector need not walk it again.
    gc.collect()
    gc.freeze()
    return app


def worker_tls(environment: Mapping[str, str], *_uvicorn: object) -> ssl.SSLContext:
    """What one worker listens with. It is asked for before the application."""
    server = ServerSettings.from_environment(environment)
    logs.configure(server.log_level)
    try:
        return Certificate(server.tls_cert_file, server.tls_key_file).context()
    except SettingsError as problem:
        _give_up(problem)


def _give_up(problem: SettingsError) -> NoReturn:
    log.error("cannot start: %s", problem)
    sys.exit(STARTUP_FAILURE)  # the code on which the parent gives up instead of trying for ever


def _end_with_parent() -> None:
    """A worker whose parent was killed ends too, rather than keep the port."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def metrics_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for the workers' metrics: a temporary one, or shared memory where the root is read-only."""
    for parent in (None, SHARED_MEMORY):
        try:
            return tempfile.TemporaryDirectory(prefix="hangar-metrics-", dir=parent)
        except OSError:
            continue
    raise SettingsError("no folder can be written for the metrics: mount an emptyDir at /tmp")


class Supervisor(Multiprocess):
    """uvicorn's parent of workers, with readiness and a drain."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], readiness: Readiness, settings: ServerSettings
    ) -> None:
        super().__init__(config, sockets)
        self._readiness = readiness
        self._settings = settings

    def keep_subprocess_alive(self) -> None:
        """Runs twice a second: restarts what died, and notes whether some worker accepts calls."""
        super().keep_subprocess_alive()
        if not self.should_exit.is_set():
            self._readiness.accepting = any(process.is_ready() for process in self.processes)

    def handle_term(self) -> None:
        """Says that it drains, and goes on serving while endpoints disappear; any further signal cuts that short."""
        if not self._readiness.draining:
            self._readiness.draining = True
            log.info("draining for %s s", self._settings.drain_seconds)
            self._signal_workers(LEAVING)
            deadline = time.monotonic() + self._settings.drain_seconds
            while time.monotonic() < deadline and not self.signal_queue:
                time.sleep(0.05)
        super().handle_term()

    def handle_int(self) -> None:
        """Ends at once, as a person at a terminal expects; what runs is still finished."""
        self._readiness.draining = True
        super().handle_int()

    def terminate_all(self) -> None:
        """Lets the workers end. While the parent kept the socket open, callers would wait in its queue for nobody."""
        super().terminate_all()
        for bound in self.sockets:
            bound.close()

    def join_all(self) -> None:
        """Waits for the workers to end, and kills one that does not: it hangs."""
        deadline = time.monotonic() + self._settings.shutdown_seconds + _END_SECONDS
        for process in self.processes:
            process.process.join(max(deadline - time.monotonic(), 0))
            if process.process.is_alive():
                log.error("killing worker %s, which did not end", process.pid)
                process.process.kill()
                process.process.join()

    def _signal_workers(self, number: signal.Signals) -> None:
        for process in self.processes:
            if process.pid is not None and process.process.is_alive():
                os.kill(process.pid, number)
