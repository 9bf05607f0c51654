"""`hangar render`: what a manifest would make, and which replicas an edit of it would restart."""

import io
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from app.cli.main import exit_code
from app.kube.hook import JSON
from tests.support.kubeapi import kubeconfig, serving
from tests.support.shelf import Shelf, recorded

EXAMPLES = Path(__file__).parents[2] / "examples"
QUICKSTART = EXAMPLES / "quickstart.yaml"

REFUSALS = (Path(__file__).parents[1] / "invalid").glob("modeldeployment-*.yaml")
EDITS = sorted(path for path in REFUSALS if "\n# by: cel-update\n" in path.read_text())

Edit = Callable[[JSON], None]


def documents(text: str) -> list[JSON]:
    return list(yaml.safe_load_all(text))


def edited(folder: Path, edit: Edit, source: Path = QUICKSTART, name: str = "new.yaml") -> str:
    """A copy of an example with its deployment edited; the path."""
    found = documents(source.read_text())
    edit(next(one for one in found if one["kind"] == "ModelDeployment"))
    path = folder / name
    path.write_text(yaml.safe_dump_all(found))
    return str(path)


def role(deployment: JSON, name: str) -> JSON:
    found: JSON = next(one for one in deployment["spec"]["roles"] if one["name"] == name)
    return found


def test_the_children_come_as_documents_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["render", str(QUICKSTART)]) == 0
    said = capsys.readouterr()
    found = [(one["kind"], one["metadata"]["name"]) for one in documents(said.out)]
    assert [kind for kind, _ in found] == ["Pod"] * 4 + ["Service"] * 4
    assert [name.rpartition("-")[0] for kind, name in found if kind == "Pod"][:2] == ["qwen-prefill-9f2ef2"] * 2
    assert said.err == ""


def test_json_is_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code(["render", str(QUICKSTART)])
    in_yaml = documents(capsys.readouterr().out)
    assert exit_code(["render", str(QUICKSTART), "-o", "json"]) == 0
    in_json = orjson.loads(capsys.readouterr().out)
    assert (in_json["kind"], in_json["items"]) == ("List", in_yaml)


def test_parts_of_a_manifest_may_be_in_several_files_and_in_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code(["render", str(QUICKSTART)])
    whole = capsys.readouterr().out
    instance_type, deployment = documents(QUICKSTART.read_text())
    (tmp_path / "type.yaml").write_text(yaml.safe_dump(instance_type))
    monkeypatch.setattr(sys, "stdin", io.StringIO(yaml.safe_dump(deployment)))
    assert exit_code(["render", "-", str(tmp_path / "type.yaml")]) == 0
    assert capsys.readouterr().out == whole


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (
            lambda md: role(md, "decode").update(instanceType="nope"),
            "roles[decode].instanceType: there is no InstanceType nope; create it",
        ),
        (lambda md: role(md, "decode").update(parallelism={"tensor": 7}), "make the two equal"),
        (lambda md: role(md, "prefill").update(privileged=True), "privileged"),
    ],
)
def test_a_refused_render_is_the_sentence_of_the_condition_and_nothing_else(
    edit: Edit, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = edited(tmp_path, edit)
    assert exit_code(["render", file, str(EXAMPLES / "several-pods.yaml")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{file}: ModelDeployment team-a/qwen: ")
    assert words in said.err
    assert said.err.count("\n") == 1


def test_settings_of_the_service_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HANGAR_IMAGE_SGLANG", "mirror.test/sglang:{version}")
    monkeypatch.setenv("HANGAR_ALLOW_PRIVILEGED", "true")
    assert exit_code(["render", edited(tmp_path, lambda md: role(md, "prefill").update(privileged=True))]) == 0
    (container,) = documents(capsys.readouterr().out)[0]["spec"]["containers"]
    assert container["image"].startswith("mirror.test/sglang:")
    assert container["securityContext"] == {"privileged": True}


def test_a_deployment_that_is_off_makes_nothing_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["render", edited(tmp_path, lambda md: md["spec"].update(enabled=False))]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err.count("spec.enabled is false, so nothing is made")) == ("", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{folder}/none.yaml"], "No such file"),
        (["{folder}/type.yaml"], "no ModelDeployment in there, so there is nothing to render"),
        (["{quickstart}", "--against", "{quickstart}", "-o", "json"], "--against prints sentences"),
        (["{quickstart}", "{quickstart}"], "this object is in"),
    ],
)
def test_a_mistake_is_a_sentence(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "type.yaml").write_text(yaml.safe_dump(documents(QUICKSTART.read_text())[0]))
    typed = [argument.format(folder=tmp_path, quickstart=QUICKSTART) for argument in arguments]
    assert exit_code(["render", *typed]) == 2
    assert words in capsys.readouterr().err


def changes(edit: Edit, folder: Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[list[str], str]:
    """The lines about the quickstart's deployment after an edit, and what is on standard error."""
    assert exit_code(["render", edited(folder, edit), "--against", str(QUICKSTART)]) == code
    said = capsys.readouterr()
    return said.out.splitlines(), said.err


def _set(name: str, **fields: Any) -> Edit:
    return lambda md: role(md, name).update(fields)


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (lambda md: None, ["role prefill: no replica turns over", "role decode: no replica turns over"]),
        (
            _set("prefill", extraArgs=["--log-level", "debug"]),
            ["role prefill: 2 replicas turn over (args)", "role decode: no replica turns over"],
        ),
        (
            _set("decode", env=[{"name": "A", "value": "b"}], nodeSelector={"pool": "a"}),
            ["role prefill: no replica turns over", "role decode: 1 replica turns over (nodeSelector, env A)"],
        ),
        (
            _set("prefill", replicas=5),
            ["role prefill: no replica turns over; replicas 2 -> 5", "role decode: no replica turns over"],
        ),
        (
            _set("prefill", replicas=1, extraArgs=["--x"]),
            ["role prefill: 1 replica turns over (args); replicas 2 -> 1", "role decode: no replica turns over"],
        ),
        (
            _set("decode", replicas=0),
            ["role prefill: no replica turns over", "role decode: no replica to compare; replicas 1 -> 0"],
        ),
        (
            lambda md: md["spec"].update(enabled=False),
            [
                "spec.enabled is false, so this comes to pass once it is true again:",
                "role prefill: no replica turns over",
                "role decode: no replica turns over",
            ],
        ),
    ],
)
def test_an_edit_names_the_replicas_that_it_restarts(
    edit: Edit, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, err = changes(edit, tmp_path, capsys)
    assert found == ["team-a/qwen", *(f"  {line}" for line in lines)]
    assert err == ""


def test_a_new_engine_turns_every_role_over_and_shows_both_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = documents(QUICKSTART.read_text())[1]["spec"]["engine"]["version"]
    found, _ = changes(lambda md: md["spec"]["engine"].update(version="0.9.9"), tmp_path, capsys)
    images = f"image lmsysorg/sglang:v{old} -> lmsysorg/sglang:v0.9.9"
    assert found[1:] == [
        f"  role prefill: 2 replicas turn over ({images})",
        f"  role decode: 1 replica turns over ({images})",
    ]


def test_a_port_that_is_added_shows_in_the_services_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = changes(_set("prefill", ports=[{"port": 9400}]), tmp_path, capsys)
    assert found[1].startswith("  role prefill: 2 replicas turn over (annotations[prometheus.io/port], ports, args, ")
    assert found[3:] == ["  Service qwen changes in place", "  Service qwen-prefill changes in place"]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda md: md["spec"]["model"].update(name="other"), "spec.model: model is frozen"),
        (_set("decode", command=["serve"]), "spec.roles[decode].command: command is frozen"),
        (_set("decode", size=1), "spec.roles[decode].size: size is frozen"),
        (lambda md: role(md, "prefill").update(name="fill"), "spec.roles: the set of roles is frozen"),
        (lambda md: md["spec"]["roles"].pop(), "spec.roles: the set of roles is frozen"),
    ],
)
def test_an_edit_that_the_api_server_refuses_is_refused_in_its_words(
    edit: Edit, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, err = changes(edit, tmp_path, capsys, code=1)
    assert found == []
    assert words in err


def test_an_edit_to_what_cannot_be_rendered_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, err = changes(_set("decode", parallelism={"tensor": 7}), tmp_path, capsys, code=1)
    assert (found, "make the two equal" in err) == ([], True)


def test_deployments_that_only_one_side_holds_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = str(EXAMPLES / "several-pods.yaml")
    assert exit_code(["render", str(QUICKSTART), "--against", other]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"team-a/qwen is new: {other} does not hold it",
        "default/deepseek is not in the newer manifests, which by itself deletes nothing",
    ]


@pytest.mark.parametrize("path", EDITS, ids=lambda path: path.stem)
def test_every_refused_edit_is_refused_here_too(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, wanted = documents(path.read_text())
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(stored))
    (tmp_path / "new.yaml").write_text(yaml.safe_dump(wanted))
    assert exit_code(["render", str(tmp_path / "new.yaml"), "--against", str(tmp_path / "old.yaml")]) == 1
    message = path.read_text().partition("\n")[0].removeprefix("# message: ")
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


def test_an_edit_of_what_a_cluster_has_names_the_replicas_and_the_quota_at_stake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Shelf(recorded("quota-reserved"))) as api:
        stored = deepcopy(api.shelf.objects[0])
        (tmp_path / "config").write_text(yaml.safe_dump(kubeconfig(api.url)))
        edited = {key: stored[key] for key in ("apiVersion", "kind", "spec")}
        edited["metadata"] = {"name": stored["metadata"]["name"], "namespace": stored["metadata"]["namespace"]}
        edited["spec"]["roles"][0]["extraArgs"] = ["--max-num-seqs=64"]
        (tmp_path / "edited.yaml").write_text(yaml.safe_dump(edited))
        render = ["render", str(tmp_path / "edited.yaml"), "--diff", "--kubeconfig", str(tmp_path / "config")]
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("HANGAR_KUEUE", "true")
            assert exit_code(render) == 0
    said = capsys.readouterr().out
    assert "role server: 2 replicas turn over" in said
    assert "whoever queues may take its quota" in said
    assert [call.method for call in api.calls if call.method != "GET"] == []


def test_a_deployment_that_a_cluster_has_not_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Shelf([])) as api:
        (tmp_path / "config").write_text(yaml.safe_dump(kubeconfig(api.url)))
        render = ["render", "examples/single-server.yaml", "--diff", "--kubeconfig", str(tmp_path / "config")]
        assert exit_code(render) == 0
    assert "is new: the cluster does not hold it" in capsys.readouterr().out
