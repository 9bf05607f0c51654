"""`hangar run` takes no manifest that a cluster would refuse: one sentence in the server's words, and exit code 2."""

import re
from pathlib import Path

import pytest
import yaml

from app.cli.cluster import local_cluster
from app.cli.main import exit_code
from app.kube.hook import JSON
from app.local.errors import Invalid

INVALID = Path(__file__).parents[1] / "invalid"


def _refusal(capsys: pytest.CaptureFixture[str], file: Path) -> str:
    assert exit_code(["run", str(file)]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"hangar: {file}: ")
    assert shown.count("\n") == 1
    return shown


def _deployment() -> JSON:
    return {
        "apiVersion": "hangar.dev/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": "qwen", "namespace": "team-a"},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM", "version": "0.12.0"},
            "roles": [{"name": "server", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
        },
    }


@pytest.mark.parametrize(
    "name",
    [
        "modeldeployment-role-extra-args-owned-vllm",
        "modeldeployment-role-ports-same-number",
        "modeldeployment-roles-server-beside-decode",
        "modeldeployment-role-shm-size-zero",
    ],
)
def test_a_rule_of_the_kind_refuses_a_manifest(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = INVALID / f"{name}.yaml"
    head = re.match("# message: (.+)\n", file.read_text())
    assert head
    assert head[1] in _refusal(capsys, file)


def test_a_rule_that_compares_refuses_an_edit_of_what_runs() -> None:
    other = _deployment()
    other["spec"]["model"]["name"] = "another/model"
    with local_cluster() as cluster:
        cluster.plane.apply(_deployment())
        with pytest.raises(Invalid, match="model is frozen: make another ModelDeployment for another model"):
            cluster.plane.apply(other)


def test_a_manifest_of_kubernetes_own_kinds_is_held_to_their_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 0}]}}
    file = tmp_path / "qwen.yaml"
    file.write_text(yaml.safe_dump_all([service, _deployment()]))
    assert "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive" in _refusal(capsys, file)
