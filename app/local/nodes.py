"""Nodes: how they join, and what the control plane makes of one that does not answer, or is gone.

With the defaults of Kubernetes 1.35. A node that is silent for 50 seconds is `Unknown` and tainted, and its Pods'
Ready condition turns false; after what they tolerate of it (300 seconds by default) they are deleted, and stay
terminating until the node answers again, is removed, or is tainted as out of service. Eviction rates and zones are not
imitated: the real control plane deletes nothing while every node is silent, and less at once in a large cluster.
"""

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import NotFound
from app.local.events import EventRecorder
from app.local.kubelet import Kubelet
from app.local.podstatus import condition, with_condition
from app.local.scheduler import node_of
from app.local.store import Store
from app.local.table import Change
from app.local.taints import UNREACHABLE
from app.local.values import clone, listed, mapping, meta, name

# --node-monitor-grace-period; it was 40 seconds before Kubernetes 1.32.
SILENCE_SECONDS = 50.0
_CONDITIONS = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


class Nodes:
    """The machines of a cluster by the name of their Node object."""

    def __init__(self, store: Store, clock: Clock, kubelet: Kubelet) -> None:
        self._store = store
        self._clock = clock
        self._kubelet = kubelet
        self._events = EventRecorder(clock, store, "node-controller")
        self._nodes = store.discovery.kind("v1", "Node")
        self._pods = store.discovery.kind("v1", "Pod")
        self._silent: dict[str, float] = {}
        store.watch(self._on_change)

    @property
    def silent(self) -> list[str]:
        """Names of the nodes that are down now."""
        return sorted(self._silent)

    def add(self, node: JSON) -> JSON:
        """A machine joins: its Node object with the status that its kubelet writes. `status.allocatable` is kept."""
        title = name(node)
        labels = {"kubernetes.io/hostname": title} | mapping(meta(node).get("labels"))
        stored = self._store.create({"spec": {}, **node, "metadata": {**meta(node), "labels": labels}})
        stated = mapping(node.get("status"))
        self._store.update_status({**stored, "status": {**stated, "conditions": self._conditions({})}})
        self._kubelet.boot(title)
        return stored

    def kill(self, title: str) -> None:
        """The machine loses its power. Raises NotFound where there is no such node."""
        self._get(title)
        if title not in self._silent:
            since = self._silent[title] = self._clock.elapsed
            self._kubelet.stop(title)
            self._clock.after(SILENCE_SECONDS, lambda: self._miss(title, since))

    def restore(self, title: str) -> None:
        """The machine boots again and answers. Raises NotFound where there is no such node."""
        node = self._get(title)
        if self._silent.pop(title, None) is None:
            return
        node["spec"] = _without(node, UNREACHABLE)
        node = self._store.update(node)
        self._store.update_status({**node, "status": {**node["status"], "conditions": self._conditions(node)}})
        self._kubelet.boot(title)

    def remove(self, title: str) -> None:
        """The machine and its Node object are gone for good. Raises NotFound where there is no such node."""
        self._get(title)
        self._store.delete(self._nodes, "", title)

    def _get(self, title: str) -> JSON:
        try:
            return self._store.get(self._nodes, "", title)
        except NotFound:
            known = ", ".join(place[1] for place in self._store.versions(self._nodes))
            raise NotFound(f'nodes "{title}" not found: there are {known or "none"}') from None

    def _conditions(self, node: JSON) -> list[JSON]:
        """What a kubelet reports that is well, on top of what is stored."""
        now = times.render(self._clock.now())
        return [self._condition(node, kind, now, *words) for kind, words in _CONDITIONS.items()]

    def _condition(self, node: JSON, kind: str, now: str, value: str, reason: str, message: str) -> JSON:
        before = condition(node, kind)
        since = before["lastTransitionTime"] if before.get("status") == value else now
        times_of = {"lastHeartbeatTime": now, "lastTransitionTime": since}
        return {"type": kind, "status": value, **times_of, "reason": reason, "message": message}

    def _on_change(self, change: Change) -> None:
        if change.resource.key != self._nodes.key:
            return
        title = name(change.new)
        if change.type == "DELETED":
            self._silent.pop(title, None)
            self._kubelet.stop(title)

    def _miss(self, title: str, since: float) -> None:
        """The node has been silent for too long, if it is the same silence still."""
        if self._silent.get(title) != since:
            return
        node, now = self._get(title), times.render(self._clock.now())
        words = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
        unknown = [self._condition(node, kind, now, "Unknown", *words) for kind in _CONDITIONS]
        # The heartbeat is the last that came, not this one.
        for one in unknown:
            one["lastHeartbeatTime"] = condition(node, one["type"])["lastHeartbeatTime"]
        self._store.update_status({**node, "status": {**node["status"], "conditions": unknown}})
        for pod in self._on(title):
            self._mark_not_ready(pod)
        node = self._get(title)
        taint = {"key": UNREACHABLE, "timeAdded": now}
        added = [{**taint, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
        self._store.update({**node, "spec": {"taints": [*listed(_without(node, UNREACHABLE).get("taints")), *added]}})

    def _on(self, title: str) -> list[JSON]:
        return [pod for pod in self._store.all_of(self._pods) if node_of(pod) == title]

    def _mark_not_ready(self, pod: JSON) -> None:
        ready = condition(pod, "Ready")
        if ready.get("status") != "True":
            return
        words = (str(ready.get("reason", "")), str(ready.get("message", "")))
        status = with_condition(mapping(pod.get("status")), self._clock.now(), "Ready", False, *words)
        self._store.update_status({**pod, "status": status})
        self._events.warn(pod, "NodeNotReady", "Node is not ready")


def _without(node: JSON, key: str) -> JSON:
    """The spec of a node without its taints of that key."""
    spec: JSON = clone(mapping(node.get("spec")))
    left = [taint for taint in listed(spec.get("taints")) if taint.get("key") != key]
    spec.pop("taints", None)
    return spec | ({"taints": left} if left else {})
