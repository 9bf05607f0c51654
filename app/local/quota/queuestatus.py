"""The status of ClusterQueues and LocalQueues: whether they are active, and what is used of them a second ago."""

from collections.abc import Iterable
from fractions import Fraction

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.quota import conditions, kinds
from app.local.quota.amounts import spelled
from app.local.quota.ledger import Entry, Ledger, total
from app.local.quota.queues import Cell, ClusterQueue, Queues
from app.local.store import Store
from app.local.table import Change
from app.local.values import name, namespace

# From a change of a queue to its condition, and from an admission to the usage that shows it.
DELAY = 0.05
USAGE_SECONDS = 1.0


class QueueStatus:
    """Watches queues and the ledger, and writes both kinds of status."""

    def __init__(self, store: Store, clock: Clock, queues: Queues, ledger: Ledger) -> None:
        self._store = store
        self._clock = clock
        self._queues = queues
        self._ledger = ledger
        self._due = self._usage_due = False
        ledger.listen(self._on_entry)
        store.watch(self._on_change)

    def _on_entry(self, _: Entry | None, __: Entry | None) -> None:
        if not self._usage_due:
            self._usage_due = True
            self._clock.after(USAGE_SECONDS, self._write_usage)

    def _on_change(self, change: Change) -> None:
        if kinds.concerns_queues(change) and not self._due:
            self._due = True
            self._clock.after(DELAY, self._write_all)

    def _write_usage(self) -> None:
        self._usage_due = False
        self._write(with_usage=True)

    def _write_all(self) -> None:
        self._due = False
        self._write(with_usage=False)

    def _write(self, *, with_usage: bool) -> None:
        for obj in self._store.all_of(kinds.CLUSTER_QUEUE):
            queue = self._queues.cluster_queue(name(obj))
            if queue is not None:
                self._write_cluster_queue(obj, queue, with_usage=with_usage or "pendingWorkloads" not in _status(obj))
        for obj in self._store.all_of(kinds.LOCAL_QUEUE):
            self._write_local_queue(obj, with_usage=with_usage or "pendingWorkloads" not in _status(obj))

    def _write_cluster_queue(self, obj: JSON, queue: ClusterQueue, *, with_usage: bool) -> None:
        inactive = self._queues.inactive(queue)
        words = (inactive.reason, inactive.words) if inactive else ("Ready", "Can admit new workloads")
        conditions.put(obj, self._clock.now(), "Active", inactive is None, *words)
        if with_usage:
            asking = [one for one in self._ledger.entries.values() if one.asks and self._queue_of(one) == queue.name]
            obj["status"] |= _numbers(queue, self._ledger.holders(queue.name), len(asking), {"borrowed": "0"})
        self._store.update_status(obj, manager=kinds.MANAGER)

    def _write_local_queue(self, obj: JSON, *, with_usage: bool) -> None:
        local = self._queues.local_queue(namespace(obj), name(obj))
        queue = self._queues.cluster_queue(local.cluster_queue) if local else None
        if local is None:
            return
        if local.stop != "None":
            words = ("Stopped", "LocalQueue is stopped")
        elif queue is None:
            words = ("ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
        elif self._queues.inactive(queue) is not None:
            words = ("ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
        else:
            words = ("Ready", "Can submit new workloads to localQueue")
        conditions.put(obj, self._clock.now(), "Active", words[0] == "Ready", *words)
        if with_usage and queue is not None:
            mine = [
                one for one in self._ledger.entries.values() if (one.space, one.queue) == (namespace(obj), name(obj))
            ]
            holders = [one for one in mine if one.holding is not None]
            obj["status"] |= _numbers(queue, holders, sum(one.asks for one in mine), {})
        self._store.update_status(obj, manager=kinds.MANAGER)

    def _queue_of(self, entry: Entry) -> str:
        local = self._queues.local_queue(entry.space, entry.queue)
        return local.cluster_queue if local else ""


def _status(obj: JSON) -> JSON:
    found: JSON = obj.setdefault("status", {})
    return found


def _numbers(queue: ClusterQueue, holders: Iterable[Entry], pending: int, more: JSON) -> JSON:
    holdings = [one.holding for one in holders if one.holding]
    admitted = [one for one in holdings if one.admitted]
    return {
        "pendingWorkloads": pending,
        "reservingWorkloads": len(holdings),
        "admittedWorkloads": len(admitted),
        "flavorsReservation": _usage(queue, total(one.usage for one in holdings), more),
        "flavorsUsage": _usage(queue, total(one.usage for one in admitted), more),
    }


def _usage(queue: ClusterQueue, used: dict[Cell, Fraction], more: JSON) -> list[JSON]:
    return [
        {
            "name": flavor,
            "resources": [
                {"name": resource, "total": spelled(resource, used.get((flavor, resource), Fraction(0))), **more}
                for covered, resource in queue.quota
                if covered == flavor
            ],
        }
        for flavor in queue.flavors
    ]
