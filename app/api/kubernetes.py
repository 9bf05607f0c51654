"""The small Kubernetes types that our kinds embed, as far as Hangar reads or passes them on."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from app.api.base import KubeModel, extras
from app.api.rules import no_backsteps

# A Kubernetes quantity of something a Pod has: "16Gi", "500m", 4, never negative. The API server takes numbers too.
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY_PATTERN = rf"^\+?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
Quantity = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[str, Field(max_length=64, pattern=QUANTITY_PATTERN)],
    Field(json_schema_extra={"x-kubernetes-int-or-string": True}),
]
_DEEPEST = 32


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    """Refuses what no Kubernetes type nests so deep, and no serialiser would take much deeper."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in level if isinstance(part, dict | list)]
        if not level:
            return value
    raise ValueError(f"must not be nested deeper than {_DEEPEST} levels")


# A whole object of Kubernetes' own that is passed on as it is; the API server checks it on the Pod.
Opaque = Annotated[
    dict[str, Any],
    AfterValidator(_shallow),
    Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}),
]

Protocol = Literal["TCP", "UDP", "SCTP"]
PullPolicy = Literal["Always", "IfNotPresent", "Never"]
Name = Annotated[str, Field(min_length=1, max_length=253)]
# A LocalQueue, named in a label.
QueueName = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
LabelValue = Annotated[str, Field(max_length=63)]


class LocalObjectReference(KubeModel):
    """An object of the same namespace, by name."""

    name: Name = Field(description="Name of the object.")


class EnvVar(KubeModel):
    """An environment variable with a literal value."""

    name: str = Field(
        min_length=1, max_length=256, pattern=r"^[-._a-zA-Z][-._a-zA-Z0-9]*$", description="Name of the variable."
    )
    value: str = Field(default="", max_length=32768, description="Its value. Defaults to the empty string.")


class Port(KubeModel):
    """A port that the engine's container opens. It has no name of its own."""

    port: int = Field(ge=1, le=65535, description="Port number.")
    protocol: Protocol = Field(
        default="TCP",
        description="TCP, UDP or SCTP. Defaults to TCP. A first port that is not TCP carries no health gates.",
    )


class Toleration(KubeModel):
    """A Kubernetes toleration."""

    key: str | None = Field(default=None, max_length=317, description="Taint key; absent matches all keys.")
    operator: Literal["Exists", "Equal", "Lt", "Gt"] | None = Field(
        default=None, description="How the value is compared. Kubernetes' default is Equal."
    )
    value: str | None = Field(default=None, max_length=253, description="Taint value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Taint effect; absent matches all effects."
    )
    toleration_seconds: int | None = Field(
        default=None, description="Seconds for which a NoExecute taint is tolerated; absent is for ever."
    )


class ConfigMapSource(KubeModel):
    """A ConfigMap as files."""

    name: Name = Field(description="Name of the ConfigMap.")
    optional: bool | None = Field(default=None, description="Whether it may be missing. Defaults to false.")


class SecretSource(KubeModel):
    """A Secret as files."""

    secret_name: Name = Field(description="Name of the Secret.")
    optional: bool | None = Field(default=None, description="Whether it may be missing. Defaults to false.")


class HostPathSource(KubeModel):
    """A path of the node. Needs the service setting HANGAR_ALLOW_HOST_PATH."""

    path: str = Field(
        max_length=1024,
        pattern=r"^/",
        description="Absolute path on the node; no `..` segment.",
        json_schema_extra=extras(no_backsteps("path")),
    )
    type: str | None = Field(default=None, max_length=32, description="What must be there, for example Directory.")


class ClaimSource(KubeModel):
    """A PersistentVolumeClaim of the same namespace."""

    claim_name: Name = Field(description="Name of the claim.")
    read_only: bool | None = Field(default=None, description="Whether it is mounted read-only. Defaults to false.")


class ResourceRequirements(KubeModel):
    """Plain Kubernetes requests and limits of the engine's container."""

    requests: dict[str, Quantity] = Field(
        default_factory=dict,
        max_length=32,
        description="What the scheduler reserves per Pod, by resource name.",
    )
    limits: dict[str, Quantity] = Field(
        default_factory=dict, max_length=32, description="What a Pod may use at most, by resource name."
    )
