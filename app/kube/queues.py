"""Kueue's queues as observed: where a LocalQueue leads, and what a ClusterQueue has, gives away and lets be preempted.

Read in `v1beta1` and `v1beta2`. What a field of them means is said in Kueue's API types (`apis/kueue/v1beta2`).
"""

from dataclasses import dataclass
from fractions import Fraction

from app.kube import quantities
from app.kube.hook import JSON
from app.kube.pods import condition, mapping, maps, text

_RUNS = ("", "None")
_STOPPED = "Stopped"


@dataclass(frozen=True, slots=True)
class LocalQueueView:
    """One LocalQueue. `stopped` is its own stop policy; `inactive` is Kueue's (reason, message), or None."""

    name: str
    cluster_queue: str
    stopped: str
    inactive: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Quota:
    """What a ClusterQueue has of one resource in one flavor, in base units; `borrowing_limit` None is without limit.

    `used` is what is reserved; `spelling` an example of how this queue writes the resource.
    """

    flavor: str
    resource: str
    nominal: Fraction
    used: Fraction
    borrowed: Fraction
    borrowing_limit: Fraction | None
    spelling: str

    @property
    def free(self) -> Fraction:
        """What is left of the nominal quota; never negative."""
        return max(self.nominal - self.used, Fraction(0))


@dataclass(frozen=True, slots=True)
class ClusterQueueView:
    """One ClusterQueue.

    `within` and `reclaim` are its preemption policies (`Never` where none is stated), `pending` counts the Workloads
    that wait in it, None before Kueue has counted.
    """

    name: str
    cohort: str
    stopped: str
    inactive: tuple[str, str] | None
    within: str
    reclaim: str
    quotas: tuple[Quota, ...]
    pending: int | None


def local_queue(item: JSON) -> LocalQueueView:
    """Reads one LocalQueue."""
    spec = mapping(item.get("spec"))
    return LocalQueueView(
        name=text(mapping(item.get("metadata")).get("name")),
        cluster_queue=text(spec.get("clusterQueue")),
        stopped=_stopped(spec),
        inactive=_inactive(item),
    )


def cluster_queue(item: JSON) -> ClusterQueueView:
    """Reads one ClusterQueue. A quantity that cannot be read counts as none."""
    spec, status = mapping(item.get("spec")), mapping(item.get("status"))
    preemption, pending = mapping(spec.get("preemption")), status.get("pendingWorkloads")
    return ClusterQueueView(
        name=text(mapping(item.get("metadata")).get("name")),
        cohort=text(spec.get("cohortName")) or text(spec.get("cohort")),
        stopped=_stopped(spec),
        inactive=_inactive(item),
        within=text(preemption.get("withinClusterQueue")) or "Never",
        reclaim=text(preemption.get("reclaimWithinCohort")) or "Never",
        quotas=tuple(_quotas(spec, status)),
        pending=pending if isinstance(pending, int) else None,
    )


def _stopped(spec: JSON) -> str:
    policy = text(spec.get("stopPolicy"))
    return "" if policy in _RUNS else policy


def _inactive(item: JSON) -> tuple[str, str] | None:
    """Why Kueue takes nothing on here, but for a stop, which the stop policy says already."""
    active = condition(mapping(item.get("status")), "Active")
    reason = text(active.get("reason"))
    if active.get("status") != "False" or reason == _STOPPED:
        return None
    return reason, text(active.get("message"))


def _quotas(spec: JSON, status: JSON) -> list[Quota]:
    # Reserved quota is gone for a newcomer, whether or not its Workload is admitted yet.
    usage = maps(status.get("flavorsReservation")) or maps(status.get("flavorsUsage"))
    used = {
        (text(flavor.get("name")), text(resource.get("name"))): resource
        for flavor in usage
        for resource in maps(flavor.get("resources"))
    }
    return [
        _quota(text(flavor.get("name")), resource, used)
        for group in maps(spec.get("resourceGroups"))
        for flavor in maps(group.get("flavors"))
        for resource in maps(flavor.get("resources"))
    ]


def _quota(flavor: str, stated: JSON, used: dict[tuple[str, str], JSON]) -> Quota:
    resource, nominal, limit = text(stated.get("name")), stated.get("nominalQuota"), stated.get("borrowingLimit")
    in_use = used.get((flavor, resource), {})
    return Quota(
        flavor=flavor,
        resource=resource,
        nominal=amount(nominal),
        used=amount(in_use.get("total")),
        borrowed=amount(in_use.get("borrowed")),
        borrowing_limit=None if limit is None else amount(limit),
        spelling=str(nominal) if amount(nominal) else "1",
    )


def amount(quantity: object) -> Fraction:
    """A quantity in its base unit; nothing where there is none, or none that can be read."""
    if not isinstance(quantity, int | str):
        return Fraction(0)
    try:
        return quantities.parse(quantity)
    except ValueError:
        return Fraction(0)
