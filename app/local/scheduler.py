"""Scheduler: binds a Pod without gates to the node that holds the fewest Pods.

Nodes are as large as it takes and every selector, affinity and toleration fits them.
"""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import NotFound
from app.local.podstatus import gated
from app.local.store import Store
from app.local.table import Change
from app.local.values import listed, mapping, name, namespace, terminating, uid


class Scheduler:
    """Watches Pods and binds them `delay` seconds after they may be scheduled."""

    def __init__(self, store: Store, clock: Clock, delay: float) -> None:
        self._store = store
        self._clock = clock
        self._delay = delay
        self._pods = store.discovery.kind("v1", "Pod")
        self._nodes = store.discovery.kind("v1", "Node")
        self._load: dict[str, int] = {}
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key != self._pods.key:
            return
        before, after = node_of(change.old or {}), node_of(change.new)
        if change.type == "DELETED":
            self._count(after, -1)
        elif after and not before:
            self._count(after, 1)
        elif not after and (change.old is None or _gates(change.old) != _gates(change.new)):
            self._clock.after(0 if _gates(change.new) else self._delay, lambda: self._look(change.new))

    def _count(self, node: str, change: int) -> None:
        if node:
            self._load[node] = self._load.get(node, 0) + change

    def _look(self, seen: JSON) -> None:
        try:
            pod = self._store.get(self._pods, namespace(seen), name(seen))
        except NotFound:
            return
        if uid(pod) != uid(seen) or node_of(pod) or terminating(pod):
            return
        if _gates(pod):
            self._store.update_status({**pod, "status": gated(mapping(pod.get("status")), self._clock.now())})
            return
        nodes = [title for _, title, _, _ in self._store.versions(self._nodes)]
        if nodes:
            self._store.bind(pod, min(nodes, key=lambda node: (self._load.get(node, 0), node)))


def node_of(pod: JSON) -> str:
    """The node a Pod is bound to, empty while it is not."""
    return str(mapping(pod.get("spec")).get("nodeName") or "")


def _gates(pod: JSON) -> list[JSON]:
    return listed(mapping(pod.get("spec")).get("schedulingGates"))
