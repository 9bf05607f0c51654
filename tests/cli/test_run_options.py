"""`hangar run`: what ends it, what it prints for programs, how it is watched and interrupted."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from app.cli.main import exit_code
from app.cli.views import LiveTable
from app.cli.watching import Row, tell_pod
from app.kube.hook import JSON
from tests.local.test_run import a_deployment

QUICKSTART = str(Path(__file__).parents[2] / "examples/quickstart.yaml")


def _entries(out: str) -> list[JSON]:
    return [json.loads(line) for line in out.splitlines()]


# What ends a run


def test_a_duration_ends_the_run_whatever_has_come(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART, "--until", "20s", "-o", "json"]) == 0
    last = _entries(capsys.readouterr().out)[-1]
    assert last == {
        "time": 20.0,
        "result": {"goal": "over after 20 simulated seconds", "reached": True, "waitsFor": []},
    }


def test_a_duration_may_be_longer_than_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART, "--until", "5m", "--timeout", "10s", "-o", "json"]) == 0
    assert _entries(capsys.readouterr().out)[-1]["time"] == 300.0


def test_a_condition_of_every_deployment_ends_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = a_deployment({"name": "server", "instanceType": "nope"})
    file = tmp_path / "missing.yaml"
    file.write_text(yaml.safe_dump(missing))
    assert exit_code(["run", str(file), "--until", "condition=Stalled/True"]) == 0
    assert exit_code(["run", str(file), "--until", "condition=Stalled/False", "--timeout", "5m"]) == 1
    assert capsys.readouterr().err.startswith(
        "Not Stalled=False within 300 simulated seconds:\nteam-a/qwen is Starting"
    )
    assert exit_code(["run", QUICKSTART, "--until", "condition=Stalled/False"]) == 0


def test_a_condition_is_not_taken_from_before_the_first_sync(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART, "--until", "condition=Ready/False", "-o", "json"]) == 0
    told = [one for one in _entries(capsys.readouterr().out) if one.get("object") == "ModelDeployment team-a/qwen"]
    assert told[-1]["phase"] == "Starting"


def test_a_run_in_which_all_is_deleted_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump([{"at": "2m", "delete": "ModelDeployment qwen"}]))
    assert exit_code(["run", QUICKSTART, "--script", str(script)]) == 1
    assert capsys.readouterr().err == (
        "Not Ready within 3600 simulated seconds:\nthere is no ModelDeployment any more\n"
    )


def test_what_is_not_gone_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.yaml"
    events = [{"at": "2m", "killNode": "all"}, {"at": "2m", "delete": "ModelDeployment qwen"}]
    script.write_text(yaml.safe_dump(events))
    assert exit_code(["run", QUICKSTART, "--script", str(script), "--until", "gone", "--timeout", "10m"]) == 1
    assert "team-a/qwen is Deleting: the deployment is being deleted; 4 Pods left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--until", "ready"], "--until ready: write Ready, gone, a duration such as 10m, or condition=TYPE/STATUS"),
        (["--until", "condition=Redy/True"], "there is no condition Redy; there are Ready, Reconciling, Stalled"),
        (["--until", "condition=Ready/Yes"], "add a status, True, False, Unknown: condition=Ready/True"),
        (["--until", "gone"], "--until gone needs a script that deletes"),
        (["--timeout", "soon"], "--timeout: 'soon' is no duration: write for example 90s, 2m or 1h30m"),
        (["--watch", "--speed", "0"], "--watch needs a --speed above 0"),
        (["-o", "xml"], "Invalid value for '--output' / '-o'"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["run", QUICKSTART, *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_script_that_goes_on_after_the_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump([{"at": "20m", "killHook": None}]))
    assert exit_code(["run", QUICKSTART, "--script", str(script), "--until", "10m"]) == 2
    assert "entry 1 (killHook): it is at 1200 s, and --until ends the run at 600 s" in capsys.readouterr().err


# For programs


def test_the_timeline_tells_objects_events_and_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump([{"at": "2m", "killNode": "node-a"}, {"at": "5m", "restoreNode": "node-a"}]))
    assert exit_code(["run", QUICKSTART, "--script", str(script), "-o", "json"]) == 0
    first = capsys.readouterr().out
    entries = _entries(first)
    times = [one["time"] for one in entries]
    assert times == sorted(times)
    kinds = {one["object"].split()[0] for one in entries if "object" in one}
    assert kinds == {"ModelDeployment", "Pod", "Node"}
    assert any(one.get("event", {}).get("reason") == "NodeNotReady" for one in entries)
    assert {"script": "killNode", "entry": 1, "message": "node-a", "time": 120.0} in entries
    assert entries[-1]["result"]["reached"] is True
    assert exit_code(["run", QUICKSTART, "--script", str(script), "-o", "json"]) == 0
    assert capsys.readouterr().out == first, "byte for byte"
    assert exit_code(["run", QUICKSTART, "--script", str(script), "-o", "yaml"]) == 0
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == entries


def test_a_result_that_did_not_come_says_in_the_timeline_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART, "--timeout", "30", "-o", "json"]) == 1
    shown = capsys.readouterr()
    result = _entries(shown.out)[-1]["result"]
    assert result["reached"] is False
    assert result["waitsFor"][0].startswith("team-a/qwen is Starting: 0 of 3 replicas ready")
    assert result["waitsFor"][0] in shown.err


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "low"}, "Evicted: low"),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1"}]},
            "Unschedulable: 0/1",
        ),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}, "CrashLoopBackOff"),
        ({"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled"}}}]}, "OOMKilled"),
        ({"containerStatuses": [{"state": {"running": {}}}]}, ""),
    ],
)
def test_a_pod_is_told_with_the_words_of_who_knows_why_it_does_not_run(status: JSON, words: str) -> None:
    assert tell_pod({"metadata": {}, "spec": {}, "status": status})["message"] == words


# For people


def test_the_live_table_shows_progress_news_and_what_comes_next() -> None:
    out = io.StringIO()
    row = Row("team-a/qwen", "Degraded", "1P0D", "1/3", "-", "Running", "1 of 3 replicas ready")
    with LiveTable(Console(file=out, force_terminal=True, width=100)) as table:
        table.entry({"time": 60, "script": "killNode", "entry": 1, "message": "node-a"})
        event = {"reason": "SyncError", "message": "kaput", "count": 1, "type": "Warning"}
        table.entry({"time": 61, "object": "ModelDeployment team-a/qwen", "event": event})
        table.entry({"time": 62, "object": "ModelDeployment team-a/qwen", "event": event | {"count": 2}})
        table.entry({"time": 63, "object": "Pod team-a/x", "event": event})
        table.tick({row.name: row}, 65, "restoreNode at 00:02:00")
    shown = out.getvalue()
    for words in ("1/3", "━", "00:01:00  script, entry 1: killNode: node-a", "next: restoreNode at 00:02:00"):
        assert words in shown
    assert shown.count("SyncError: kaput") == shown.count("killNode: node-a"), "each piece of news once a drawing"


def test_hundreds_of_changes_do_not_wait_for_the_table() -> None:
    out = io.StringIO()
    rows: dict[str, Row] = {}
    with LiveTable(Console(file=out, force_terminal=True, width=100, height=1000)) as table:
        for number in range(300):
            rows[f"d{number}"] = Row(f"d{number}", "Ready", "1S", "1/1", "-", "-", "")
            table.changed(rows[f"d{number}"], rows, number)
    assert out.getvalue().count("d299 ") >= 1, "the last state is drawn in the end"
    assert out.getvalue().count("NAME") < 100


def test_a_deployment_at_zero_has_no_bar() -> None:
    out = io.StringIO()
    row = Row("team-a/qwen", "Ready", "0S", "0/0", "-", "-", "")
    with LiveTable(Console(file=out, force_terminal=True, width=100)) as table:
        table.changed(row, {row.name: row}, 1)
    assert "━" not in out.getvalue()


# Watching


class Watcher:
    """Takes the place of sleeping: does something at the n-th pause, and interrupts at the last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *steps: Any, pauses: int = 60) -> None:
        self._steps = list(steps)
        self._pauses = pauses
        self._count = 0
        monkeypatch.setattr("app.cli.board.sleep", self._pause)

    def _pause(self, _: float) -> None:
        self._count += 1
        if self._count < self._pauses:
            return
        if not self._steps:
            raise KeyboardInterrupt
        self._count = 0
        self._steps.pop(0)()


def test_a_file_that_is_saved_is_applied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "qwen.yaml"
    file.write_text(yaml.safe_dump(a_deployment()))

    def scale() -> None:
        file.write_text(yaml.safe_dump(a_deployment({"name": "server", "replicas": 3})))

    def spoil() -> None:
        file.write_text(yaml.safe_dump(a_deployment({"name": "server", "replicas": "3"})))

    Watcher(monkeypatch, scale, spoil)
    assert exit_code(["run", str(file), "--watch"]) == 0
    shown = capsys.readouterr()
    assert "Ready  3S  3/3" in shown.out
    assert f"Watching {file}; Ctrl-C ends the run." in shown.err
    assert "spec.roles[0].replicas must be a whole number" in shown.err, "a mistake is told, and the run goes on"
    assert shown.err.rstrip().endswith("Interrupted.")


def test_an_interruption_before_the_end_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Watcher(monkeypatch, pauses=5)
    assert exit_code(["run", QUICKSTART, "--speed", "1000"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("Interrupted.\nNot Ready when it was interrupted:\nteam-a/qwen is Starting")
    assert "NAMESPACE" in shown.out
