"""The life of `hangar serve`: one parent process for the operations port, and workers for the hooks.

The parent binds the hooks' socket and hands it to its workers, restarts one that dies or hangs, and answers health,
readiness and metrics, also while every worker is busy. On SIGTERM it reports `draining` first and lets calls come for
a moment, since a Service goes on sending until the endpoint's removal has spread; then the workers stop accepting,
finish what they have begun, and end.
"""

import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from multiprocessing import connection, parent_process
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from app.controllers import CONTROLLERS
from app.server import logs
from app.server.application import create_app
from app.server.auth import Tokens
from app.server.background import listening_socket, running, uvicorn_config
from app.server.operations import Readiness, create_operations
from app.settings import ControllerSettings, ServerSettings, SettingsError

log = logging.getLogger(__name__)

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a folder of ours is made in it, readable by us alone


def serve(environment: Mapping[str, str]) -> int:
    """Serves until a signal ends it. Returns the exit code: 0 after a signal, 1 where the workers cannot start.

    Raises `SettingsError` and `NotServing`, before anything is served, for what the person who starts it can mend.
    """
    server = ServerSettings.from_environment(environment)
    ControllerSettings.from_environment(environment)
    if server.token_file:
        Tokens(server.token_file)
    logs.configure(server.log_level)
    if not server.token_file:
        log.warning("no bearer token is asked for: whoever reaches port %d is answered", server.port)
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
                factory=True,
                workers=server.workers,
                shutdown_seconds=server.shutdown_seconds,
            )
            supervisor = Supervisor(config, [hooks], readiness, server.drain_seconds)
            port = hooks.getsockname()[1]
            log.info(
                "serving", extra={"fields": {"hooks": f"http://{server.host}:{port}", "operations": operations_url}}
            )
            supervisor.run()
    return 0 if readiness.draining else 1


def worker_app(environment: Mapping[str, str]) -> Starlette:
    """The hook application of one worker process. What was read by the parent is read again: nothing is shared."""
    server = ServerSettings.from_environment(environment)
    logs.configure(server.log_level)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = ControllerSettings.from_environment(environment)
    try:
        app = create_app(CONTROLLERS, settings, server, clock=lambda: datetime.now(UTC))
    except SettingsError as problem:
        log.error("cannot start: %s", problem)
        sys.exit(STARTUP_FAILURE)  # the code on which the parent gives up instead of trying for ever
    # What start-up made lives as long as the process; the collector need not walk it again.
    gc.collect()
    gc.freeze()
    return app


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
        self, config: uvicorn.Config, sockets: list[socket.socket], readiness: Readiness, drain_seconds: float
    ) -> None:
        super().__init__(config, sockets)
        self._readiness = readiness
        self._drain_seconds = drain_seconds

    def keep_subprocess_alive(self) -> None:
        """Runs twice a second: restarts what died, and notes whether some worker accepts calls."""
        super().keep_subprocess_alive()
        if not self.should_exit.is_set():
            self._readiness.accepting = any(process.is_ready() for process in self.processes)

    def handle_term(self) -> None:
        """Says that it drains, and goes on serving while endpoints disappear; any further signal cuts that short."""
        if not self._readiness.draining:
            self._readiness.draining = True
            log.info("draining for %s s", self._drain_seconds)
            deadline = time.monotonic() + self._drain_seconds
            while time.monotonic() < deadline and not self.signal_queue:
                time.sleep(0.05)
        super().handle_term()

    def handle_int(self) -> None:
        """Ends at once, as a person at a terminal expects; what runs is still finished."""
        self._readiness.draining = True
        super().handle_int()
