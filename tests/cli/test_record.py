"""`hangar record`: from a line of Metacontroller's log to a fixture that replays."""

import io
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.cli.main import exit_code
from app.cli.recording import Context, pretty, replayed
from app.kube.hook import JSON
from app.kube.names import API_VERSION
from app.settings import DEFAULT_IMAGES
from tests.cli.logged import a_request, answered, asked, other
from tests.support.builders import a_deployment, observed, pod

DONE: JSON = {"status": {"phase": "Ready"}, "children": []}


def log(folder: Path, *lines: bytes) -> str:
    path = folder / "metacontroller.log"
    path.write_bytes(b"".join(lines))
    return str(path)


def read(path: Path) -> Any:
    return orjson.loads(path.read_bytes())


def test_a_call_becomes_a_fixture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = log(tmp_path, other(0), asked(1.25, a_request()), answered(2, DONE))
    assert exit_code(["record", file, "--output", str(tmp_path / "case")]) == 0
    assert read(tmp_path / "case" / "context.json") == {"now": "2026-11-29T12:00:01.250000Z"}
    assert (tmp_path / "case" / "response.json").read_text() == pretty(DONE)
    assert read(tmp_path / "case" / "request.json")["parent"]["metadata"]["name"] == "job"
    said = capsys.readouterr()
    assert said.out.startswith(f"{tmp_path}/case: sync of ModelDeployment t/job at 2026-11-29T12:00:01.250000Z, ")
    assert said.err == ""


NOW = "2026-11-29T12:00:01.000000Z"
SECRETS = ("sk-live-0123456789", "hf_0123456789abcdef", "s3cr3t-proxy-pass", "plain-setting")


def with_secrets(*, outdated: bool = False) -> JSON:
    """A deployment whose replicas all serve, and whose Pods hold every kind of secret that a role can state."""
    deployment = a_deployment().with_role(
        "server",
        replicas=2,
        extraArgs=["--api-key", SECRETS[0], "--max-model-len", "4096"],
        env=[
            {"name": "HF_TOKEN", "value": SECRETS[1]},
            {"name": "HTTPS_PROXY", "value": f"http://user:{SECRETS[2]}@proxy:3128"},
            {"name": "SETTING", "value": SECRETS[3]},
        ],
    )
    last = pod("server", 1).outdated() if outdated else pod("server", 1)
    return deployment.having(pod("server", 0), last).with_services().request()


def answer_to(request: JSON, settings: JSON) -> JSON:
    answer: JSON = replayed(request, Context.read({"now": NOW, "settings": settings})).document
    return answer


def test_the_fixture_of_a_deployment_with_secrets_holds_none_and_gives_the_same_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request, case = with_secrets(), tmp_path / "case"
    response = answer_to(request, {"cluster_id": "lab"})
    assert {child["kind"] for child in response["children"] if "spec" not in child} == {"Pod"}  # nothing turns over
    file = log(tmp_path, asked(1, request), answered(2, response))
    assert exit_code(["record", file, "--output", str(case)]) == 0
    written = "".join(path.read_text() for path in case.iterdir())
    assert not [secret for secret in SECRETS if secret in written]
    assert read(case / "context.json")["settings"] == {"cluster_id": "lab"}
    assert exit_code(["replay", str(case)]) == 0
    assert capsys.readouterr().out.endswith("\nequal    case\n1 fixture: 1 equal\n")


def test_recording_changes_nothing_about_what_is_outdated(tmp_path: Path) -> None:
    request, case = with_secrets(outdated=True), tmp_path / "case"
    response = answer_to(request, {})
    kept_pods = [child for child in response["children"] if child["kind"] == "Pod"]
    assert len(kept_pods) == 1  # the outdated one of the two leaves
    exit_code(["record", log(tmp_path, asked(1, request), answered(2, response)), "--output", str(case)])
    assert exit_code(["replay", str(case)]) == 0


def test_settings_of_the_service_that_the_log_does_not_tell_are_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = {"vLLM": "mirror.test/vllm:{version}", "SGLang": DEFAULT_IMAGES["SGLang"]}
    env = [{"name": "HF_TOKEN", "value": SECRETS[1]}]
    deployment = a_deployment().with_role("server", env=env)
    first = answer_to(deployment.request(), {"images": images})
    request = deployment.request()
    request["children"]["Pod.v1"] = {
        f"team-a/{child['metadata']['name']}": observed(child, "team-a", request["parent"]["metadata"]["uid"])
        for child in first["children"]
        if child["kind"] == "Pod"
    }
    response = answer_to(request, {"images": images})
    file, case = log(tmp_path, asked(1, request), answered(2, response)), tmp_path / "case"
    monkeypatch.setenv("HANGAR_IMAGE_VLLM", images["vLLM"])
    assert exit_code(["record", file, "--output", str(case)]) == 0
    assert read(case / "context.json")["settings"] == {"images": images}
    assert exit_code(["replay", str(case)]) == 0
    conditions = {one["type"]: one["status"] for one in read(case / "response.json")["status"]["conditions"]}
    assert conditions["ReplicasUpToDate"] == "True"


@pytest.mark.parametrize("broken", [{"children": None}, {"related": {f"InstanceType.{API_VERSION}": {"a": 1}}}])
def test_a_request_that_the_hook_refuses_is_recorded_like_any_other(broken: JSON, tmp_path: Path) -> None:
    file = log(tmp_path, asked(1, {**with_secrets(), **broken}))
    assert exit_code(["record", file, "--output", str(tmp_path / "case")]) == 0


def test_values_stay_where_they_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request, case = with_secrets(), tmp_path / "case"
    file = log(tmp_path, asked(1, request), answered(2, DONE))
    assert exit_code(["record", file, "--output", str(case), "--keep-values"]) == 0
    assert read(case / "request.json") == request
    assert "0 values redacted" in capsys.readouterr().out


def test_the_newest_call_of_the_object_and_hook_is_taken(tmp_path: Path) -> None:
    customize = {"controller": {}, "parent": a_request("a")["parent"]}
    file = log(
        tmp_path,
        *(asked(1, a_request("a")), answered(2, {"children": [], "status": {"call": 1}})),
        *(asked(3, a_request("a")), answered(4, {"children": [], "status": {"call": 2}})),
        asked(5, customize, hook="customize", url="http://hooks.test:8080/keeper/customize"),
        *(asked(6, a_request("b")), answered(7, {"children": [], "status": {"call": 3}})),
    )
    arguments = ["record", file, "--output", str(tmp_path / "case"), "--name", "t/a", "--hook", "sync"]
    assert exit_code(arguments) == 0
    assert read(tmp_path / "case" / "response.json")["status"] == {"call": 2}


def test_several_calls_get_a_folder_each_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        line for number in range(4) for line in (asked(2 * number, a_request("a")), answered(2 * number + 1, DONE))
    ]
    assert exit_code(["record", log(tmp_path, *lines), "--output", str(tmp_path / "all"), "--last", "3"]) == 0
    folders = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert folders == ["001-sync-t-a", "002-sync-t-a", "003-sync-t-a"]
    assert [read(tmp_path / "all" / name / "context.json")["now"][17:19] for name in folders] == ["02", "04", "06"]
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_log_is_read_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = asked(1, a_request()) + answered(2, DONE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert exit_code(["record", "--output", str(tmp_path / "case")]) == 0
    assert read(tmp_path / "case" / "response.json") == DONE


def test_a_call_without_an_answer_is_kept_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["record", log(tmp_path, asked(1, a_request())), "--output", str(tmp_path / "case")]) == 0
    assert sorted(path.name for path in (tmp_path / "case").iterdir()) == ["context.json", "request.json"]
    assert "no response.json, because the log ends before it" in capsys.readouterr().out


def test_a_fixture_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = log(tmp_path, asked(1, a_request()), answered(2, DONE))
    (tmp_path / "request.json").write_text("mine")
    assert exit_code(["record", file, "--output", str(tmp_path)]) == 2
    assert "request.json exists already: remove it, or give --output another folder" in capsys.readouterr().err
    assert (tmp_path / "request.json").read_text() == "mine"


def test_lines_that_cannot_be_read_are_named_and_the_rest_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [asked(number, a_request())[:9000] + b"\n" for number in range(7)]
    file = log(tmp_path, *broken, asked(8, a_request()), answered(9, DONE))
    assert exit_code(["record", file, "--output", str(tmp_path / "case")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"hangar: {file}: line 1 of 9001 bytes holds a hook call, and it is cut off")
    assert said[-1] == f"hangar: {file}: and 2 more such lines"
    assert len(said) == 6


@pytest.mark.parametrize(
    ("lines", "options", "words"),
    [
        ([other(1)], [], "no hook call in there that can be read: Metacontroller logs them with --zap-log-level=6"),
        ([asked(1, a_request())[:9000]], [], "no hook call in there that can be read"),
        (
            [asked(1, a_request("a")), asked(2, a_request("a")), asked(3, a_request("b"))],
            ["--name", "t/c"],
            "no call of t/c in there; there are sync of ModelDeployment t/a (2), sync of ModelDeployment t/b (1)",
        ),
        ([asked(1, a_request())], ["--hook", "finalize"], "no finalize in there; there are sync of"),
        ([asked(1, a_request(f"x{n}")) for n in range(7)], ["--name", "t/c", "--hook", "sync"], "and 2 more"),
    ],
)
def test_a_log_without_the_call_says_what_there_is(
    lines: list[bytes], options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = log(tmp_path, *lines)
    assert exit_code(["record", file, "--output", str(tmp_path / "case"), *options]) == 2
    said = capsys.readouterr().err
    assert f"hangar: {file}: " in said
    assert words in said
    assert not (tmp_path / "case").exists()


def test_a_log_that_is_not_there_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["record", str(tmp_path / "none.log"), "--output", str(tmp_path / "case")]) == 2
    assert capsys.readouterr().err == f"hangar: {tmp_path}/none.log: No such file or directory\n"


def test_a_folder_that_cannot_be_written_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = log(tmp_path, asked(1, a_request()), answered(2, DONE))
    (tmp_path / "taken").write_text("")
    assert exit_code(["record", file, "--output", str(tmp_path / "taken" / "case")]) == 2
    assert capsys.readouterr().err.startswith(f"hangar: {tmp_path}/taken/case")
