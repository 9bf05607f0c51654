"""The kubelets of all nodes: they run the Pods that are bound to them, drain those that are to go, and go down.

An engine answers its probes once its model is loaded; a container without probes is ready once its process runs.
"""

from functools import partial

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.containers import Node
from app.local.durations import Durations
from app.local.events import EventRecorder
from app.local.faults import Ending, Faults, Pods
from app.local.images import Images
from app.local.podruns import PodRun
from app.local.podstatus import ENDED, Words
from app.local.scheduler import node_of
from app.local.store import Store
from app.local.table import Change
from app.local.values import mapping, meta, name, namespace, terminating, uid

# How long a kubelet takes to see that a Pod without processes is to go.
_SEEN = 0.5


class Kubelet:
    """Watches bound Pods and runs them."""

    def __init__(self, store: Store, clock: Clock, durations: Durations, faults: Faults) -> None:
        self._store = store
        self._clock = clock
        self._durations = durations
        self._faults = faults
        self._events = EventRecorder(clock, store, "kubelet")
        self._images = Images(clock, durations)
        self._pods = store.discovery.kind("v1", "Pod")
        self._runs: dict[str, PodRun] = {}
        self._down: set[str] = set()
        self._addresses = 0
        self._hosts: dict[str, str] = {}
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        pod = change.new
        if change.resource.key != self._pods.key or not node_of(pod):
            return
        if change.type == "DELETED":
            run = self._runs.pop(uid(pod), None)
            if run is not None:
                run.leave()
        elif node_of(pod) not in self._down:
            self._look(pod, change.old or {})

    def _look(self, pod: JSON, before: JSON) -> None:
        if terminating(pod):
            if not terminating(before):
                self._clock.after(self._drain_seconds(pod), lambda: self._remove(pod))
        elif uid(pod) not in self._runs and mapping(pod.get("status")).get("phase") not in ENDED:
            node = Node(node_of(pod), self._clock, self._durations, self._faults, self._images, self._events)
            run = self._runs[uid(pod)] = PodRun(self._store, node, pod, self._host(node.name), self._address)
            run.later(0, run.take, lambda: True)

    def _host(self, node: str) -> str:
        return self._hosts.setdefault(node, f"10.0.{len(self._hosts) // 240}.{len(self._hosts) % 240 + 10}")

    def _address(self) -> str:
        self._addresses += 1
        return f"10.244.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"

    # The end of a Pod

    def _drain_seconds(self, pod: JSON) -> float:
        run = self._runs.get(uid(pod))
        drain = self._durations.longer(uid(pod), "drain", self._durations.drain)
        seconds = drain if run is not None and run.running else _SEEN
        return min(seconds, float(meta(pod).get("deletionGracePeriodSeconds", 0)))

    def _remove(self, pod: JSON) -> None:
        found = self._store.find(self._pods, namespace(pod), name(pod))
        if found is not None and uid(found) == uid(pod) and node_of(pod) not in self._down:
            self._store.delete(self._pods, namespace(pod), name(pod), grace=0)

    # What can happen to a node

    def stop(self, node: str) -> None:
        """The machine goes down with all that runs on it, and answers nobody."""
        self._down.add(node)
        for run in self._runs.values():
            if run.node.name == node:
                run.freeze()

    def boot(self, node: str) -> None:
        """The machine comes up again: its Pods start anew, those that are to go are gone."""
        self._down.discard(node)
        for pod in self._store.all_of(self._pods):
            if node_of(pod) != node:
                continue
            if terminating(pod):
                self._clock.after(_SEEN, partial(self._remove, pod))
            elif uid(pod) in self._runs:
                self._runs[uid(pod)].boot()
            else:
                self._look(pod, {})

    # What can happen to Pods

    def _of(self, pods: Pods) -> list[PodRun]:
        """The runs of these Pods on nodes that are up, in the order of their names."""
        found = [run for run in self._runs.values() if run.pod in pods and run.node.name not in self._down]
        return sorted(found, key=lambda run: (namespace(run.pod), name(run.pod)))

    def crash(self, pods: Pods, ending: Ending, container: str = "") -> None:
        """The process of a container of each Pod ends now, that of the first one where none is named.

        Raises NotFound where a Pod has no such container.
        """
        for run in self._of(pods):
            run.container(container).end(ending)
            run.report()

    def hang(self, pods: Pods, seconds: float | None, container: str = "") -> None:
        """The process of a container of each Pod answers nothing for so long; None is until it is restarted.

        Raises NotFound where a Pod has no such container.
        """
        for run in self._of(pods):
            run.container(container).hang(seconds)
            run.report()

    def evict(self, pods: Pods, resource: str) -> None:
        """Each Pod's node is short of a resource and ends the Pod. The object stays, with phase Failed."""
        for run in self._of(pods):
            used = run.containers[0].status.name
            words = (
                f"The node was low on resource: {resource}. Container {used} was using more than it requested, "
                f"has larger consumption of {resource}. "
            )
            run.evict(Words("Evicted", words), "TerminationByKubelet")
            self._events.warn(run.pod, "Evicted", words)
