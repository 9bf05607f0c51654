"""The hooks that are measured through HTTP, each as processes of its own that end with the block."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

GO_SOURCE = Path(__file__).parent / "peers" / "go"
ROOT = Path(__file__).parent.parent
_START_SECONDS = 60


class Unavailable(Exception):
    """A hook that cannot be measured here; the message says why."""


@dataclass(frozen=True, slots=True)
class Running:
    """A hook that serves on a loopback port. `path` has a place for the number of Pods."""

    name: str
    process: "subprocess.Popen[str]"
    port: int
    path: str

    def cpu_seconds(self) -> float:
        """Processor time of the hook's processes so far; 0 where the system does not tell."""
        return sum(map(_cpu_seconds, family(self.process.pid)))

    def worker(self) -> int:
        """The process of Hangar's that answers. Raises `Unavailable` where the system does not tell."""
        for pid in family(self.process.pid):
            command = Path(f"/proc/{pid}/cmdline")
            if command.exists() and b"spawn_main" in command.read_bytes():
                return pid
        raise Unavailable("the system does not tell which process is the worker: /proc is needed")


@contextmanager
def hangar(cpu: int | None) -> Iterator[Running]:
    """`hangar serve` with one worker, as it is installed but for the token: it logs every call."""
    options = ("--host", "127.0.0.1", "--port", "0", "--operations-port", "0", "--workers", "1", "--no-auth")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HANGAR_", "COV_"))}
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "app", "serve", *options]
        with _started(command, cpu, stderr=log, env=environment | {"HANGAR_DRAIN_SECONDS": "0"}) as process:
            urls = _serving(process, Path(f"/proc/self/fd/{log.fileno()}"))
            yield Running("Hangar", process, urlsplit(urls).port or 0, "/modeldeployments/sync")


def _serving(process: "subprocess.Popen[str]", log: Path) -> str:
    """Where the hooks are, once a worker answers."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        started = [line for line in lines if line["message"].startswith("Started server process")]
        found = [line["hooks"] for line in lines if line["message"] == "serving"]
        if found and len(started) > 1:  # the operations port is one, the worker the other
            return str(found[0])
        time.sleep(0.05)
    raise Unavailable(f"hangar serve did not start: {log.read_text()[-500:]}")


@contextmanager
def go_hook(answers: Path, cpu: int | None) -> Iterator[Running]:
    """The hook on Go's `encoding/json`, on one processor. Raises `Unavailable` where there is no Go."""
    with _started([str(go_binary()), str(answers)], cpu, env={**os.environ, "GOMAXPROCS": "1"}) as process:
        yield Running("Go", process, _announced(process), "/{pods}")


@contextmanager
def plain_hook(answers: Path, cpu: int | None) -> Iterator[Running]:
    """The hook on Python's `http.server` and `json`."""
    with _started([sys.executable, "-m", "benchmarks.peers.plain", str(answers)], cpu) as process:
        yield Running("http.server", process, _announced(process), "/{pods}")


def go_binary() -> Path:
    """The built Go hook, in a cache outside of the checkout. Raises `Unavailable`."""
    go = shutil.which("go")
    if go is None:
        raise Unavailable("no go command: install Go to compare with a hook on encoding/json")
    sources = sorted(GO_SOURCE.iterdir())
    version = subprocess.run([go, "version"], check=True, capture_output=True).stdout  # noqa: S603 - found on the path
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + version).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hangar-benchmarks"
    binary = cache / f"go-hook-{digest}"
    if not binary.exists():
        cache.mkdir(parents=True, exist_ok=True)
        built = subprocess.run(  # noqa: S603
            [go, "build", "-buildvcs=false", "-o", str(binary), "."],
            cwd=GO_SOURCE,
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            raise Unavailable(f"the Go hook does not build: {built.stderr.strip()[-500:]}")
    return binary


@contextmanager
def _started(
    command: list[str], cpu: int | None, *, stderr: object = None, env: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(  # noqa: S603 - commands of ours
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,  # type: ignore[call-overload]  # a file or nothing
        text=True,
        preexec_fn=(lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=_START_SECONDS)


def _announced(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.strip():
        raise Unavailable(f"{process.args!r} ended before it served")
    return int(line)


def busy_seconds() -> float:
    """Time that the machine's processors have worked so far, for anybody; 0 where the system does not tell."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, interrupt, soft = map(int, fields[1:8])
    return (user + nice + system + interrupt + soft) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return found


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
