"""Scripts of `hangar run`: each action does what it says, each mistake is one sentence with file, entry and way out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.durations import seconds, signed_seconds
from app.cli.main import exit_code
from app.cli.script.actions import ACTIONS
from app.cli.script.paths import PathError, put, remove
from app.kube.hook import JSON

ROOT = Path(__file__).parents[2]
QUICKSTART = str(ROOT / "examples/quickstart.yaml")
SINGLE = str(ROOT / "examples/single-server.yaml")
SCRIPTS = sorted((ROOT / "examples/scripts").glob("*.yaml"))
PREFILL = "qwen-prefill-9f2ef2"


class Played:
    """What a run with a script printed: its timeline, its result, its words."""

    def __init__(self, out: str, err: str, code: int) -> None:
        self.entries: list[JSON] = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        self.err, self.code = err, code

    def of(self, title: str) -> list[JSON]:
        """The entries of one object."""
        return [one for one in self.entries if one.get("object") == title]

    def told(self, action: str) -> str:
        """What the first event with that action came to."""
        return str(next(one["message"] for one in self.entries if one.get("script") == action))

    def messages(self, title: str) -> str:
        """Everything that was said of an object, in one text."""
        return "\n".join(str(one.get("message", one.get("event"))) for one in self.of(title))


@pytest.fixture
def play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "Any":
    """Runs the quickstart with a script, and returns what came of it."""

    def run(*events: JSON, manifest: str = QUICKSTART, options: Sequence[str] = ()) -> Played:
        file = tmp_path / "script.yaml"
        file.write_text(yaml.safe_dump(list(events)))
        code = exit_code(["run", manifest, "--script", str(file), "-o", "json", *options])
        shown = capsys.readouterr()
        return Played(shown.out, shown.err, code)

    return run


# The examples


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_example_does_what_its_command_promises(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = script.read_text().splitlines()
    command = next(line for line in lines if line.startswith("#   hangar run")).removeprefix("#   hangar ").split()
    assert str(script.relative_to(ROOT)) in command
    assert exit_code(command) == 0
    out = capsys.readouterr().out
    assert out.count("script, entry ") == len(yaml.safe_load(script.read_text()))


# What actions do


def test_scale_and_edit_change_the_spec(play: Any) -> None:
    played = play(
        {"at": "2m", "scale": {"role": "prefill", "replicas": 3}},
        {
            "at": "5m",
            "edit": {
                "object": "mdep team-a/qwen",
                "set": {"spec.roles[decode].env": [{"name": "A", "value": "b"}]},
                "remove": ["spec.roles[prefill].size"],
            },
        },
    )
    assert played.code == 2, "short names are not known"
    played = play(
        {"at": "2m", "scale": {"role": "prefill", "replicas": 3}},
        {
            "at": "5m",
            "edit": {
                "object": "ModelDeployment team-a/qwen",
                "set": {"spec.roles[decode].env": [{"name": "A", "value": "b"}]},
                "remove": ["spec.roles[prefill].size"],
            },
        },
    )
    assert played.code == 0
    assert played.entries[-1]["result"] == {"goal": "Ready", "reached": True, "waitsFor": []}
    assert played.of("ModelDeployment team-a/qwen")[-1]["ready"] == "4/4"
    assert played.told("scale") == "ModelDeployment team-a/qwen: role prefill to 3"
    assert any(one.get("deleted") for one in played.of("Pod team-a/qwen-decode-5f369e-0-0")), "decode turned over"
    assert not any(one.get("deleted") for one in played.of(f"Pod team-a/{PREFILL}-0"))


def test_apply_takes_a_file_beside_the_script_or_objects(play: Any, tmp_path: Path) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "x"}, "data": {"a": "1"}}
    manifest = yaml.safe_load(Path(SINGLE).read_text())
    (tmp_path / "more.yaml").write_text(yaml.safe_dump(manifest))
    played = play({"at": "1m", "apply": "more.yaml"}, {"at": "2m", "apply": {"objects": [other]}})
    assert played.code == 0
    assert played.told("apply") == "ModelDeployment default/chat"
    assert played.of("ModelDeployment default/chat")[-1]["phase"] == "Ready"


def test_a_node_that_is_applied_joins(play: Any, tmp_path: Path) -> None:
    room = {"allocatable": {"nvidia.com/gpu": 3}}
    small: JSON = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "small"}, "status": room}
    manifest = tmp_path / "quickstart.yaml"
    manifest.write_text(f"{yaml.safe_dump(small)}---\n{Path(QUICKSTART).read_text()}")
    big = {**small, "metadata": {"name": "big"}}
    played = play({"at": "10m", "apply": {"objects": [big]}}, manifest=str(manifest))
    assert played.code == 0
    assert "0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in played.messages("ModelDeployment team-a/qwen")
    assert {one["node"] for one in played.entries if one.get("node")} == {"small", "big"}


def test_delete_ends_a_deployment_and_gone_waits_for_its_pods(play: Any) -> None:
    played = play({"at": "3m", "delete": "ModelDeployment qwen"}, options=["--until", "gone"])
    assert played.code == 0
    assert played.of("ModelDeployment team-a/qwen")[-1] == {
        "time": played.of("ModelDeployment team-a/qwen")[-1]["time"],
        "object": "ModelDeployment team-a/qwen",
        "deleted": True,
    }
    assert played.of(f"Pod team-a/{PREFILL}-0")[-1]["deleted"] is True


def test_delete_may_leave_the_pods_or_wait_for_them(play: Any) -> None:
    events = {"at": "3m", "delete": {"object": "ModelDeployment qwen", "propagation": "Orphan"}}
    played = play(events, options=["--until", "10m"])
    assert played.told("delete") == "ModelDeployment team-a/qwen, Orphan"
    assert played.of("ModelDeployment team-a/qwen")[-1]["deleted"] is True
    assert played.of(f"Pod team-a/{PREFILL}-0")[-1]["ready"] is True
    events["delete"]["propagation"] = "Foreground"  # type: ignore[index]
    played = play(events, options=["--until", "gone"])
    assert played.code == 0
    gone = [one["object"] for one in played.entries if one.get("deleted")]
    assert gone[-1] == "ModelDeployment team-a/qwen", "after the last of its Pods"


def test_pods_are_killed_evicted_crashed_and_silenced(play: Any) -> None:
    played = play(
        {"at": "2m", "killPod": {"role": "decode", "replica": 0, "member": 1}},
        {"at": "5m", "evictPod": {"deployment": "qwen", "role": "prefill", "replica": 0, "by": "Kubelet"}},
        {"at": "10m", "evictPod": {"pod": f"team-a/{PREFILL}-1", "by": "Scheduler"}},
        {"at": "15m", "crash": {"labels": {"hangar.dev/role": "prefill"}, "exitCode": 139, "times": 2, "after": "1s"}},
        {"at": "20m", "hang": {"role": "prefill", "replica": 1, "for": "45s"}},
    )
    assert played.code == 0
    assert played.told("killPod") == "team-a/qwen-decode-5f369e-0-1"
    assert played.told("evictPod") == f"team-a/{PREFILL}-0, by Kubelet"
    assert "Evicted: The node was low on resource: memory" in played.messages(f"Pod team-a/{PREFILL}-0")
    assert played.told("crash") == f"team-a/{PREFILL}-0, team-a/{PREFILL}-1, exit code 139"
    assert played.of(f"Pod team-a/{PREFILL}-0")[-1]["restarts"] == 2
    assert any(one.get("event", {}).get("reason") == "Unhealthy" for one in played.of(f"Pod team-a/{PREFILL}-1"))


def test_loads_images_and_refusals_go_wrong_for_a_while(play: Any) -> None:
    played = play(
        {"at": 0, "slowLoad": {"role": "decode", "load": "20m", "times": 1}},
        {"at": 0, "imageMissing": {"image": "*sglang*", "for": "2m"}},
        {"at": "30m", "refusePods": {"role": "prefill", "for": "1m"}},
        {"at": "30m", "killPod": {"role": "prefill", "replica": 0}},
    )
    assert played.code == 0
    assert "Back-off pulling image" in played.messages(f"Pod team-a/{PREFILL}-0")
    assert "UnexpectedAdmissionError: Pod was rejected: Allocate failed" in played.messages(f"Pod team-a/{PREFILL}-0")
    ready = [one["time"] for one in played.of("Pod team-a/qwen-decode-5f369e-0-0") if one.get("ready")]
    assert ready[0] > 20 * 60


def test_nodes_are_killed_restored_and_removed(play: Any) -> None:
    played = play(
        {"at": "2m", "killNode": {"of": {"role": "prefill", "replica": 0}}},
        {"at": "4m", "restoreNode": "all"},
        {"at": "10m", "killNode": "node-b"},
        {"at": "20m", "removeNode": {"node": "node-b"}},
    )
    assert played.code == 0
    assert played.told("restoreNode") == "node-a, node-b, node-c"
    assert [one.get("ready", "gone") for one in played.of("Node node-b")] == [False, "gone"]
    where = played.told("killNode")
    assert [one["ready"] for one in played.of(f"Node {where}")] == [False, True]


def test_the_hook_stops_starts_and_answers_wrongly(play: Any) -> None:
    played = play(
        {"at": "2m", "killHook": None},
        {"at": "2m30s", "scale": {"role": "prefill", "replicas": 1}},
        {"at": "4m", "startHook": {}},
        {"at": "10m", "hookFault": {"answer": "garbage", "for": "30s"}},
        {"at": "10m10s", "scale": {"role": "prefill", "replicas": 2}},
        {"at": "15m", "hookFault": {"delay": "40s", "hook": "sync", "times": 1}},
        {"at": "16m", "killPod": {"role": "prefill", "replica": 0}},
        {"at": "20m", "killHookMidCall": "sync"},
        {"at": "21m", "killPod": {"role": "prefill", "replica": 0}},
        {"at": "22m", "startHook": None},
        {"at": "23m", "hookClock": "-1h"},
    )
    assert played.code == 0, played.err
    words = "\n".join(one["event"]["message"] for one in played.entries if "event" in one)
    for said in ("connection refused", "can't unmarshal webhookResponse", "Client.Timeout exceeded", ": EOF"):
        assert said in words
    assert played.told("hookFault") == "answer garbage"
    assert played.told("hookClock") == "wrong by -3600 s"


def test_an_empty_answer_deletes_all_as_metacontroller_does(play: Any) -> None:
    played = play(
        {"at": "3m", "hookFault": {"answer": "empty", "hook": "sync", "times": 1}},
        {"at": "3m", "scale": {"role": "prefill", "replicas": 3}},
    )
    assert played.code == 0
    assert all(any(one.get("deleted") for one in played.of(f"Pod team-a/{PREFILL}-{index}")) for index in (0, 1))


def test_events_happen_in_the_order_of_their_times(play: Any) -> None:
    played = play({"at": "1h", "killHook": None}, {"at": "2m", "startHook": None}, options=["--until", "2h"])
    assert [(one["script"], one["entry"], one["time"]) for one in played.entries if "script" in one] == [
        ("startHook", 2, 120.0),
        ("killHook", 1, 3600.0),
    ]


def test_ready_is_not_taken_from_a_status_that_may_be_old(play: Any) -> None:
    played = play(
        {"at": "2m", "killHook": None}, {"at": "2m", "killPod": {"role": "prefill"}}, options=["--timeout", "5m"]
    )
    assert played.code == 1
    assert "connection refused" in played.err


# Mistakes

MISTAKES: dict[str, tuple[Any, str]] = {
    "no list": ({"at": "1m"}, ": a script is a list of events; write for example - {at: 2m, killNode: node-a}"),
    "empty": ([], ": a script is a list of events"),
    "an entry that is no map": (["killHook"], ", entry 1: an event is a map"),
    "no time": ([{"killHook": None}], ", entry 1: at is missing: say when it happens, for example at: 2m"),
    "a time that is none": ([{"at": "soon", "killHook": None}], ", entry 1: at: 'soon' is no duration: write"),
    "no action": ([{"at": 1}], ", entry 1: an event has one action; there are apply, edit, delete"),
    "two actions": (
        [{"at": 1, "killHook": None, "startHook": None}],
        ", entry 1: an event has one action; it has killHook and startHook: make an entry of each",
    ),
    "a misspelt action": (
        [{"at": 1, "killnode": "a"}],
        ", entry 1: there is no action killnode; did you mean killNode?",
    ),
    "an unknown action": ([{"at": 1, "zzz": "a"}], ", entry 1: there is no action zzz; there are apply"),
    "an unknown field": (
        [{"at": 1, "killPod": {"rol": "x"}}],
        ", entry 1 (killPod): killPod.rol is no field of this kind; remove it or correct its spelling",
    ),
    "a value of the wrong type": (
        [{"at": 1, "killPod": {"replica": "x"}}],
        ", entry 1 (killPod): killPod.replica must be a whole number",
    ),
    "a scalar where fields belong": (
        [{"at": 1, "killPod": "x"}],
        ", entry 1 (killPod): killPod must be a map of its fields: deployment, role, replica",
    ),
    "something where nothing belongs": (
        [{"at": 1, "killHook": True}],
        ", entry 1 (killHook): killHook takes nothing: leave it empty",
    ),
    "a fault that changes nothing": ([{"at": 1, "hookFault": {}}], "hookFault changes nothing: give answer: 503"),
    "an answer that is none": ([{"at": 1, "hookFault": "nope"}], "hookFault.answer must be empty, garbage, or an HTTP"),
    "an edit that changes nothing": ([{"at": 1, "edit": {"object": "A b"}}], "edit changes nothing: give set"),
    "a node and a Pod": (
        [{"at": 1, "killNode": {"node": "a", "of": {}}}],
        ", entry 1 (killNode): killNode must name a node or say of which Pod",
    ),
    "nothing to apply": ([{"at": 1, "apply": {}}], "apply must name a file, or hold objects"),
    "a manifest that is not there": ([{"at": 1, "apply": "no.yaml"}], "no.yaml: No such file or directory"),
    "an object that is wrong": (
        [{"at": 1, "apply": {"objects": [{"apiVersion": "v1", "kind": "A"}]}}],
        ", entry 1 (apply): objects: A without a name: metadata.name is missing",
    ),
    "a node that is not there": (
        [{"at": 1, "killNode": "node-x"}],
        ', entry 1 (killNode): nodes "node-x" not found: there are node-a, node-b, node-c',
    ),
    "a role that is not there": (
        [{"at": 1, "slowLoad": {"role": "x", "load": 1}}],
        "there is no role x; there are decode",
    ),
    "a deployment that is not there": (
        [{"at": 1, "killPod": {"deployment": "x"}}],
        "there is no ModelDeployment x; there are team-a/qwen",
    ),
    "a Pod that is not there": (
        [{"at": 1, "killPod": {"role": "decode", "replica": 7}}],
        "no Pod fits (role decode, replica 7); there are team-a/qwen-decode-5f369e-0-0",
    ),
    "a Pod that is on no node yet": (
        [{"at": 0.1, "killNode": {"of": {"role": "decode"}}}],
        "no Pod of (role decode) is on a node yet: let it happen later",
    ),
    "a role that must be named": (
        [{"at": 1, "scale": {"replicas": 2}}],
        "team-a/qwen has the roles prefill, decode: write one of them",
    ),
    "a kind that is not there": ([{"at": 1, "delete": "Frob x"}], ", entry 1 (delete): no kind Frob is served here"),
    "no name": ([{"at": 1, "delete": "Pod"}], "'Pod' names no object: write kind and name"),
    "an object that is not there": ([{"at": 1, "delete": "Pod x"}], "there is no Pod x; there are team-a/qwen"),
    "a path that leads nowhere": (
        [{"at": 1, "edit": {"object": "ModelDeployment qwen", "set": {"spec.roles[x].image": "a"}}}],
        "spec.roles[x].image: there is no item x; there are prefill, decode",
    ),
    "an edit that the kind refuses": (
        [{"at": 1, "edit": {"object": "ModelDeployment qwen", "set": {"spec.roles[0].replicas": "two"}}}],
        ", entry 1 (edit): as edited: ModelDeployment team-a/qwen: spec.roles[0].replicas must be a whole number",
    ),
    "an edit of what is frozen": (
        [{"at": 1, "edit": {"object": "ModelDeployment qwen", "set": {"spec.model.name": "x"}}}],
        "spec.model: Invalid value: model is frozen: make another ModelDeployment for another model",
    ),
    "a container that is not there": (
        [{"at": 60, "crash": {"role": "decode", "container": "x"}}],
        "has no container x: there are main",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_names_file_entry_and_way_out(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, words = MISTAKES[case]
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump(script))
    assert exit_code(["run", QUICKSTART, "--script", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"hangar: {file}")
    assert words in said
    assert said.count("\n") == 1


def test_a_name_in_several_namespaces_must_be_written_out(play: Any) -> None:
    manifest = yaml.safe_load_all(Path(QUICKSTART).read_text())
    again = next(one for one in manifest if one["kind"] == "ModelDeployment")
    again["metadata"]["namespace"] = "team-b"
    played = play({"at": 1, "apply": {"objects": [again]}}, {"at": 2, "delete": "ModelDeployment qwen"})
    assert played.code == 2
    assert "is in several namespaces: write one of team-a/qwen, team-b/qwen" in played.err
    played = play({"at": 1, "apply": {"objects": [again]}}, {"at": 2, "scale": {"role": "decode", "replicas": 1}})
    assert "say which deployment: there are team-a/qwen, team-b/qwen" in played.err


def test_a_script_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", QUICKSTART, "--script", "no-such.yaml"]) == 2
    assert capsys.readouterr().err == "hangar: no-such.yaml: No such file or directory\n"


def test_every_action_has_a_sentence_and_is_on_the_page() -> None:
    page = (ROOT / "docs/hangar-run.md").read_text()
    for name, action in ACTIONS.items():
        assert action.__doc__
        assert f"`{name}`" in page
        for field, info in action.model_fields.items():
            assert f"`{info.alias or field}`" in page, f"{name}.{field}"


# Paths and durations


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("a.b", 1, {"a": {"b": 1}, "l": [{"name": "x", "v": 0}, {"name": "y"}]}),
        ("l[y].v", 2, {"l": [{"name": "x", "v": 0}, {"name": "y", "v": 2}]}),
        ("l[0].v", 3, {"l": [{"name": "x", "v": 3}, {"name": "y"}]}),
        ("l[x]", 4, {"l": [4, {"name": "y"}]}),
        ("m[a.b/c]", 5, {"m": {"a.b/c": 5}, "l": [{"name": "x", "v": 0}, {"name": "y"}]}),
    ],
)
def test_a_path_leads_into_maps_and_lists(path: str, value: int, expected: JSON) -> None:
    obj: JSON = {"l": [{"name": "x", "v": 0}, {"name": "y"}]}
    put(obj, path, value)
    assert obj == expected


def test_a_path_removes_a_field_or_an_item() -> None:
    obj: JSON = {"l": [{"name": "x", "v": 0}, {"name": "y"}], "m": {"a": 1}}
    remove(obj, "l[x].v")
    remove(obj, "l[y]")
    remove(obj, "m.a")
    assert obj == {"l": [{"name": "x"}], "m": {}}
    with pytest.raises(PathError, match="there is no a to remove"):
        remove(obj, "m.a")


@pytest.mark.parametrize("path", ["", ".", "a..b", "a[", "a]b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError, match="is no path: write for example"):
        put({}, path, 1)


def test_a_path_through_a_value_is_refused() -> None:
    with pytest.raises(PathError, match="a is neither a map nor a list"):
        put({"a": 1}, "a.b", 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [("90s", 90), ("2m", 120), ("1h30m", 5400), ("500ms", 0.5), (45, 45), ("45", 45), ("1.5m", 90), (0, 0)],
)
def test_a_duration_is_read_as_people_write_it(text: Any, found: float) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize("text", ["", "5x", "m5", "-5s", None, True, "1h 30m", -1])
def test_what_is_no_duration_says_how_one_is_written(text: Any) -> None:
    with pytest.raises(ValueError, match="write for example 90s, 2m or 1h30m"):
        seconds(text)


@pytest.mark.parametrize(("text", "found"), [("-1h", -3600), ("+90s", 90), ("1m", 60), (-5, -5), (0, 0)])
def test_a_clock_may_go_back(text: Any, found: float) -> None:
    assert signed_seconds(text) == found
