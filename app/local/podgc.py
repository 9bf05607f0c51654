"""The Pod garbage collector: takes away the Pods of nodes that are gone, or that somebody says are off."""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.podstatus import ENDED, condition, with_condition
from app.local.scheduler import node_of
from app.local.store import Store
from app.local.table import Change
from app.local.taints import OUT_OF_SERVICE
from app.local.values import listed, mapping, name, namespace, terminating, uid

# How long it waits whether a node that is gone comes back, and how often it looks.
QUARANTINE_SECONDS = 40.0
COLLECT_SECONDS = 20.0


class PodCollector:
    """Watches nodes. A Pod that it takes away is Failed first, so that its owner can tell."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._nodes = store.discovery.kind("v1", "Node")
        self._pods = store.discovery.kind("v1", "Pod")
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key != self._nodes.key:
            return
        title = name(change.new)
        if change.type == "DELETED":
            self._clock.after(QUARANTINE_SECONDS, lambda: self._collect_orphans(title))
        elif _is_off(change.new) and not _is_off(change.old or {}):
            self._clock.after(COLLECT_SECONDS, lambda: self._collect_terminating(title))

    def _on(self, title: str) -> list[JSON]:
        return [pod for pod in self._store.all_of(self._pods) if node_of(pod) == title]

    def _collect_orphans(self, title: str) -> None:
        if self._store.find(self._nodes, "", title) is None:
            for pod in self._on(title):
                self._end(pod, "PodGC: node no longer exists")

    def _collect_terminating(self, title: str) -> None:
        """Those of a silent node go once it is tainted as out of service, and those that come to terminate later."""
        node = self._store.find(self._nodes, "", title)
        if node is None or not _is_off(node):
            return
        if condition(node, "Ready").get("status") != "True":
            for pod in self._on(title):
                if terminating(pod):
                    self._end(pod, "")
        self._clock.after(COLLECT_SECONDS, lambda: self._collect_terminating(title))

    def _end(self, pod: JSON, words: str) -> None:
        status = mapping(pod.get("status"))
        if words:
            status = with_condition(status, self._clock.now(), "DisruptionTarget", True, "DeletionByPodGC", words)
        phase = status.get("phase") if status.get("phase") in ENDED else "Failed"
        self._store.update_status({**pod, "status": {**status, "phase": phase}})
        self._store.delete(self._pods, namespace(pod), name(pod), uid_is=uid(pod), grace=0)


def _is_off(node: JSON) -> bool:
    return any(taint.get("key") == OUT_OF_SERVICE for taint in listed(mapping(node.get("spec")).get("taints")))
