"""One role of a ModelDeployment: what its replicas run, on what, and how many there are."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from app.api.base import KubeModel, extras, listed
from app.api.kubernetes import (
    ClaimSource,
    ConfigMapSource,
    EnvVar,
    HostPathSource,
    LabelValue,
    LocalObjectReference,
    Name,
    Opaque,
    Port,
    PullPolicy,
    Quantity,
    QueueName,
    ResourceRequirements,
    SecretSource,
    Toleration,
)
from app.api.rules import frozen, no_backsteps, rank_environment, rule, unchanged

RoleKind = Literal["Server", "Prefill", "Decode"]
LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
Argument = Annotated[str, Field(max_length=32768)]
_ANOTHER = "make another ModelDeployment, and delete this one once the other serves"


class Parallelism(KubeModel):
    """Degrees of parallelism, rendered to the engine's own flags. A degree that is absent renders no flag."""

    tensor: int | None = Field(default=None, ge=1, le=4096, description="Tensor parallel degree. Editable.")
    pipeline: int | None = Field(default=None, ge=1, le=4096, description="Pipeline parallel degree. Editable.")
    expert: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Expert parallel degree. vLLM only knows on and off: above 1 turns it on. Editable.",
    )
    data: int | None = Field(default=None, ge=1, le=4096, description="Data parallel degree. Editable.")


class Volume(KubeModel):
    """A volume mounted into the engine's container; exactly one source."""

    model_config = ConfigDict(
        json_schema_extra=extras(
            rule(
                "[has(self.configMap), has(self.secret), has(self.persistentVolumeClaim), has(self.hostPath)]"
                ".filter(stated, stated).size() == 1",
                "a volume needs exactly one source: state one of configMap, secret, persistentVolumeClaim, hostPath",
            )
        )
    )

    mount_path: str = Field(
        max_length=1024,
        pattern=r"^(/[^/:]+)+$",
        description="Absolute path in the container, without a colon. Unique in the role.",
        json_schema_extra=extras(no_backsteps("mountPath")),
    )
    read_only: bool = Field(default=False, description="Whether it is mounted read-only. Defaults to false.")
    sub_path: str | None = Field(
        default=None,
        max_length=1024,
        pattern=r"^[^/].*$",
        description="Path inside the volume; no `..` segment.",
        json_schema_extra=extras(no_backsteps("subPath")),
    )
    config_map: ConfigMapSource | None = Field(default=None, description="A ConfigMap as files.")
    secret: SecretSource | None = Field(default=None, description="A Secret as files.")
    persistent_volume_claim: ClaimSource | None = Field(default=None, description="A claim of the same namespace.")
    host_path: HostPathSource | None = Field(
        default=None,
        description="A path of the node; only where the service allows it (HANGAR_ALLOW_HOST_PATH).",
    )


class Topology(KubeModel):
    """What the Pods of one replica share."""

    required_level: str = Field(
        max_length=317,
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        description="Node label of the level of Kueue's topology that all of a replica's Pods must share.",
        json_schema_extra=extras(
            rule(
                "self != 'kubernetes.io/hostname'",
                "requiredLevel is a level above the node: name a wider one",
            )
        ),
    )


class Role(KubeModel):
    """A set of equal replicas. The set of roles is frozen; `replicas` is what scales."""

    model_config = ConfigDict(
        json_schema_extra=extras(
            frozen("instanceType", _ANOTHER),
            frozen("resources", _ANOTHER),
            frozen("accelerator", _ANOTHER),
            frozen("command", _ANOTHER),
            rule(
                "!has(self.command) || !has(self.extraArgs) || self.extraArgs.size() == 0",
                "extraArgs beside command would be ignored: append them to command",
                path=".extraArgs",
            ),
            rule(
                "!has(self.command) || !has(self.parallelism)",
                "parallelism beside command would be ignored: append its flags to command",
                path=".parallelism",
            ),
        )
    )

    name: str = Field(
        min_length=1,
        max_length=22,
        pattern=LABEL,
        description="Name of the role; names its Service `<deployment>-<role>`. Frozen.",
        json_schema_extra=extras(
            rule(
                "self != 'router' && !self.endsWith('-pods')",
                "a role may not be called router or end in -pods, as Hangar has Services of those names: rename it",
            )
        ),
    )
    kind: RoleKind = Field(
        default="Server",
        description="Server answers requests whole; Prefill and Decode are the two halves. Default Server. Frozen.",
        json_schema_extra=extras(unchanged("kind", _ANOTHER)),
    )
    replicas: int = Field(
        default=1,
        ge=0,
        le=1000,
        description="Replicas wanted. Defaults to 1; 0 keeps the role without Pods. Editable.",
    )
    size: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Pods per replica. Defaults to 1. Frozen.",
        json_schema_extra=extras(unchanged("size", f"scale with replicas, or {_ANOTHER}")),
    )
    parallelism: Parallelism | None = Field(
        default=None, description="Degrees of parallelism; stated here or as flags, not both. Editable."
    )
    instance_type: Name | None = Field(
        default=None, description="InstanceType that gives resources, placement and images. Frozen."
    )
    resources: ResourceRequirements | None = Field(
        default=None, description="Requests and limits per Pod; overrides what the type computes. Frozen."
    )
    accelerator: int | None = Field(
        default=None,
        ge=0,
        le=64,
        description="Cards per Pod. Defaults to 1 on a type that has an accelerator. Frozen.",
    )
    queue_name: QueueName | None = Field(
        default=None,
        description="LocalQueue from which each replica takes its quota; overrides the type's. Needs Kueue switched on "
        "(HANGAR_KUEUE). Editable; rolls the role.",
    )
    workload_priority_class: Name | None = Field(
        default=None, description="WorkloadPriorityClass in Kueue; only with a queue. Editable; rolls the role."
    )
    topology: Topology | None = Field(
        default=None, description="Where Kueue places the Pods of one replica; only with a queue. Editable."
    )
    image: str | None = Field(
        default=None,
        min_length=1,
        max_length=512,
        description="Engine image, taken as it is. Editable; rolls the role.",
    )
    image_pull_policy: PullPolicy | None = Field(default=None, description="When the image is pulled. Editable.")
    image_pull_secrets: list[LocalObjectReference] = listed(
        description="Secrets with which the image is pulled. Editable.", maximum=32
    )
    privileged: bool = Field(
        default=False,
        description="Runs the engine privileged; only where the service allows it (HANGAR_ALLOW_PRIVILEGED). Editable.",
    )
    ports: list[Port] = listed(
        rule(
            "self.all(p, self.exists_one(other, other.port == p.port))",
            "two ports have the same number: state each number once, with one protocol",
        ),
        description="Ports of the engine's container; the first is the serving port. Defaults to 8000/TCP. Editable.",
        maximum=16,
        keys=("port", "protocol"),
    )
    additional_volumes: list[Volume] = listed(
        rule(
            "self.all(v, self.exists_one(other, other.mountPath == v.mountPath))",
            "two volumes have the same mountPath: mount each at a path of its own",
        ),
        description="Volumes mounted into the engine's container. Editable.",
        maximum=32,
    )
    shm_size: Quantity | None = Field(
        default=None,
        description="Size of the memory volume at /dev/shm, above 0. Defaults to 16Gi. Editable.",
        json_schema_extra=extras(
            rule(
                "!isQuantity(string(self)) || quantity(string(self)).isGreaterThan(quantity('0'))",
                "shmSize must be above 0: state a size, or leave the field out for 16Gi",
            )
        ),
    )
    command: list[Argument] | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="The whole command line, in place of the one that Hangar renders. Needs extraArgs empty and no "
        "parallelism; the role carries no health gates (`unmanaged`). Frozen.",
        json_schema_extra=extras(atomic=True),
    )
    extra_args: list[Argument] = listed(
        description="Arguments appended to the engine's command line. Editable; rolls the role.", maximum=256
    )
    env: list[EnvVar] = listed(
        rank_environment(),
        description="Environment of the engine's container, literal values. Editable.",
        maximum=128,
        keys=("name",),
    )
    termination_grace_period_seconds: int | None = Field(
        default=None,
        ge=15,
        le=3600,
        description="Seconds a replica may drain before it is killed. Defaults to 30. Editable.",
    )
    node_selector: dict[str, LabelValue] = Field(
        default_factory=dict,
        max_length=32,
        description="Labels a node must have; added to the type's. Editable.",
    )
    tolerations: list[Toleration] = listed(
        description="Taints that are tolerated; added to the type's. Editable.", maximum=32
    )
    affinity: Opaque | None = Field(default=None, description="Kubernetes affinity, passed on as it is. Editable.")
    priority_class_name: Name | None = Field(default=None, description="PriorityClass of the Pods. Editable.")
