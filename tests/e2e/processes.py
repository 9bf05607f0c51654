"""Programs that a run starts, each with a log of its own; what was started is ended, by its process id."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
_END_SECONDS = 20.0
# The kernel ends a program whose starter was killed, so that nothing is left even then.
DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")


class NotStarted(Exception):
    """A program that ended or did not get ready; the message has the end of its log."""


class Processes:
    """What was started, in order. As a context manager it ends all of it, the last one first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        while self._running:
            self.end(self._running[-1])

    def start(
        self,
        name: str,
        command: Sequence[str],
        ready: Callable[[], bool],
        *,
        environment: Mapping[str, str] | None = None,
        seconds: float = 90,
        guard: Sequence[str] | None = None,
    ) -> "subprocess.Popen[bytes]":
        """Starts a program and waits until `ready` says so. Raises NotStarted; what was started is ended by the block.

        `guard` is put before the command, in place of what lets it die with this process.
        """
        before = guard if guard is not None else (DIES_WITH_PARENT if shutil.which(DIES_WITH_PARENT[0]) else ())
        with self.log(name).open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the programs of a control plane
                [*before, *command], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._running.append(process)
        deadline = time.monotonic() + seconds
        while not ready():
            if process.poll() is not None:
                raise NotStarted(f"{name} ended with {process.returncode}. {self._tail(name)}")
            if time.monotonic() > deadline:
                raise NotStarted(f"{name} was not ready within {seconds:.0f} s. {self._tail(name)}")
            time.sleep(0.05)
        return process

    def log(self, name: str) -> Path:
        """The file that holds what the program wrote."""
        return self.folder / f"{name}.log"

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """Ends one of them, gently first."""
        self._running.remove(process)
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tail(self, name: str) -> str:
        lines = self.log(name).read_text(errors="replace").splitlines()[-15:]
        return f"The end of {self.log(name)}:\n" + "\n".join(lines)


def free_ports(count: int) -> list[int]:
    """So many loopback ports that nobody listens on now, all different."""
    held = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()
