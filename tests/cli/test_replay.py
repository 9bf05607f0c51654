"""`hangar replay`: from a recorded request to the response, and to what a change of a rule changed."""

from pathlib import Path

import orjson
import pytest

from app.cli.main import exit_code
from app.cli.problems import CommandError
from app.cli.recording import Context, hook_of, pretty, replayed
from app.kube.hook import JSON
from tests.support.cases import cases
from tests.support.keeper import KEEPER
from tests.support.recorded import CUSTOMIZE, FINALIZES, RUNNING, SYNCS, recorded

CASES = cases()
STEADY = CASES["all-ready-changes-nothing"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A case as a person copies it: request and context."""
    (tmp_path / "request.json").write_bytes(orjson.dumps(STEADY.request))
    (tmp_path / "context.json").write_bytes(orjson.dumps(STEADY.context))
    return tmp_path


def test_a_request_gives_its_response_ready_to_be_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["replay", str(folder / "request.json")]) == 0
    shown = capsys.readouterr().out
    assert shown == pretty(orjson.loads(shown))
    assert orjson.loads(shown)["status"]["clusterID"] == "local"


def test_the_same_response_is_said_to_be_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code(["replay", str(folder / "request.json")])
    response = folder / "response.json"
    response.write_text(capsys.readouterr().out)
    assert exit_code(["replay", str(folder / "request.json"), "--against", str(response)]) == 0
    assert capsys.readouterr().out == f"The response equals {response}.\n"


def test_a_response_that_differs_is_shown_line_by_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code(["replay", str(folder / "request.json")])
    document = orjson.loads(capsys.readouterr().out)
    document["status"]["clusterID"] = "elsewhere"
    response = folder / "response.json"
    response.write_bytes(orjson.dumps(document))  # neither indented nor sorted: only what it says counts
    assert exit_code(["replay", str(folder / "request.json"), "--against", str(response)]) == 1
    changed = [line for line in capsys.readouterr().out.splitlines() if line[0] in "+-"]
    assert changed == [
        f"--- {response}",
        "+++ the response now",
        '-    "clusterID": "elsewhere",',
        '+    "clusterID": "local",',
    ]


def test_a_context_elsewhere_counts_before_the_one_beside(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder / "other.json"
    other.write_bytes(orjson.dumps({**STEADY.context, "settings": {"cluster_id": "lab"}}))
    assert exit_code(["replay", str(folder / "request.json"), "--context", str(other)]) == 0
    assert orjson.loads(capsys.readouterr().out)["status"]["clusterID"] == "lab"


def test_a_refused_request_shows_its_sentence_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request: JSON = orjson.loads((folder / "request.json").read_bytes())
    request["children"]["Pod.v1"] = None
    (folder / "request.json").write_bytes(orjson.dumps(request))
    assert exit_code(["replay", str(folder / "request.json")]) == 1
    assert orjson.loads(capsys.readouterr().out)["refused"].startswith('children["Pod.v1"]: is not an object')


def test_a_request_for_another_operator_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    file.write_bytes(orjson.dumps(recorded(RUNNING)))
    assert exit_code(["replay", str(file)]) == 2
    assert "the parent is a test.example/v1alpha1 ModelDeployment, and Hangar answers for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"), [(b"{", "is not JSON"), (b"[]", "has no parent"), (b'{"parent": null}', "has no parent")]
)
def test_a_file_that_is_no_request_is_a_mistake(
    tmp_path: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "request.json"
    file.write_bytes(content)
    (tmp_path / "context.json").write_text('{"now": "2026-11-29T12:00:00Z"}')
    assert exit_code(["replay", str(file)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("names", "hook"), [(SYNCS, "sync"), (FINALIZES, "finalize"), ((CUSTOMIZE,), "customize")])
def test_the_request_says_which_hook_it_was_sent_to(names: tuple[str, ...], hook: str) -> None:
    assert {hook_of(recorded(name)) for name in names} == {hook}
    assert all(replayed(recorded(name), Context.of(recorded(name)), (KEEPER,)).status == 200 for name in names)


def test_without_a_context_the_newest_time_in_the_request_is_now() -> None:
    request = {
        "a": ["2026-11-29T12:00:00Z", {"b": "2026-11-29T13:00:01+01:00"}],
        "c": "at 2027-01-01T00:00:00Z",
        "d": 5,
    }
    assert Context.of(request).now.isoformat() == "2026-11-29T13:00:01+01:00"


def test_a_request_without_any_time_asks_for_one() -> None:
    with pytest.raises(CommandError, match="give one with --context"):
        Context.of({"parent": {}})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "the context is not"),
        ({"now": "2026-11-29T12:00:00Z", "readings": {}}, "the context is not"),
        ({}, "now is no time"),
        ({"now": "noon"}, "now is no time"),
        ({"now": "2026-11-29T12:00:00Z", "settings": []}, "settings are no object"),
        ({"now": "2026-11-29T12:00:00Z", "settings": {"cluster": "x"}}, "settings name cluster; there are cluster_id"),
        ({"now": "2026-11-29T12:00:00Z", "settings": {"cluster_id": 7}}, "cluster_id is not of type str"),
        ({"now": "2026-11-29T12:00:00Z", "settings": {"allow_privileged": 1}}, "allow_privileged is not of type bool"),
    ],
)
def test_a_context_that_is_not_understood_says_what_is_wrong(document: object, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        Context.read(document)


def test_a_context_may_name_images() -> None:
    context = Context.read({"now": "2026-11-29T12:00:00Z", "settings": {"images": {"vLLM": "mirror/vllm:v{version}"}}})
    assert context.settings.images == {"vLLM": "mirror/vllm:v{version}"}


def test_a_folder_of_our_own_fixtures_is_replayed_at_its_own_times(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["replay", str(folder), "--rewrite"]) == 0
    assert exit_code(["replay", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"written  {folder.name}"
    assert lines[1].lstrip().startswith("Metacontroller takes this answer: keeps or updates Pod team-a/qwen-decode-")
    assert lines[2:] == ["1 fixture: 1 written", f"equal    {folder.name}", "1 fixture: 1 equal"]


def test_a_fixture_that_cannot_be_replayed_does_not_stop_the_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code(["replay", str(folder), "--rewrite"])
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / "request.json").write_bytes(orjson.dumps(recorded(RUNNING)))
    capsys.readouterr()
    assert exit_code(["replay", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("failed   stranger: the parent is a test.example/v1alpha1 ModelDeployment")
    assert lines[2] == "2 fixtures: 1 equal, 1 failed"


@pytest.mark.parametrize("option", ["--against", "--context"])
def test_a_folder_has_its_own_answers_and_times(folder: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["replay", str(folder), option, str(folder / "context.json")]) == 2
    assert "each fixture in it has its own" in capsys.readouterr().err


def test_a_folder_without_fixtures_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["replay", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"hangar: {tmp_path} holds no request.json, nor does a folder in it\n"
