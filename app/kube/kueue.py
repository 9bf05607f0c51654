"""Kueue as Hangar meets it: the marks on a Pod, and a Workload's state read from its conditions.

Written against Kueue 0.16 to 0.20 (`v1beta1` and `v1beta2`). Reasons are read in both of Kueue's vocabularies; messages
are only shown, but for telling which of two names a wait gets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Literal

from app.kube import pods
from app.kube.hook import JSON
from app.kube.pods import condition, mapping, maps, text

PREFIX = "kueue.x-k8s.io/"
QUEUE = pods.QUEUE
MANAGED = f"{PREFIX}managed"
PRIORITY = f"{PREFIX}priority-class"
GROUP = f"{PREFIX}pod-group-name"
GROUP_SIZE = f"{PREFIX}pod-group-total-count"
RETRIABLE = f"{PREFIX}retriable-in-group"
SUSPENDING = f"{PREFIX}pod-suspending-parent"
TOPOLOGY = f"{PREFIX}podset-required-topology"
IS_GROUP = f"{PREFIX}is-group-workload"
ADMISSION_GATE = f"{PREFIX}admission"

# Conditions that Kueue puts on a Pod it takes away.
POD_TARGET = "TerminationTarget"
_POD_PREEMPTED = "WorkloadEvictedDueToPreempted"
_POD_DEACTIVATED = "WorkloadEvictedDueToDeactivated"


class Wait(Enum):
    """Why a Workload holds no quota."""

    PENDING = "Pending"
    QUOTA = "Quota"
    CAPACITY = "Capacity"
    QUEUE_MISSING = "QueueMissing"
    QUEUE_STOPPED = "QueueStopped"
    CHECKS = "Checks"


# Every reason that QuotaReserved=False carries in Kueue 0.16 to 0.20, in the old and in the granular vocabulary.
_WAITS: Mapping[str, Wait] = MappingProxyType(
    {
        "Pending": Wait.QUOTA,
        "Inadmissible": Wait.QUEUE_MISSING,
        "Waiting": Wait.PENDING,
        "OnHold": Wait.PENDING,
        "AdmissionGated": Wait.PENDING,
        "NoMatchingFlavor": Wait.CAPACITY,
        "WaitingForQuota": Wait.QUOTA,
        "ExceedsMaxQuota": Wait.QUOTA,
        "TopologyPlacementFailed": Wait.CAPACITY,
        "WaitingForPreemptedWorkloads": Wait.QUOTA,
        "Misconfigured": Wait.QUEUE_MISSING,
        "Suspended": Wait.QUEUE_STOPPED,
        "PendingEvaluation": Wait.PENDING,
        "WaitingForPodsReady": Wait.PENDING,
        "Deactivated": Wait.PENDING,
    }
)
KNOWN_REASONS = frozenset(_WAITS)


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """One Workload.

    `reserved` and `admitted` are Kueue's conditions; an evicted or inactive one counts as holding nothing new, and a
    finished one (its Pods have ended) as holding nothing, though its conditions stay.
    `parked`: deactivated. `preempted`: evicted for another Workload. `words` is Kueue's own sentence of why it waits.
    `flavors` maps each resource to the flavors assigned to it. `owners` are the UIDs of the Pods it stands for,
    `owner_names` their names.
    """

    name: str
    created_at: str
    is_group: bool
    owners: frozenset[str]
    owner_names: frozenset[str]
    reserved: bool
    admitted: bool
    parked: bool
    preempted: bool
    wait: Wait
    words: str
    cluster_queue: str
    flavors: Mapping[str, frozenset[str]]


def workload(item: JSON) -> WorkloadView:
    """Reads one Workload of either version."""
    metadata, status = mapping(item.get("metadata")), mapping(item.get("status"))
    owners = maps(metadata.get("ownerReferences"))
    evicted = condition(status, "Evicted")
    is_evicted = evicted.get("status") == "True"
    reserved = condition(status, "QuotaReserved")
    admission = mapping(status.get("admission"))
    parked = mapping(item.get("spec")).get("active") is False or (
        is_evicted and text(evicted.get("reason")).startswith("Deactivated")
    )
    preempted = condition(status, "Preempted").get("status") == "True" or (
        is_evicted and evicted.get("reason") == "Preempted"
    )
    finished = condition(status, "Finished")
    is_finished = finished.get("status") == "True"
    holds = reserved.get("status") == "True" and not parked and not is_finished
    admitted = holds and condition(status, "Admitted").get("status") == "True" and not is_evicted
    wait, words = _waits_for(status, reserved, holds)
    if is_finished:
        wait, words = Wait.PENDING, f"its Workload is finished ({text(finished.get('message'))})"
    return WorkloadView(
        name=text(metadata.get("name")),
        created_at=text(metadata.get("creationTimestamp")),
        is_group=mapping(metadata.get("annotations")).get(IS_GROUP) == "true",
        owners=frozenset(text(owner.get("uid")) for owner in owners),
        owner_names=frozenset(text(owner.get("name")) for owner in owners),
        reserved=holds,
        admitted=admitted,
        parked=parked,
        preempted=preempted and not admitted,
        wait=wait,
        words=text(evicted.get("message")) if parked and is_evicted else words,
        cluster_queue=text(admission.get("clusterQueue")),
        flavors={} if is_finished else _flavors(admission),
    )


def _waits_for(status: JSON, reserved: JSON, holds: bool) -> tuple[Wait, str]:
    if holds:
        waiting = [check for check in maps(status.get("admissionChecks")) if check.get("state") != "Ready"]
        words = "; ".join(f"{text(check.get('name'))}: {text(check.get('message'))}" for check in waiting)
        # Admitted, and the gates not off yet: a moment of Kueue's own.
        return Wait.CHECKS if waiting else Wait.PENDING, words
    words = text(reserved.get("message"))
    wait = _WAITS.get(text(reserved.get("reason")), Wait.PENDING)
    # The old vocabulary has one reason for a queue that is missing and for one that is stopped.
    if wait is Wait.QUEUE_MISSING and ("is inactive" in words or "is stopped" in words):
        wait = Wait.QUEUE_STOPPED
    # ... and one for quota and for a topology that does not fit.
    if wait is Wait.QUOTA and "topology" in words and "quota" not in words:
        wait = Wait.CAPACITY
    return wait, words


def _flavors(admission: JSON) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for assignment in maps(admission.get("podSetAssignments")):
        for resource, flavor in mapping(assignment.get("flavors")).items():
            found.setdefault(resource, set()).add(text(flavor))
    return {resource: frozenset(flavors) for resource, flavors in found.items()}


def gated(pod: JSON) -> bool:
    """Whether Kueue still keeps a Pod from being scheduled."""
    gates = maps(mapping(pod.get("spec")).get("schedulingGates"))
    return any(gate.get("name") == ADMISSION_GATE for gate in gates)


def queued(pod: JSON) -> bool:
    """Whether a Pod names a queue."""
    return QUEUE in mapping(mapping(pod.get("metadata")).get("labels"))


def taken_away(pod: JSON) -> tuple[Literal["Preempted", "Parked", "Evicted"], str] | None:
    """(`Preempted` | `Parked` | `Evicted`, Kueue's words) where Kueue takes a Pod away, else None."""
    target = condition(mapping(pod.get("status")), POD_TARGET)
    reason, words = text(target.get("reason")), text(target.get("message"))
    if target.get("status") != "True" or not reason.startswith("WorkloadEvictedDueTo"):
        return None
    if reason == _POD_PREEMPTED:
        return "Preempted", words
    return ("Parked" if reason.startswith(_POD_DEACTIVATED) else "Evicted"), words
