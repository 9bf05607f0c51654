"""`hangar serve` as it runs in a container: processes, signals, tokens, metrics of all workers."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import orjson
import pytest

from app.server.serve import SHARED_MEMORY, metrics_folder
from app.settings import SettingsError
from tests.server.served import PATIENCE, serving
from tests.support.realistic import a_busy_deployment


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
        assert victim not in served.await_workers(1)
        assert served.sync().status_code == 200


def test_while_one_worker_is_gone_the_other_answers_for_both() -> None:
    with serving("--workers", "2", "--no-auth") as served:
        served.await_ready()
        served.until("Started server process")
        served.until("Started server process")
        victim = served.workers().pop()
        os.kill(victim, signal.SIGKILL)
        while victim in served.workers():
            time.sleep(0.01)
        assert [served.sync().status_code for _ in range(10)] == [200] * 10
        assert victim not in served.await_workers(2)


def test_health_is_told_while_the_largest_deployments_are_worked_on() -> None:
    """A kubelet that gets no answer restarts the Pod, and with it every call that is under way."""
    body = orjson.dumps(a_busy_deployment(1000).request())
    statuses: list[int] = []
    with serving("--no-auth") as served:
        served.await_ready()

        def work() -> None:
            statuses.extend(served.sync(body).status_code for _ in range(4))

        working = threading.Thread(target=work)
        working.start()
        words = []
        while working.is_alive():
            words.append(served.get("/readyz").text)
        working.join()
    assert statuses == [200] * 4
    assert len(words) > 4
    assert set(words) == {"ready"}


def test_health_is_told_while_no_worker_moves_at_all() -> None:
    with serving("--no-auth") as served:
        served.await_ready()
        (worker,) = served.workers()
        os.kill(worker, signal.SIGSTOP)
        try:
            assert served.get("/healthz").status_code == 200
            assert served.get("/metrics").status_code == 200
        finally:
            os.kill(worker, signal.SIGCONT)
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
        (
            (),
            {"HANGAR_AUTH": "none", "HANGAR_TLS_CERT_FILE": "/c", "HANGAR_TLS_KEY_FILE": "/nowhere/k"},
            "HANGAR_TLS_CERT_FILE /c: No such file or directory",
        ),
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
