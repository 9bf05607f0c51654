"""`hangar run`: from manifest to Ready through the real hook service, and what is said where it does not get there."""

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from app.cli.cluster import local_cluster
from app.cli.goals import DEPLOYMENT
from app.cli.main import exit_code
from app.cli.views import LiveTable
from app.cli.watching import clock, row, serves, settled, waits_for
from app.kube.hook import JSON
from app.local.plane import Plane

QUOTA = Path("examples/quota.yaml")
EXAMPLES = [path for path in sorted(Path("examples").glob("*.yaml")) if path != QUOTA]
QUICKSTART = "examples/quickstart.yaml"


def a_deployment(*roles: JSON, **spec: Any) -> JSON:
    """A ModelDeployment `team-a/qwen`; a role without resources of its own gets one card."""
    role: JSON = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    return {
        "apiVersion": "hangar.dev/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": "qwen", "namespace": "team-a"},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM", "version": "0.12.0"},
            "roles": [role | one for one in roles] or [{"name": "server", **role}],
            **spec,
        },
    }


def _file(folder: Path, *documents: JSON) -> str:
    file = folder / "qwen.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return str(file)


def test_the_quickstart_goes_from_starting_to_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "00:00:00  team-a/qwen  applied"
    phases = [line.split()[2] for line in lines if line.startswith("00:")]
    assert list(dict.fromkeys(phases)) == ["applied", "Starting", "Degraded", "Ready"]
    assert lines[-3].split()[:6] == ["NAMESPACE", "NAME", "ENGINE", "ROLES", "PHASE", "READY"]
    assert lines[-2].split()[:6] == ["team-a", "qwen", "SGLang", "2P1D", "Ready", "3/3"]
    assert lines[-1] == "team-a/qwen serves at http://qwen.team-a.svc:8000"


def test_the_same_manifests_give_the_same_timeline_byte_for_byte(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code(["run", QUICKSTART])
    first = capsys.readouterr().out
    exit_code(["run", QUICKSTART])
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_gets_ready(example: Path) -> None:
    assert exit_code(["run", str(example)]) == 0


def test_of_the_quota_example_one_deployment_serves_and_one_says_what_it_waits_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code(["run", str(QUOTA), "--timeout", "10m"]) == 1
    shown = capsys.readouterr()
    assert "team-a/chat serves at http://chat.team-a.svc:8000" in shown.out
    assert (
        "QuotaReserved is False, Pending: 1 of 1 replicas without quota (server): couldn't assign flavors" in shown.err
    )
    assert "insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed" in shown.err


def test_kueue_is_there_when_the_environment_switches_it_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = a_deployment({"name": "server", "queueName": "team-a"})
    assert exit_code(["run", _file(tmp_path, queued), "--timeout", "1m"]) == 1
    assert "Stalled, QueueUnsupported" in capsys.readouterr().err
    monkeypatch.setenv("HANGAR_KUEUE", "true")
    assert exit_code(["run", _file(tmp_path, queued), "--timeout", "1m"]) == 1
    assert "LocalQueue team-a doesn't exist" in capsys.readouterr().err


def test_the_environment_decides_whether_hangar_asks_a_kueue_that_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGAR_KUEUE", "false")
    assert exit_code(["run", str(QUOTA), "--timeout", "1m"]) == 1
    assert "Kueue is switched off here" in capsys.readouterr().err


def test_a_version_of_kueues_api_that_is_not_served_here_is_a_mistake(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGAR_KUEUE_VERSION", "v1beta1")
    assert exit_code(["run", str(QUOTA)]) == 2
    assert "HANGAR_KUEUE_VERSION is 'v1beta1': the Kueue of a local run serves v1beta2" in capsys.readouterr().err


def test_a_reserved_namespace_of_the_settings_is_one_that_kueue_leaves_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANGAR_RESERVED_NAMESPACES", "team-a")
    assert exit_code(["run", str(QUOTA), "--timeout", "1m"]) == 1
    assert "QuotaReserved is False, NoQueueInReservedNamespace" in capsys.readouterr().err


def test_a_cohort_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "quota.yaml"
    file.write_text(QUOTA.read_text().replace("  namespaceSelector: {}", "  cohortName: all\n  namespaceSelector: {}"))
    assert exit_code(["run", str(file)]) == 2
    problem = "spec.cohortName: this control plane does not imitate it: remove it for a local run"
    assert problem in capsys.readouterr().err


def test_several_files_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = a_deployment()
    other["metadata"]["name"] = "other"
    assert exit_code(["run", QUICKSTART, _file(tmp_path, other)]) == 0
    out = capsys.readouterr().out
    assert "team-a/qwen serves at" in out
    assert "team-a/other serves at" in out


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(yaml.safe_dump(a_deployment())))
    assert exit_code(["run", "-"]) == 0


def test_a_timeout_says_what_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART, "--timeout", "30"]) == 1
    shown = capsys.readouterr()
    assert "Starting" in shown.out.splitlines()[-1]
    assert shown.err.startswith("Not Ready within 30 simulated seconds:\nteam-a/qwen is Starting: 0 of 3 replicas")
    assert "RoleKindsReady is False, KindsNotReady" in shown.err
    assert "DomainRegistered" not in shown.err, "what is true is not waited for"


def test_a_missing_instance_type_is_named_in_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    role = {"name": "server", "instanceType": "nope"}
    assert exit_code(["run", _file(tmp_path, a_deployment(role))]) == 1
    assert "Stalled, InstanceTypeNotFound: roles[server].instanceType" in capsys.readouterr().err


def test_a_deployment_scaled_to_zero_ends_at_once_and_does_not_count_as_ready(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["run", _file(tmp_path, a_deployment({"name": "server", "replicas": 0}))]) == 1
    shown = capsys.readouterr()
    assert "Ready is False, ScaledToZero" in shown.err
    assert "simulated seconds" not in shown.err
    assert "00:00:01" not in shown.out


def _edited(**changes: Any) -> JSON:
    return {**a_deployment(), **changes}


MISTAKES: dict[str, tuple[list[JSON] | str, str]] = {
    "a field that is none": (
        [a_deployment({"name": "server", "replica": 2})],
        ": ModelDeployment team-a/qwen: spec.roles[0].replica",
    ),
    "a value of the wrong type": ([a_deployment({"name": "s", "size": "2"})], "spec.roles[0].size"),
    "a field beside spec": ([_edited(specs={})], "specs: no such field; what is declared goes under spec"),
    "no spec": ([{k: v for k, v in a_deployment().items() if k != "spec"}], "spec is missing"),
    "no name": ([_edited(metadata={})], "metadata.name is missing"),
    "a name that is no label": (
        [_edited(metadata={"name": "Qwen3", "namespace": "a"})],
        "metadata.name: 'Qwen3' must begin with a lower-case letter",
    ),
    "a name that is too long": ([_edited(metadata={"name": "q" * 41})], "and have at most 40 characters"),
    "no apiVersion": ([_edited(apiVersion=None)], "apiVersion is missing: write for example"),
    "another product's kind of the same name": (
        [_edited(apiVersion="worker.gpustack.ai/v1")],
        "apiVersion is worker.gpustack.ai/v1: Hangar's ModelDeployment has hangar.dev/v1alpha1",
    ),
    "a kind that Hangar has not": (
        [_edited(kind="ModelDeploymnt")],
        "kind: hangar.dev/v1alpha1 has no kind ModelDeploymnt; it has ModelDeployment, InstanceType",
    ),
    "a kind that the local run does not serve": (
        [a_deployment(), {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}],
        ": Job j: discovery: can't find kind Job in apiVersion batch/v1",
    ),
    "a namespace on a cluster-wide kind": (
        [
            {
                "apiVersion": "hangar.dev/v1alpha1",
                "kind": "InstanceType",
                "metadata": {"name": "t", "namespace": "a"},
                "spec": {},
            }
        ],
        "metadata.namespace: an InstanceType belongs to the whole cluster",
    ),
    "the same object twice": ([a_deployment(), a_deployment()], "this object is in "),
    "no deployment at all": ([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}], "nothing to run"),
    "not YAML": ("a: [", "line 1, column 5: not YAML as Kubernetes reads it"),
    "a key twice": ("kind: A\nkind: B\n", "line 2, column 1: not YAML as Kubernetes reads it: the key 'kind' comes"),
    "no object": ("- a\n", "document 1 is no object"),
    "a control character": ("a: \x01", "not YAML"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence_with_file_object_and_field(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents, words = MISTAKES[case]
    file = _file(tmp_path, *documents) if isinstance(documents, list) else str(tmp_path / "qwen.yaml")
    if isinstance(documents, str):
        Path(file).write_text(documents)
    assert exit_code(["run", file]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"hangar: {file}")
    assert words in shown
    assert shown.count("\n") == 1


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", "no-such.yaml"]) == 2
    assert capsys.readouterr().err == "hangar: no-such.yaml: No such file or directory\n"
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert exit_code(["run", str(tmp_path / "binary")]) == 2
    assert capsys.readouterr().err.endswith("is not a text file in UTF-8\n")


def test_a_time_in_a_manifest_stays_a_string_as_in_kubernetes(tmp_path: Path) -> None:
    file = tmp_path / "qwen.yaml"
    obj = a_deployment({"name": "server", "env": [{"name": "SINCE", "value": "WHEN"}]})
    file.write_text(yaml.safe_dump(obj).replace("WHEN", "2026-01-01"))
    assert exit_code(["run", str(file)]) == 0


def test_exit_codes_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", "--help"]) == 0
    assert "Exit codes: 0 what --until names has come" in " ".join(capsys.readouterr().out.split())


def test_speed_paces_the_jumps_and_never_pauses_long(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("app.cli.board.sleep", pauses.append)
    assert exit_code(["run", QUICKSTART, "--speed", "100"]) == 0
    assert 0.5 < sum(pauses) <= 0.8, "78 simulated seconds at 100 a second"
    assert max(pauses) <= 0.25


def test_the_live_table_shows_phase_and_message_and_time() -> None:
    out = io.StringIO()
    obj = a_deployment()
    obj["status"] = {"phase": "Starting", "ready": "0/1", "phaseMessage": "the engine loads"}
    shown = row(obj)
    with LiveTable(Console(file=out, force_terminal=True, width=100)) as table:
        table.changed(shown, {shown.name: shown}, 65)
    for words in ("NAME", "ENDPOINT", "team-a/qwen", "Starting", "0/1", "the engine loads", "00:01:05"):
        assert words in out.getvalue()


def test_a_status_of_an_older_generation_is_not_taken_for_ready() -> None:
    obj = a_deployment()
    obj["metadata"]["generation"] = 2
    obj["status"] = {"phase": "Ready", "observedGeneration": 1}
    assert not settled(obj)
    obj["status"]["observedGeneration"] = 2
    assert settled(obj)
    assert not serves(obj)


def test_what_is_waited_for_names_the_newest_event_and_a_hook_that_never_answered() -> None:
    words = waits_for(a_deployment(), "SyncError: Sync error: unsupported status code: 500")
    assert words.startswith("team-a/qwen has no status: its hook was never answered")
    assert words.endswith("last event, SyncError: Sync error: unsupported status code: 500")


def test_the_clock_counts_hours() -> None:
    assert clock(3725.9) == "01:02:05"


# The real controller over time


def _stored(plane: Plane) -> JSON:
    found = plane.get(DEPLOYMENT, "team-a/qwen")
    assert found is not None
    return found


def _run_until_ready(plane: Plane) -> None:
    assert plane.run_until(lambda: settled(_stored(plane)), 3600), waits_for(_stored(plane), "")


def _pods(plane: Plane) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in plane.all_of("Pod.v1")}


def test_a_deleted_deployment_drains_its_pods_and_leaves_nothing() -> None:
    with local_cluster() as cluster:
        plane = cluster.plane
        plane.apply(a_deployment())
        _run_until_ready(plane)
        plane.delete(DEPLOYMENT, "team-a/qwen")
        plane.run_for(0.5)
        assert _stored(plane)["status"]["phase"] == "Deleting"
        assert len(_pods(plane)) == 1, "it drains"
        plane.run_for(30)
        assert plane.get(DEPLOYMENT, "team-a/qwen") is None
        assert plane.all_of("Pod.v1", "team-a") == plane.all_of("Service.v1", "team-a") == []


def test_a_ready_deployment_is_left_alone_for_hours() -> None:
    with local_cluster() as cluster:
        plane = cluster.plane
        plane.apply(a_deployment())
        _run_until_ready(plane)
        plane.run_for(60)
        versions = {one["metadata"]["resourceVersion"] for one in [*plane.all_of("Pod.v1"), _stored(plane)]}
        plane.run_for(6 * 3600)
        assert {one["metadata"]["resourceVersion"] for one in [*plane.all_of("Pod.v1"), _stored(plane)]} == versions
        assert plane.all_of("Event.v1") == []


def test_an_edit_rolls_one_replica_at_a_time_and_ends_ready() -> None:
    with local_cluster() as cluster:
        plane = cluster.plane
        plane.apply(a_deployment({"name": "server", "replicas": 3}))
        _run_until_ready(plane)
        before, fewest = _pods(plane), 3
        edited = a_deployment({"name": "server", "replicas": 3}, engine={"name": "vLLM", "version": "0.12.1"})
        plane.apply(edited)

        def rolled() -> bool:
            nonlocal fewest
            fewest = min(fewest, _stored(plane)["status"]["readyReplicas"])
            return settled(_stored(plane)) and not set(before.values()) & set(_pods(plane).values())

        assert plane.run_until(rolled, 3600)
        assert fewest == 2


def test_scaling_to_zero_and_back_keeps_the_names() -> None:
    with local_cluster() as cluster:
        plane = cluster.plane
        plane.apply(a_deployment({"name": "server", "replicas": 2}))
        _run_until_ready(plane)
        names = set(_pods(plane))
        plane.apply(a_deployment({"name": "server", "replicas": 0}))
        assert plane.run_until(lambda: not _pods(plane), 60)
        plane.apply(a_deployment({"name": "server", "replicas": 2}))
        assert plane.run_until(lambda: serves(_stored(plane)) and settled(_stored(plane)), 3600)
        assert set(_pods(plane)) == names
