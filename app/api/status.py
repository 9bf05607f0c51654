"""The status of a ModelDeployment: the shape that the schema declares and every sync fills.

The sync writes plain dicts (a status is built on every call); tests hold each of them to these models.
Absent is not zero: a field that was not seen is absent, and a printed 0 was counted.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from app.api.base import KubeModel, extras, listed
from app.api.role import RoleKind

Phase = Literal["Starting", "Ready", "Degraded", "Deleting"]
AdmissionPhase = Literal["Pending", "Admitted", "Placed", "Running"]
MAX_REPLICAS_LISTED = 64
MAX_MESSAGE = 1024

PHASES: Mapping[Phase, str] = MappingProxyType(
    {
        "Starting": "No replica is ready yet.",
        "Ready": "Every declared replica is ready; so too at zero replicas.",
        "Degraded": "Some declared replicas are ready, and some are not.",
        "Deleting": "The deployment is being deleted, and its Pods are leaving.",
    }
)
ADMISSION_PHASES: Mapping[AdmissionPhase, str] = MappingProxyType(
    {
        "Pending": "Waiting for quota or for capacity.",
        "Admitted": "Holds its quota. Without a queue nothing is ever Admitted.",
        "Placed": "Bound to a node, with its devices.",
        "Running": "Ready.",
    }
)


class Condition(KubeModel):
    """A Kubernetes condition."""

    type: str = Field(min_length=1, max_length=316, description="Name of the condition.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field(
        min_length=1, max_length=1024, description="One word on why; docs/status.md says of each what to do."
    )
    message: str = Field(max_length=32768, description="A sentence for people; at most 1024 characters are written.")
    observed_generation: int | None = Field(default=None, ge=0, description="Generation that was judged.")
    last_transition_time: str = Field(
        description="When the status last changed.", json_schema_extra={"format": "date-time"}
    )


class Admission(KubeModel):
    """How far the replicas have come, and what the least advanced one waits for."""

    phase: AdmissionPhase = Field(description="The furthest state that any replica has reached.")
    reason: str | None = Field(default=None, max_length=64, description="The least advanced open question.")
    message: str | None = Field(default=None, max_length=MAX_MESSAGE, description="The words of who was asked.")


class RoleStatus(KubeModel):
    """Counts of one role, in replicas (a replica of several Pods counts once)."""

    name: str = Field(description="Name of the role.")
    kind: RoleKind = Field(description="Kind of the role.")
    desired: int = Field(ge=0, description="Replicas declared.")
    ready: int = Field(ge=0, description="Replicas whose every member is ready.")
    quota_reserved: int | None = Field(
        default=None, ge=0, description="Replicas that hold quota; absent on a role without a queue."
    )
    assigned_flavors: list[str] = listed(
        description="Kueue flavors of the replicas' accelerators; several are worth a look, absent is none assigned.",
        maximum=64,
    )
    unmanaged: bool = Field(description="Whether the role replaced its command line and so carries no gates.")


class ReplicaStatus(KubeModel):
    """One replica that exists."""

    name: str = Field(description="Name of its Pod; the leader's where it has several.")
    role: str = Field(description="Its role.")
    ready: bool = Field(description="Whether every member is ready.")
    node_name: str | None = Field(default=None, description="Node of the leader; absent until it is bound.")
    started_at: str | None = Field(
        default=None,
        description="When the leader's engine container started; absent until it did.",
        json_schema_extra={"format": "date-time"},
    )


class Interruption(KubeModel):
    """What happened to replicas of one role; remembered after the Pods that showed it are gone."""

    role: str = Field(description="Role of the replicas.")
    reason: Literal["Failed", "Evicted", "Preempted", "MemberLost", "Parked"] = Field(
        description="Failed: a Pod ended. Evicted: the kubelet or somebody took it away. Preempted: the scheduler did, "
        "or Kueue for another. MemberLost: a replica of several Pods lost one. Parked: Kueue deactivated it."
    )
    seats: str = Field(max_length=8192, description="Replicas, as ranges: 0-3,7.")
    at: str = Field(description="When it was last seen.", json_schema_extra={"format": "date-time"})
    attempts: int | None = Field(
        default=None,
        ge=1,
        description="Failures in a row; each doubles the delay of the next attempt, up to 5 minutes.",
    )
    message: str | None = Field(default=None, max_length=MAX_MESSAGE, description="The words of who ended it.")


class AssemblyStatus(KubeModel):
    """The timer of a set that gets only part of its quota."""

    waiting_since: str | None = Field(
        default=None,
        description="Since when some role kind has no quota and the count of replicas with quota has not changed.",
        json_schema_extra={"format": "date-time"},
    )
    completed_at: str | None = Field(
        default=None,
        description="When every replica served for the first time.",
        json_schema_extra={"format": "date-time"},
    )


class ParkedSeats(KubeModel):
    """Parked replicas of one role."""

    role: str = Field(description="Name of the role.")
    seats: str = Field(max_length=8192, description="Replicas, as ranges: 0-3,7.")


class ParkedStatus(KubeModel):
    """What was deactivated and asks for no quota."""

    at: str = Field(description="When it was parked.", json_schema_extra={"format": "date-time"})
    message: str = Field(max_length=MAX_MESSAGE, description="Why.")
    resumed_at: str | None = Field(
        default=None, max_length=64, description="spec.resumedAt at that time; another value ends it."
    )
    seats: list[ParkedSeats] = listed(description="The replicas; absent where the whole set is parked.", maximum=10)


class ModelDeploymentStatus(KubeModel):
    """What was observed, in the order in which a person reads it."""

    observed_generation: int | None = Field(default=None, ge=0, description="Generation this status answers for.")
    phase: Phase | None = Field(default=None, description="Starting, Ready, Degraded or Deleting.")
    phase_message: str | None = Field(
        default=None, max_length=MAX_MESSAGE, description="Why; absent where there is nothing to say."
    )
    reason: str | None = Field(
        default=None,
        max_length=64,
        description="One word on why the phase is what it is: the reason of a condition or of admission.",
    )
    ready: str | None = Field(default=None, max_length=32, description="Ready of declared replicas, for example 2/3.")
    ready_replicas: int | None = Field(default=None, ge=0, description="Replicas that serve.")
    desired_replicas: int | None = Field(default=None, ge=0, description="Replicas declared.")
    role_summary: str | None = Field(
        default=None,
        max_length=64,
        description="Ready replicas by kind, for example 3P4D: S server, P prefill, D decode.",
    )
    endpoint: str | None = Field(
        default=None,
        max_length=512,
        description="Address of the deployment's Service; absent while it is not ours.",
    )
    admission: Admission | None = Field(default=None, description="How far the replicas have come.")
    roles: list[RoleStatus] = listed(description="Counts per role, in the spec's order.", maximum=10, keys=("name",))
    replicas: list[ReplicaStatus] = listed(description="The replicas that exist, at most 64.", maximum=64)
    replicas_omitted: int | None = Field(default=None, ge=1, description="Replicas beyond the 64 listed.")
    interruptions: list[Interruption] = listed(
        description="The last interruptions, oldest first; forgotten once a replica has served for ten minutes.",
        maximum=64,
    )
    assembly: AssemblyStatus | None = Field(default=None, description="The timer of a set that waits for quota.")
    parked: ParkedStatus | None = Field(default=None, description="What is parked; absent while nothing is.")
    workload_id: str | None = Field(
        default=None,
        alias="workloadID",
        max_length=253,
        description="Label hangar.dev/workload, or the own UID.",
    )
    cluster_id: str | None = Field(
        default=None,
        alias="clusterID",
        max_length=253,
        description="Setting HANGAR_CLUSTER_ID of the service.",
    )
    conditions: list[Condition] = Field(
        default_factory=list,
        max_length=32,
        description="Answers to one question each, always all of them but Reconciling and Stalled.",
        json_schema_extra=extras(map_keys=("type",)),
    )
