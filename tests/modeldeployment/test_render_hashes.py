"""The Pod hash decides what restarts: an edit of the role does, and nothing else, least of all an upgrade of Hangar."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from app.api.modeldeployment import ModelDeploymentSpec
from app.kube import canonical, names
from app.kube.hook import JSON
from app.modeldeployment.render import render_role
from app.settings import ControllerSettings
from tests.modeldeployment.rendering import CPU_TYPE, GPU, IDENTITY, MODEL, decode, instance_type, render

GOLDEN = Path(__file__).parent / "golden_pod_hashes.json"

# One of each kind of role that people run. Add to it; never change one.
REPRESENTATIVE: dict[str, dict[str, Any]] = {
    "vllm-server": {"accelerator": 8, "parallelism": {"tensor": 8}, "extraArgs": ["--max-num-seqs=256"]},
    "vllm-of-two-pods": {"size": 2, "accelerator": 4, "parallelism": {"tensor": 4, "pipeline": 2}},
    "vllm-with-tls": {"extraArgs": ["--ssl-certfile=/tls/tls.crt"], "ports": [{"port": 8443}]},
    "vllm-on-amd": {
        "shape": instance_type(
            accelerator=GPU | {"resource": "amd.com/gpu", "manufacturer": "AMD"}, images={"vLLM": "rocm/vllm:{version}"}
        )
    },
    "sglang-prefill-of-two-pods": {
        "engine": "SGLang",
        "kind": "Prefill",
        "size": 2,
        "others": [decode()],
        "spec": {"serving": {"contextLength": 32768, "kvCacheDtype": "fp8_e5m2"}},
    },
    "sglang-decode": {"engine": "SGLang", "kind": "Decode", "others": [decode(name="prefill", kind="Prefill")]},
    "taken-over": {"command": ["torchrun", "serve.py"], "size": 2, "env": [{"name": "A", "value": "1"}]},
    "toy-on-cpu": {"shape": CPU_TYPE, "image": "example/cpu:1", "env": [{"name": "A"}]},
    "inline-resources": {
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "additionalVolumes": [{"mountPath": "/models", "persistentVolumeClaim": {"claimName": "models"}}],
        "shmSize": "32Gi",
        "terminationGracePeriodSeconds": 120,
    },
}


def pod_hash(*others: JSON, **role: Any) -> str:
    return render(*others, **role).pod_hash


def test_an_upgrade_of_hangar_restarts_no_engine(rewrite_fixtures: bool) -> None:
    found = {name: pod_hash(*role.get("others", []), **_role(role)) for name, role in REPRESENTATIVE.items()}
    if rewrite_fixtures:
        GOLDEN.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")
    golden = orjson.loads(GOLDEN.read_bytes())
    restarted = sorted(name for name in golden if golden[name] != found.get(name))
    assert not restarted, (
        "an upgrade to this version restarts engines like these; if that is meant, say so under **Restarts** in "
        "CHANGELOG.md and rewrite the file with --rewrite-fixtures"
    )
    assert set(golden) == set(found)


def _role(declared: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in declared.items() if field != "others"}


@pytest.mark.parametrize(
    "edit",
    [
        {"replicas": 0},
        {"replicas": 9},
        {"spec": {"rollout": {"gate": "Admitted"}}},
        {"spec": {"enabled": False}},
        {"spec": {"serving": {}}},
        {"settings": ControllerSettings(cluster_id="elsewhere", allow_privileged=True, allow_host_path=True)},
        {"terminationGracePeriodSeconds": 30},
        {"shmSize": "16Gi"},
        {"accelerator": 1},
        {"image": "vllm/vllm-openai:v0.12.0", "version": None},
        {"version": "v0.12.0"},
    ],
)
def test_an_edit_that_changes_no_pod_restarts_none(edit: dict[str, Any]) -> None:
    assert pod_hash(**edit) == pod_hash()


@pytest.mark.parametrize(
    "edit",
    [
        {"version": "0.12.1"},
        {"extraArgs": ["--seed", "1"]},
        {"env": [{"name": "A"}]},
        {"size": 2},
        {"ports": [{"port": 8000}]},
        {"spec": {"serving": {"contextLength": 1}}},
        {"accelerator": 2},
        {"shmSize": "8Gi"},
        {"priorityClassName": "high"},
        {"terminationGracePeriodSeconds": 60},
        {"shape": instance_type(runtimeClassName="nvidia")},
    ],
)
def test_an_edit_that_changes_a_pod_is_rolled_out(edit: dict[str, Any]) -> None:
    assert pod_hash(**edit) != pod_hash()


@pytest.mark.parametrize("engine", ["vLLM", "SGLang"])
def test_an_edit_of_decode_does_not_restart_prefill(engine: str) -> None:
    hashes = {
        pod_hash(other, engine=engine, kind="Prefill")
        for other in (decode(), decode(replicas=7), decode(extraArgs=["--seed=1"]), decode(command=["x"], size=2))
    }
    assert len(hashes) == 1


def test_every_replica_and_member_carries_the_hash_of_the_whole_replica() -> None:
    role = render(size=3)
    pods = [role.pod(ordinal, member) for ordinal in (0, 41) for member in (0, 1, 2)]
    assert {pod["metadata"]["annotations"][names.POD_HASH] for pod in pods} == {role.pod_hash}
    assert len({canonical.dumps(pod) for pod in pods}) == len(pods)


def test_two_deployments_never_take_each_others_pods_for_their_own() -> None:
    spec: JSON = {"model": {"name": MODEL}, "engine": {"name": "vLLM"}, "roles": [{"name": "main", "image": "x"}]}
    parsed = ModelDeploymentSpec.model_validate(spec)
    hashes = {
        render_role(identity, parsed, parsed.roles[0], None, ControllerSettings()).pod_hash
        for identity in (IDENTITY, type(IDENTITY)("other", "team-a"), type(IDENTITY)("qwen", "team-b"))
    }
    assert len(hashes) == 3


def test_the_same_role_renders_to_the_same_bytes() -> None:
    for declared in REPRESENTATIVE.values():
        first, second = (render(*declared.get("others", []), **_role(declared)) for _ in range(2))
        assert orjson.dumps(first.pod(2, 0)) == orjson.dumps(second.pod(2, 0))
