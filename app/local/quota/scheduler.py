"""Kueue's scheduler: who is given quota next, whom that displaces, and what those who wait are told.

By priority, then by age. Who does not fit is set aside until quota of its ClusterQueue is given back, or something
about the queue changes, and then looked at in a batch a second later. Who comes in that second may pass those who were
set aside. Who waits for others to go, or is the first of a strict queue, keeps its place in front, and is looked at as
soon as quota comes back.
"""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.events import EventRecorder
from app.local.quota import conditions, kinds
from app.local.quota.admission import admission, place
from app.local.quota.assignment import Assigner
from app.local.quota.ledger import Entry, Ledger
from app.local.quota.options import KueueOptions
from app.local.quota.podsets import JOB_UID
from app.local.quota.preemption import could_free, targets
from app.local.quota.queues import ClusterQueue, Queues
from app.local.quota.topology import Topologies
from app.local.quota.verdict import Mode
from app.local.store import Store
from app.local.table import Change
from app.local.values import labels, uid

# From a change to the scheduler's look at it, and from freed quota to the look at those who were set aside.
DELAY = 0.03
BATCH_SECONDS = 1.0
# One look at one ClusterQueue.
_CYCLE = 0.005
_WAKING = frozenset({"Namespace.v1", "Node.v1"})
_SET_ASIDE, _IN_FRONT = "set aside", "in front"


class Scheduler:
    """Watches the ledger and reserves quota."""

    def __init__(self, store: Store, clock: Clock, queues: Queues, ledger: Ledger, options: KueueOptions) -> None:
        self._store = store
        self._clock = clock
        self._queues = queues
        self._ledger = ledger
        self._options = options
        self._topologies = Topologies(store, queues, ledger)
        self._events = EventRecorder(clock, store, "kueue-admission")
        # By UID, why a Workload is not looked at now.
        self._aside: dict[str, str] = {}
        self._due = self._batch_due = False
        ledger.listen(self._on_entry)
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if kinds.concerns_queues(change) or change.resource.key in _WAKING:
            self._look_in_a_batch()

    def _on_entry(self, old: Entry | None, new: Entry | None) -> None:
        if old and old.holding and not (new and new.holding):
            self._released()
        if old and not (new and new.asks):
            self._aside.pop(old.uid, None)
            self._look_in_a_batch()
        if new is None or not new.asks:
            return
        if old is None or not old.asks or (old.queue, old.priority) != (new.queue, new.priority):
            self._aside.pop(new.uid, None)
            self._look_soon()

    def _released(self) -> None:
        """Quota came back: those who wait for it in front are looked at now, the others in a batch."""
        self._aside = {key: why for key, why in self._aside.items() if why != _IN_FRONT}
        self._look_soon()
        self._look_in_a_batch()

    def _look_soon(self, delay: float = DELAY) -> None:
        if not self._due:
            self._due = True
            self._clock.after(delay, self._cycle)

    def _look_in_a_batch(self) -> None:
        if not self._batch_due:
            self._batch_due = True
            self._clock.after(BATCH_SECONDS, self._batch)

    def _batch(self) -> None:
        self._batch_due = False
        self._aside.clear()
        self._cycle()

    def _cycle(self) -> None:
        """Looks at the first of each ClusterQueue, and comes back while any of them has another."""
        self._due = False
        heads = [(queue, head) for queue in self._queues.cluster_queues() if (head := self._head(queue))]
        for queue, head in heads:
            self._consider(queue, head)
        if heads:
            self._look_soon(_CYCLE)

    def _head(self, queue: ClusterQueue) -> Entry | None:
        for entry in sorted(self._asking(queue), key=lambda one: one.order):
            why = self._aside.get(entry.uid)
            if why is None:
                return entry
            if why == _IN_FRONT:
                return None
        return None

    def _asking(self, queue: ClusterQueue) -> list[Entry]:
        asking = [one for one in self._ledger.entries.values() if one.asks]
        open_to = {
            place: self._leads_to(queue, *place) for place in dict.fromkeys((one.space, one.queue) for one in asking)
        }
        return [one for one in asking if open_to[one.space, one.queue]]

    def _leads_to(self, queue: ClusterQueue, space: str, title: str) -> bool:
        local = self._queues.local_queue(space, title)
        return local is not None and local.cluster_queue == queue.name and self._queues.blocker(space, title) is None

    def _consider(self, queue: ClusterQueue, entry: Entry) -> None:
        workload = self._store.find(kinds.WORKLOAD, entry.space, entry.name)
        if workload is None or uid(workload) != entry.uid:
            return
        if not self._queues.admits(queue, entry.space):
            self._refuse(workload, "Misconfigured", "workload namespace doesn't match ClusterQueue selector")
            return
        holders = self._ledger.holders(queue.name)
        assigner = Assigner(
            queue,
            self._queues,
            self._ledger.used(queue.name),
            lambda cell, amount: could_free(entry, queue, holders, cell, amount),
        )
        found = assigner.assign(entry.sets)
        places = place(self._topologies, self._queues, entry.sets, found) if found.mode is Mode.FIT else {}
        if found.mode is Mode.FIT:
            self._admit(workload, admission(queue.name, entry.sets, found, places))
            return
        victims = targets(entry, queue, holders, found.usage, found.short) if found.mode is Mode.PREEMPT else []
        if not victims:
            self._refuse(workload, found.severity.name, found.words, _IN_FRONT if queue.strict else _SET_ASIDE)
            return
        for victim in victims:
            self._preempt(workload, victim, queue)
        words = f"{found.words}. Pending the preemption of {len(victims)} workload(s)"
        self._refuse(workload, "WaitingForPreemptedWorkloads", words, _IN_FRONT)

    def _admit(self, workload: JSON, given: JSON) -> None:
        queue = given["clusterQueue"]
        conditions.reserve(workload, self._clock.now(), given)
        self._store.update_status(workload, manager=kinds.ADMISSION)
        self._events.note(workload, "QuotaReserved", f"Quota reserved in ClusterQueue {queue}")
        self._events.note(workload, "Admitted", f"Admitted by ClusterQueue {queue}")

    def _refuse(self, workload: JSON, reason: str, words: str, why: str = _SET_ASIDE) -> None:
        self._aside[uid(workload)] = why
        before = conditions.words(workload, "QuotaReserved")
        reason = reason if self._options.granular else "Pending"
        conditions.unreserve(workload, self._clock.now(), reason, words)
        self._store.update_status(workload, manager=kinds.ADMISSION)
        if before != (reason, words):
            self._events.warn(workload, reason, words)

    def _preempt(self, preemptor: JSON, victim: Entry, queue: ClusterQueue) -> None:
        workload = self._store.find(kinds.WORKLOAD, victim.space, victim.name)
        if workload is None or uid(workload) != victim.uid or victim.evicted:
            return
        job = labels(preemptor).get(JOB_UID, "UNKNOWN")
        words = (
            f"Preempted to accommodate a workload (UID: {uid(preemptor)}, JobUID: {job}) due to prioritization in the "
            f"ClusterQueue; preemptor path: /{queue.name}; preemptee path: /{queue.name}"
        )
        now = self._clock.now()
        conditions.evict(workload, now, "Preempted", words)
        conditions.put(workload, now, "Preempted", True, "InClusterQueue", words)
        self._store.update_status(workload, manager=kinds.ADMISSION)
        self._events.note(workload, "Preempted", words)
