"""`hangar explain` on a cluster: as text, as JSON, and what is said where there is nothing to explain."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

from app.cli.main import exit_code
from tests.explain.cases import REASONS, World
from tests.support.fixtures import ROOT
from tests.support.kubeapi import KubeApi, kubeconfig, serving

PENDING = REASONS["Pending"]


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubeApi]:
    """A cluster whose kubeconfig is the caller's, with the namespace of the deployment in its context."""
    with serving(PENDING.shelf()) as found:
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(kubeconfig(found.url, namespace="team-a")))
        monkeypatch.setenv("KUBECONFIG", str(file))
        yield found


def test_the_text_is_printed_and_nothing_is_written(api: KubeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["explain", "qwen"]) == 0
    assert capsys.readouterr().out == (ROOT / "explain" / "Pending.txt").read_text()
    assert {call.method for call in api.calls} == {"GET"}


def test_the_same_is_there_for_scripts(api: KubeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["explain", "qwen", "-n", "team-a", "-o", "json"]) == 0
    found = orjson.loads(capsys.readouterr().out)
    assert (found["namespace"], found["name"], found["phase"]) == ("team-a", "qwen", "Starting")
    (finding,) = found["waits"]
    assert (finding["about"], finding["reason"]) == ("QuotaReserved", "Pending")
    assert finding["holders"][0] == {
        "who": "ModelDeployment team-b/llama",
        "namespace": "team-b",
        "clusterQueue": "research",
        "priority": -10,
        "workloads": 2,
        "amounts": {"nvidia.com/gpu": "2"},
    }
    assert {"sentences", "release", "toDo", "commands"} <= finding.keys()
    assert all({"line", "why"} == command.keys() for command in finding["commands"])
    assert "unread" not in found, "an empty list says nothing"


def test_what_the_caller_may_not_read_is_said(api: KubeApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.shelf.denied = {"ClusterQueue"}
    assert exit_code(["explain", "qwen", "-o", "json"]) == 0
    (note,) = orjson.loads(capsys.readouterr().out)["unread"]
    assert note.startswith("ClusterQueue research: ")
    assert "is forbidden" in note


MISSES = {
    "another namespace": (["explain", "qwen", "-n", "team-b"], "there is no ModelDeployment qwen in namespace team-b"),
    "another name": (["explain", "nope"], "there is no ModelDeployment nope in namespace team-a; -n names another"),
}


@pytest.mark.parametrize(("arguments", "words"), MISSES.values(), ids=MISSES)
@pytest.mark.usefixtures("api")
def test_a_deployment_that_is_not_there_is_exit_code_1(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"hangar: {words}")


def test_a_cluster_without_hangar_is_told_how_to_get_it(api: KubeApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.shelf.unserved = {"hangar.dev/v1alpha1"}
    assert exit_code(["explain", "qwen"]) == 1
    assert "install Hangar's kinds there first (hangar crds)" in capsys.readouterr().err


def test_a_deployment_that_may_not_be_read_is_exit_code_1(api: KubeApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.shelf.denied = {"ModelDeployment"}
    assert exit_code(["explain", "qwen"]) == 1
    assert "is forbidden" in capsys.readouterr().err


MISTAKES = {
    "a name with its namespace": (["explain", "team-a/qwen"], "'team-a/qwen' is no name of a ModelDeployment"),
    "no name at all": (["explain", ""], "'' is no name of a ModelDeployment; its namespace is given with -n"),
    "an unknown context": (["explain", "qwen", "--context", "prod"], "there is no context prod; there is test"),
    "a missing file": (["explain", "qwen", "--kubeconfig", "/nowhere"], "/nowhere: there is no such file"),
    "an unknown form": (["explain", "qwen", "-o", "table"], "Invalid value for '--output'"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_exit_code_2_and_asks_nothing_of_the_cluster(
    arguments: list[str], words: str, api: KubeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert api.calls == []


def test_every_world_reads_the_same_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, world in REASONS.items():
        assert _over_http(world, tmp_path, capsys) == (ROOT / "explain" / f"{name}.txt").read_text()


def _over_http(world: World, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    with serving(world.shelf(), page=2) as api:
        file = folder / "config"
        file.write_text(yaml.safe_dump(kubeconfig(api.url)))
        assert exit_code(["explain", "qwen", "-n", "team-a", "--kubeconfig", str(file)]) == 0
    return capsys.readouterr().out
