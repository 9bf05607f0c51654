"""`hangar serve` as it runs in a container: processes, signals, tokens, metrics of all workers."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from app.server.serve import SHARED_MEMORY, metrics_folder
from app.settings import SettingsError
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
        self.hooks = serving["hooks"]
        self.operations = serving["operations"]

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

    def sync(self, **headers: str) -> httpx.Response:
        return httpx.post(self.hooks + PATH, content=REQUEST, headers=headers, timeout=PATIENCE)

    def await_ready(self, word: str = "ready") -> None:
        deadline = time.monotonic() + PATIENCE
        while self.get("/readyz").text != word:
            assert time.monotonic() < deadline, f"never {word}"
            time.sleep(0.05)

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


def test_a_token_that_is_replaced_in_the_file_counts_without_a_restart(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("old\n")
    with serving(HANGAR_TOKEN_FILE=str(tokens)) as served:
        served.await_ready()
        assert served.sync().status_code == 401
        assert served.sync(Authorization="Bearer old").status_code == 200
        tokens.write_text("old\nnew\n")
        assert served.sync(Authorization="Bearer new").status_code == 200
        tokens.write_text("new\n")
        assert served.sync(Authorization="Bearer old").status_code == 401


def test_several_workers_answer_alike_and_are_counted_together() -> None:
    with serving("--workers", "2", "--no-auth") as served:
        served.await_ready()
        assert len(served.workers()) == 2
        answers = [served.sync().json()["children"] for _ in range(20)]
        assert all(answer == answers[0] for answer in answers)
        text = served.get("/metrics").text
        assert (
            'hangar_hook_call_seconds_count{controller="modeldeployments",hook="sync",outcome="answered"} 20.0' in text
        )
        assert "hangar_build_info" in text


def test_a_worker_that_dies_is_replaced() -> None:
    with serving("--no-auth") as served:
        served.await_ready()
        (victim,) = served.workers()
        os.kill(victim, signal.SIGKILL)
        served.until("Child process")
        deadline = time.monotonic() + PATIENCE
        while not served.workers() - {victim}:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert served.sync().status_code == 200


def test_a_service_that_cannot_start_its_workers_gives_up(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("one")
    with serving(HANGAR_TOKEN_FILE=str(tokens)) as served:
        served.await_ready()
        tokens.unlink()
        os.kill(served.workers().pop(), signal.SIGKILL)
        assert "No such file" in served.until("cannot start")["message"]
        assert served.process.wait(timeout=PATIENCE) == 1


@pytest.mark.parametrize("writable", [SHARED_MEMORY, None])
def test_a_read_only_root_still_has_a_place_for_metrics(writable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def folder(prefix: str, dir: str | None) -> str:
        asked.append(dir)
        if dir != writable or writable is None:
            raise OSError("read-only file system")
        return f"{dir}/{prefix}"

    monkeypatch.setattr(tempfile, "TemporaryDirectory", folder)
    if writable is None:
        with pytest.raises(SettingsError, match="mount an emptyDir at /tmp"):
            metrics_folder()
    else:
        assert str(metrics_folder()) == f"{SHARED_MEMORY}/hangar-metrics-"
    assert asked == [None, SHARED_MEMORY]


def test_a_pod_that_ends_leaves_its_service_before_it_stops_answering() -> None:
    with serving("--no-auth", HANGAR_DRAIN_SECONDS="2") as served:
        served.await_ready()
        served.process.terminate()
        served.until("draining")
        assert served.get("/readyz").text == "draining"
        assert served.get("/healthz").status_code == 200
        assert served.sync().status_code == 200
        assert served.process.wait(timeout=PATIENCE) == 0


def test_a_second_signal_ends_the_drain() -> None:
    with serving("--no-auth", HANGAR_DRAIN_SECONDS="600") as served:
        served.await_ready()
        served.process.terminate()
        served.until("draining")
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=PATIENCE) == 0


def test_a_call_that_runs_is_finished_before_the_end() -> None:
    """The body arrives in two halves, and the signal comes between them."""
    with serving("--no-auth") as served:
        served.await_ready()
        host, port = served.hooks.removeprefix("http://").split(":")

        def halves() -> Iterator[bytes]:
            yield REQUEST[:100]
            served.process.terminate()
            served.until("Received SIGTERM")
            served.until("Waiting for connections to close")
            yield REQUEST[100:]

        response = httpx.post(
            f"http://{host}:{port}{PATH}",
            content=halves(),
            headers={"Content-Length": str(len(REQUEST))},
            timeout=PATIENCE,
        )
        assert response.status_code == 200
        assert served.process.wait(timeout=PATIENCE) == 0


def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    with serving("--no-auth", TMPDIR=str(tmp_path)) as served:  # what a killed process leaves behind goes with it
        served.await_ready()
        (worker,) = served.workers()
        served.process.kill()
        deadline = time.monotonic() + PATIENCE
        while Path(f"/proc/{worker}").exists() and "Z" not in Path(f"/proc/{worker}/stat").read_text().split()[2]:
            assert time.monotonic() < deadline, "the worker still holds the port"
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("options", "variables", "words"),
    [
        ((), {}, "HANGAR_TOKEN_FILE is not set"),
        ((), {"HANGAR_TOKEN_FILE": "/nowhere/tokens"}, "HANGAR_TOKEN_FILE /nowhere/tokens: No such file or directory"),
        (("--workers", "0"), {"HANGAR_AUTH": "none"}, "HANGAR_WORKERS is '0': write a whole number of at least 1"),
        ((), {"HANGAR_AUTH": "none", "HANGAR_LOG_LEVEL": "loud"}, "HANGAR_LOG_LEVEL is 'loud'"),
    ],
)
def test_a_wrong_setting_is_one_sentence_and_exit_code_2(
    options: tuple[str, ...], variables: dict[str, str], words: str
) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HANGAR_")}
    ended = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "app", "serve", "--host", "127.0.0.1", "--port", "0", *options],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"hangar: {words}")
    assert ended.stderr.count("\n") == 1
