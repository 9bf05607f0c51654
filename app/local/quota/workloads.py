"""What Kueue does to a Workload by itself: verdicts on its queue, deactivation, stopped queues, lost patience."""

from datetime import timedelta

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.events import EventRecorder
from app.local.podstatus import condition
from app.local.quota import conditions, kinds
from app.local.quota.options import KueueOptions
from app.local.quota.queues import Queues
from app.local.store import Store
from app.local.table import Change
from app.local.values import name, namespace, terminating

# From a change to this controller's look at it.
DELAY = 0.02
_DEACTIVATED = "The workload is deactivated"
_BLOCKED = frozenset({"Inadmissible", "Misconfigured", "Suspended"})
Place = tuple[str, str]


class WorkloadController:
    """Watches Workloads and what their queues are made of."""

    def __init__(self, store: Store, clock: Clock, queues: Queues, options: KueueOptions) -> None:
        self._store = store
        self._clock = clock
        self._queues = queues
        self._granular = options.granular
        self._patience = options.pods_ready_seconds
        self._events = EventRecorder(clock, store, "workload-controller")
        self._due: set[Place] = set()
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == kinds.WORKLOAD.key and change.type != "DELETED":
            self._look_later((namespace(change.new), name(change.new)))
        elif kinds.concerns_queues(change):
            for space, title, _, _ in self._store.versions(kinds.WORKLOAD):
                self._look_later((space, title))

    def _look_later(self, place: Place) -> None:
        if place not in self._due:
            self._due.add(place)
            self._clock.after(DELAY, lambda: self._look(place))

    def _look(self, place: Place) -> None:
        self._due.discard(place)
        workload = self._store.find(kinds.WORKLOAD, *place)
        if workload is None or terminating(workload) or conditions.is_true(workload, "Finished"):
            return
        if not conditions.active(workload):
            self._deactivate(workload)
        elif conditions.words(workload, "Requeued")[0] == "Deactivated":
            self._put(workload, "Requeued", True, "Reactivated", "The workload was reactivated")
        elif conditions.reserved(workload):
            self._drain(workload)
        else:
            self._judge(workload)

    def _deactivate(self, workload: JSON) -> None:
        if not conditions.is_true(workload, "Evicted"):
            self._evict(workload, "Deactivated", _DEACTIVATED)
        elif self._granular and not conditions.reserved(workload):
            self._unreserve(workload, "Deactivated", _DEACTIVATED)

    def _drain(self, workload: JSON) -> None:
        """Evicts a Workload whose queue is to be emptied, or that has tried Kueue's patience."""
        if conditions.is_true(workload, "Evicted"):
            return
        local = self._queues.local_queue(namespace(workload), workload["spec"]["queueName"])
        queue = self._queues.cluster_queue(workload["status"]["admission"]["clusterQueue"])
        if local is not None and local.stop == "HoldAndDrain":
            self._evict(workload, "LocalQueueStopped", "The LocalQueue is stopped")
        elif queue is not None and queue.stop == "HoldAndDrain":
            self._evict(workload, "ClusterQueueStopped", "The ClusterQueue is stopped")
        elif self._patience is not None:
            self._await_pods(workload, self._patience)

    def _await_pods(self, workload: JSON, patience: float) -> None:
        """Evicts a Workload that has not become ready in time, or not again after it lost a Pod."""
        ready = condition(workload, "PodsReady")
        kind = "PodsReady" if ready.get("reason") == "WaitForRecovery" else "Admitted"
        since = times.parse(condition(workload, kind).get("lastTransitionTime"))
        if ready.get("status") != "False" or since is None or not conditions.is_true(workload, "Admitted"):
            return
        left = (since + timedelta(seconds=patience) - self._clock.now()).total_seconds()
        if left > 0:
            place = (namespace(workload), name(workload))
            self._clock.after(left, lambda: self._look(place))
        else:
            words = f"Exceeded the PodsReady timeout {namespace(workload)}/{name(workload)}"
            self._evict(workload, "PodsReadyTimeout", words)

    def _judge(self, workload: JSON) -> None:
        """Says why the queue of a Workload cannot take it, and takes that back when it can."""
        blocker = self._queues.blocker(namespace(workload), workload["spec"]["queueName"])
        if blocker is not None:
            self._unreserve(workload, blocker.reason if self._granular else "Inadmissible", blocker.words)
        elif self._granular and conditions.words(workload, "QuotaReserved")[0] in {*_BLOCKED, "Deactivated"}:
            self._unreserve(workload, "PendingEvaluation", "Workload is pending evaluation in the scheduling queue")

    def _put(self, workload: JSON, kind: str, value: bool, reason: str, words: str) -> None:
        conditions.put(workload, self._clock.now(), kind, value, reason, words)
        self._store.update_status(workload, manager=kinds.MANAGER)

    def _unreserve(self, workload: JSON, reason: str, words: str) -> None:
        conditions.unreserve(workload, self._clock.now(), reason, words)
        self._store.update_status(workload, manager=kinds.MANAGER)

    def _evict(self, workload: JSON, reason: str, words: str) -> None:
        """Marks a Workload as evicted; whoever has its Pods stops them. One that held nothing is told nothing."""
        conditions.evict(workload, self._clock.now(), reason, words)
        self._store.update_status(workload, manager=kinds.MANAGER)
        if conditions.reserved(workload):
            self._events.note(workload, f"EvictedDueTo{reason}", words)
