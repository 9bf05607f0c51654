"""Who holds quota and who asks for it: Kueue's cache of Workloads, kept by watching them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from app.kube import quantities
from app.kube.hook import JSON
from app.local.quota import conditions
from app.local.quota.kinds import WORKLOAD
from app.local.quota.placement import Placement, read_placement
from app.local.quota.podsets import PodSet, pod_sets
from app.local.quota.queues import Cell
from app.local.table import Change, Table
from app.local.values import listed, mapping, name, namespace, terminating, uid

Usage = Mapping[Cell, Fraction]


@dataclass(frozen=True, slots=True)
class Holding:
    """What a Workload holds: of which ClusterQueue, how much of which flavor, since when, and on which nodes."""

    queue: str
    usage: Usage
    since: str
    admitted: bool
    placement: Placement = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A Workload as the scheduler knows it. `serial` tells their age: the order in which they were made.

    `asks` says that it may be given quota: it is active and whole, and neither finished nor on its way out.
    """

    space: str
    name: str
    uid: str
    serial: int
    queue: str
    priority: int
    sets: tuple[PodSet, ...]
    asks: bool
    evicted: bool
    holding: Holding | None

    @property
    def order(self) -> tuple[int, int]:
        """Sorts the ones that come first to the front: by priority, then by age."""
        return -self.priority, self.serial


# Told of each change: the entry as it was, and as it is. None where there was, or is, none.
OnEntry = Callable[[Entry | None, Entry | None], None]


class Ledger:
    """All Workloads by UID."""

    def __init__(self, table: Table) -> None:
        self.entries: dict[str, Entry] = {}
        self._serial = 0
        self._listeners: list[OnEntry] = []
        table.watch(self._on_change)

    def listen(self, listener: OnEntry) -> None:
        """Calls `listener` with each change of an entry from now on."""
        self._listeners.append(listener)

    def holders(self, queue: str) -> list[Entry]:
        """The Workloads that hold quota of a ClusterQueue, oldest first."""
        return [one for one in self.entries.values() if one.holding is not None and one.holding.queue == queue]

    def used(self, queue: str) -> dict[Cell, Fraction]:
        """What is taken of a ClusterQueue's quota."""
        return total(one.holding.usage for one in self.holders(queue) if one.holding)

    def placements(self) -> list[tuple[Placement, Entry]]:
        """Where the Workloads with a topology have their places."""
        return [(one.holding.placement, one) for one in self.entries.values() if one.holding and one.holding.placement]

    def _on_change(self, change: Change) -> None:
        if change.resource.key != WORKLOAD.key:
            return
        old = self.entries.get(uid(change.new))
        if change.type == "DELETED":
            self.entries.pop(uid(change.new), None)
            new = None
        else:
            new = self.entries[uid(change.new)] = self._entry(change.new, old)
        if old != new:
            for listener in self._listeners:
                listener(old, new)

    def _entry(self, obj: JSON, old: Entry | None) -> Entry:
        if old is None:
            self._serial += 1
        finished = conditions.is_true(obj, "Finished")
        holds = conditions.reserved(obj) and not finished
        asks = conditions.active(obj) and not (
            holds or finished or terminating(obj) or conditions.is_true(obj, "WaitingForReplacementPods")
        )
        return Entry(
            space=namespace(obj),
            name=name(obj),
            uid=uid(obj),
            serial=old.serial if old else self._serial,
            queue=str(obj["spec"].get("queueName", "")),
            priority=int(obj["spec"].get("priority", 0)),
            sets=old.sets if old else pod_sets(obj),
            asks=asks,
            evicted=conditions.is_true(obj, "Evicted"),
            holding=_holding(obj) if holds else None,
        )


def _holding(obj: JSON) -> Holding:
    admission = mapping(mapping(obj.get("status")).get("admission"))
    usage: dict[Cell, Fraction] = {}
    for one in listed(admission.get("podSetAssignments")):
        for resource, flavor in mapping(one.get("flavors")).items():
            amount = quantities.parse(one["resourceUsage"][resource])
            usage[flavor, resource] = usage.get((flavor, resource), Fraction(0)) + amount
    since = next(one for one in obj["status"]["conditions"] if one["type"] == "QuotaReserved")["lastTransitionTime"]
    return Holding(
        queue=str(admission.get("clusterQueue", "")),
        usage=usage,
        since=str(since),
        admitted=conditions.is_true(obj, "Admitted"),
        placement=read_placement(admission),
    )


def total(usages: Iterable[Usage]) -> dict[Cell, Fraction]:
    """The sum of several usages."""
    found: dict[Cell, Fraction] = {}
    for usage in usages:
        for cell, amount in usage.items():
            found[cell] = found.get(cell, Fraction(0)) + amount
    return found
