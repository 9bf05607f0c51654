"""Short ways to declare a role and to look at what it renders to."""

from typing import Any

import pytest

from app.api.instancetype import InstanceTypeSpec
from app.api.modeldeployment import ModelDeploymentSpec
from app.api.reasons import Reason
from app.kube.hook import JSON
from app.modeldeployment.render import Identity, RenderedRole, RenderRefused, render_role
from app.settings import ControllerSettings

IDENTITY = Identity("qwen", "team-a")
SHM = "/dev/shm"  # noqa: S108 - a path in the container
MODEL = "Qwen/Qwen3-32B"
GPU: JSON = {"resource": "nvidia.com/gpu", "manufacturer": "NVIDIA", "product": "H100-80G"}


def instance_type(**spec: Any) -> InstanceTypeSpec:
    """An InstanceType with eight NVIDIA cards' worth of everything; `spec` replaces its fields."""
    declared: JSON = {
        "accelerator": GPU,
        "perAccelerator": {"cpu": "12", "memory": "200Gi"},
        "ephemeralStorage": "100Gi",
        "nodeSelector": {"cloud.example/pool": "h100"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    return InstanceTypeSpec.model_validate(declared | spec)


CPU_TYPE = InstanceTypeSpec.model_validate({"perAccelerator": {"cpu": 4, "memory": "16Gi"}})


def render(
    *others: JSON,
    engine: str = "vLLM",
    version: str | None = "0.12.0",
    spec: JSON | None = None,
    shape: InstanceTypeSpec | None = None,
    settings: ControllerSettings | None = None,
    identity: Identity = IDENTITY,
    **role: Any,
) -> RenderedRole:
    """Renders one role, by default a Server `main` on an H100 type, or on no type where it states its resources.

    `others` are further roles of the deployment; `shape` replaces the InstanceType.
    """
    stated = {"name": engine} | ({"version": version} if version else {})
    first = {"name": "main"} | ({} if "resources" in role else {"instanceType": "h100"}) | role
    declared: JSON = {"model": {"name": MODEL}, "engine": stated, "roles": [first, *others]} | (spec or {})
    parsed = ModelDeploymentSpec.model_validate(declared)
    named = parsed.roles[0].instance_type
    if named and shape is None:
        shape = instance_type()
    return render_role(identity, parsed, parsed.roles[0], shape if named else None, settings or ControllerSettings())


def refused(reason: Reason, *others: JSON, **declared: Any) -> str:
    """The sentence with which a role is refused, after checking its reason and form."""
    with pytest.raises(RenderRefused) as caught:
        render(*others, **declared)
    assert caught.value.reason is reason, caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(("roles[main].", "InstanceType "))
    assert len(caught.value.message) < 400
    return caught.value.message


def main(role: RenderedRole, member: int = 0) -> JSON:
    """The engine's container of the first replica."""
    containers: list[JSON] = role.pod(0, member)["spec"]["containers"]
    assert len(containers) == 1
    return containers[0]


def command(role: RenderedRole, member: int = 0) -> list[str]:
    """The engine's whole command line."""
    container = main(role, member)
    assert "args" not in container
    found: list[str] = container["command"]
    return found


def decode(**role: Any) -> JSON:
    """A Decode role beside the first one."""
    return {"name": "decode", "kind": "Decode", "instanceType": "h100"} | role
