"""The Pods of a group: which count, which are too many, which are missing. Pure functions over what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.kube import kueue, times
from app.kube.hook import JSON
from app.local.podstatus import ENDED, condition
from app.local.quota.podsets import PodSet, role_of
from app.local.scheduler import node_of
from app.local.values import listed, mapping, meta, name, terminating


def phase(pod: JSON) -> str:
    """The phase of a Pod."""
    return str(mapping(pod.get("status")).get("phase", ""))


def gated(pod: JSON) -> bool:
    """Whether Kueue keeps the Pod from being scheduled."""
    gates = listed(mapping(pod.get("spec")).get("schedulingGates"))
    return any(gate.get("name") == kueue.ADMISSION_GATE for gate in gates)


def suspended(pod: JSON) -> bool:
    """Whether there is nothing to stop: it has not begun, or has ended."""
    return gated(pod) or phase(pod) in ENDED


def runnable(pod: JSON) -> bool:
    """Whether a Pod counts for its group: one that drains on its node does, one that goes without having run not."""
    return phase(pod) != "Failed" and not (terminating(pod) and not node_of(pod))


def ready(pod: JSON) -> bool:
    """Whether a Pod is Ready."""
    return condition(pod, "Ready").get("status") == "True"


def overdue_at(pod: JSON) -> datetime | None:
    """When a Pod that is to go counts as stuck, and no longer as running: a grace after its end."""
    end = times.parse(meta(pod).get("deletionTimestamp"))
    return None if end is None else end + timedelta(seconds=meta(pod).get("deletionGracePeriodSeconds", 0))


def running(pod: JSON, now: datetime) -> bool:
    """Whether a Pod runs, and so keeps the quota of its group; a stuck one does not."""
    end = overdue_at(pod)
    return phase(pod) == "Running" and (end is None or now <= end)


def retriable(pod: JSON) -> bool:
    """Whether the Pod allows its group to be tried again after all have ended."""
    return mapping(meta(pod).get("annotations")).get(kueue.RETRIABLE) != "false"


def oldest_first(pods: Sequence[JSON]) -> list[JSON]:
    """Pods in the order in which they are kept: those with a finalizer, those that are not gated, the older ones."""
    return sorted(pods, key=lambda pod: (not listed(meta(pod).get("finalizers")), gated(pod), *born(pod)))


def born(pod: JSON) -> tuple[str, str]:
    """Sorts Pods by age, and by name within a second."""
    return str(meta(pod).get("creationTimestamp", "")), name(pod)


@dataclass(frozen=True, slots=True)
class Matched:
    """The Pods of a group held against the Pod sets of its Workload.

    `kept` belong to it; `excess` of them are too many and go; `replaced` have ended and have a successor; `absent`
    counts the members that are missing or will be. A Pod of a role that the Workload does not know is nowhere in here.
    """

    kept: list[JSON]
    excess: list[JSON]
    replaced: list[JSON]
    absent: int


def match(pods: Sequence[JSON], sets: Sequence[PodSet]) -> Matched:
    """Holds the Pods of a group against its Workload."""
    kept: list[JSON] = []
    excess: list[JSON] = []
    replaced: list[JSON] = []
    absent = 0
    for one in sets:
        mine = [pod for pod in pods if role_of(pod) == one.name]
        counting = oldest_first([pod for pod in mine if runnable(pod)])
        gone = sorted((pod for pod in mine if not runnable(pod)), key=born)
        excess += counting[one.count :]
        kept += counting[: one.count]
        spare = max(0, len(mine) - one.count)
        replaced += gone[:spare]
        kept += gone[spare:]
        absent += max(0, one.count - sum(not terminating(pod) for pod in counting))
    return Matched(sorted(kept, key=born), excess, replaced, absent)
