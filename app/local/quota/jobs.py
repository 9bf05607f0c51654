"""What Kueue does to the Pods of a Workload: it starts, stops and releases them."""

from collections.abc import Mapping, Sequence

from app.kube import kueue
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.events import EventRecorder
from app.local.podstatus import condition, with_condition
from app.local.quota import conditions, kinds
from app.local.quota.members import gated, suspended
from app.local.quota.placement import Leaf, read_placement
from app.local.quota.podsets import IN_USE, role_of
from app.local.quota.queues import Queues
from app.local.quota.topology import WORKLOAD_ANNOTATION
from app.local.quota.webhook import FINALIZER, TOPOLOGY_GATE
from app.local.store import Store
from app.local.values import finalizers, labels, listed, mapping, meta, name, namespace, terminating, uid

_GATES = frozenset({kueue.ADMISSION_GATE, TOPOLOGY_GATE})


class Jobs:
    """Kueue's hands on Pods and on the Workload that they belong to."""

    def __init__(self, store: Store, clock: Clock, queues: Queues, *, granular: bool) -> None:
        self.store = store
        self.clock = clock
        self.queues = queues
        self.events = EventRecorder(clock, store, "pod-kueue-controller")
        self._pods = store.discovery.kind("v1", "Pod")
        self._granular = granular

    def create(self, pod: JSON, workload: JSON) -> None:
        """Makes the Workload of a Pod or group."""
        self.store.create(workload, manager=kinds.MANAGER)
        self.events.note(pod, "CreatedWorkload", f"Created Workload: {namespace(workload)}/{name(workload)}")

    def priority(self, pod: JSON) -> Mapping[str, object] | None:
        """What a Workload says of its priority; None while the class that the Pod names does not exist."""
        title = labels(pod).get(kueue.PRIORITY)
        if not title:
            return {"priority": int(mapping(pod.get("spec")).get("priority", 0))}
        value = self.queues.priority(title)
        if value is None:
            return None
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": title}
        return {"priority": value, "priorityClassRef": reference}

    def start(self, pods: Sequence[JSON], workload: JSON, role: str = "") -> None:
        """Takes the gates off the Pods that still have them, with what their flavors and places ask for.

        `role` is the Pod set of a single Pod; members of a group say theirs.
        """
        admission = workload["status"]["admission"]
        sets = {one["name"]: one for one in admission["podSetAssignments"]}
        places = read_placement(admission)
        for pod in pods:
            mine = role or role_of(pod)
            if gated(pod) and not terminating(pod) and mine in sets:
                peers = [one for one in pods if role or role_of(one) == mine]
                self._ungate(pod, workload, sets[mine], _free(places[mine], peers) if mine in places else {})

    def _ungate(self, pod: JSON, workload: JSON, assigned: JSON, place: Mapping[str, str]) -> None:
        spec = pod["spec"]
        flavors = [self.queues.flavor(title) for title in dict.fromkeys(assigned["flavors"].values())]
        selector = {**mapping(spec.get("nodeSelector")), **place}
        tolerations = listed(spec.get("tolerations"))
        for flavor in flavors:
            if flavor is not None:
                selector |= flavor.node_labels
                tolerations = [*tolerations, *(one for one in flavor.tolerations if one not in tolerations)]
        spec["tolerations"] = tolerations
        if selector:
            spec["nodeSelector"] = selector
        spec["schedulingGates"] = [one for one in spec["schedulingGates"] if one.get("name") not in _GATES]
        queue = workload["status"]["admission"]["clusterQueue"]
        pod["metadata"]["labels"] = {
            **labels(pod),
            f"{kueue.PREFIX}cluster-queue-name": queue,
            f"{kueue.PREFIX}local-queue-name": workload["spec"]["queueName"],
            f"{kueue.PREFIX}podset": assigned["name"],
        }
        annotations = mapping(meta(pod).get("annotations"))
        pod["metadata"]["annotations"] = {**annotations, WORKLOAD_ANNOTATION: name(workload)}
        self.store.update(pod, manager=kinds.MANAGER)
        self.events.note(pod, "Started", f"Admitted by clusterQueue {queue}")

    def stop(self, pods: Sequence[JSON], reason: str, words: str, *, even_suspended: bool = False) -> None:
        """Deletes the Pods that have something to stop, and says why in their status first."""
        for pod in pods:
            if terminating(pod) or (suspended(pod) and not even_suspended):
                continue
            status = with_condition(mapping(pod.get("status")), self.clock.now(), kueue.POD_TARGET, True, reason, words)
            self.store.update_status({**pod, "status": status}, manager=kinds.MANAGER)
            self.store.delete(self._pods, namespace(pod), name(pod), uid_is=uid(pod))
            self.events.note(pod, "Stopped", words)

    def stop_evicted(self, pods: Sequence[JSON], workload: JSON) -> None:
        """Stops the Pods of an evicted Workload."""
        reason, words = conditions.words(workload, "Evicted")
        self.stop(pods, f"WorkloadEvictedDueTo{reason}", words)

    def release(self, workload: JSON, *, requeue: bool) -> None:
        """Takes the reservation of an evicted Workload whose Pods run no more."""
        reason, words = conditions.words(workload, "Evicted")
        now = self.clock.now()
        conditions.put(workload, now, "Requeued", requeue and reason in {"Preempted", "NodeFailures"}, reason, words)
        conditions.unreserve(workload, now, "PendingEvaluation" if self._granular else "Pending", words)
        self.store.update_status(workload, manager=kinds.MANAGER)

    def finish(self, workload: JSON, reason: str, words: str) -> None:
        """Marks a Workload as finished: from then on it holds nothing."""
        if not conditions.is_true(workload, "Finished"):
            conditions.put(workload, self.clock.now(), "Finished", True, reason, words)
            self.store.update_status(workload, manager=kinds.MANAGER)

    def tell_readiness(self, workload: JSON, *, ready: bool) -> bool:
        """Writes PodsReady where it says something else than before, and says whether it did."""
        before = condition(workload, "PodsReady")
        lost = {"WaitForRecovery", "Recovered"}
        if not conditions.is_true(workload, "Admitted"):
            said = (False, "WaitForStart", "Not all pods are ready or succeeded")
        elif ready:
            reason = "Recovered" if before.get("reason") in lost else "Started"
            said = (True, reason, "All pods reached readiness and the workload is running")
        elif before.get("status") == "True" or before.get("reason") in lost:
            said = (False, "WaitForRecovery", "At least one pod has failed, waiting for recovery")
        else:
            said = (False, "WaitForStart", "Not all pods are ready or succeeded")
        if (before.get("status") == "True", before.get("reason")) == said[:2]:
            return False
        if ready and before.get("status") == "True":
            return False
        conditions.put(workload, self.clock.now(), "PodsReady", *said)
        self.store.update_status(workload, manager=kinds.MANAGER)
        return True

    def let_go(self, workload: JSON) -> None:
        """Takes Kueue's finalizer off a Workload."""
        if IN_USE in finalizers(workload):
            self._without(workload, IN_USE)

    def free(self, pods: Sequence[JSON]) -> None:
        """Takes Kueue's finalizer off Pods; ours have none."""
        for pod in pods:
            if FINALIZER in finalizers(pod):
                self._without(pod, FINALIZER)

    def _without(self, obj: JSON, finalizer: str) -> None:
        current = self.store.get(self.store.discovery.of(obj), namespace(obj), name(obj))
        left = [one for one in finalizers(current) if one != finalizer]
        current["metadata"].pop("finalizers")
        self.store.update(
            current if not left else {**current, "metadata": {**current["metadata"], "finalizers": left}},
            manager=kinds.MANAGER,
        )


def _free(places: Mapping[Leaf, int], pods: Sequence[JSON]) -> Mapping[str, str]:
    """The first place of a set that is not taken by another of its Pods."""
    for leaf, count in places.items():
        wanted = dict(leaf)
        taken = sum(
            not gated(pod) and wanted.items() <= mapping(mapping(pod.get("spec")).get("nodeSelector")).items()
            for pod in pods
        )
        if taken < count:
            return wanted
    return {}
