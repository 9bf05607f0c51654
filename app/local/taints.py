"""Taints and tolerations, and the controller that deletes Pods which do not tolerate a NoExecute taint of their node.

It says so in the Pod's status first, and then deletes it as anybody would: with its grace, and if the node does not
answer, without an end.
"""

import math
from collections.abc import Collection

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.disruptions import disrupt
from app.local.podstatus import Words
from app.local.store import Store
from app.local.table import Change
from app.local.values import listed, mapping, name, namespace, terminating, uid

UNREACHABLE = "node.kubernetes.io/unreachable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_WORDS = Words("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")


def untolerated(pod: JSON, taints: list[JSON], effects: Collection[str]) -> list[JSON]:
    """The taints of these effects that no toleration of the Pod matches."""
    if not taints:
        return []
    tolerations = listed(mapping(pod.get("spec")).get("tolerations"))
    found = [taint for taint in taints if taint.get("effect") in effects]
    return [taint for taint in found if not any(_matches(one, taint) for one in tolerations)]


def patience(pod: JSON, taints: list[JSON]) -> float:
    """Seconds for which a Pod tolerates the NoExecute taints together: 0 is not at all, infinite for ever."""
    if untolerated(pod, taints, ("NoExecute",)):
        return 0.0
    spans = [math.inf]
    for taint in taints:
        if taint.get("effect") == "NoExecute":
            tolerations = listed(mapping(pod.get("spec")).get("tolerations"))
            spans += [float(one.get("tolerationSeconds", math.inf)) for one in tolerations if _matches(one, taint)]
    return max(0.0, min(spans))


def _matches(toleration: JSON, taint: JSON) -> bool:
    if toleration.get("effect") not in {None, "", taint.get("effect")}:
        return False
    key, operator = toleration.get("key"), toleration.get("operator", "Equal")
    if not key:
        return bool(operator == "Exists")
    if key != taint.get("key"):
        return False
    return bool(operator == "Exists" or toleration.get("value", "") == taint.get("value", ""))


class TaintEviction:
    """Watches nodes and Pods; a deletion that is due is called off where the taints go before."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._nodes = store.discovery.kind("v1", "Node")
        self._pods = store.discovery.kind("v1", "Pod")
        # By Pod UID, since when it is to go; a Pod that is not in here stays.
        self._leaving: dict[str, float] = {}
        self._tainted: dict[str, list[JSON]] = {}
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == self._nodes.key:
            self._on_node(change)
        elif change.resource.key == self._pods.key:
            self._on_pod(change)

    def _on_pod(self, change: Change) -> None:
        if change.type == "DELETED":
            self._leaving.pop(uid(change.new), None)
            return
        node = mapping(change.new.get("spec")).get("nodeName")
        if node in self._tainted and not mapping(mapping(change.old).get("spec")).get("nodeName"):
            self._consider(change.new, self._tainted[node])

    def _on_node(self, change: Change) -> None:
        title = name(change.new)
        taints = [one for one in listed(mapping(change.new.get("spec")).get("taints")) if one["effect"] == "NoExecute"]
        if change.type == "DELETED" or not taints:
            taints = []
        if taints == self._tainted.get(title, []):
            return
        if taints:
            self._tainted[title] = taints
        else:
            self._tainted.pop(title, None)
        for pod in self._store.all_of(self._pods):
            if mapping(pod.get("spec")).get("nodeName") == title:
                self._consider(pod, taints)

    def _consider(self, pod: JSON, taints: list[JSON]) -> None:
        seconds = patience(pod, taints)
        if math.isinf(seconds) or terminating(pod):
            self._leaving.pop(uid(pod), None)
            return
        since = self._leaving.setdefault(uid(pod), self._clock.elapsed)
        wait = max(0.0, since + seconds - self._clock.elapsed)
        self._clock.after(wait, lambda: self._delete(pod, since))

    def _delete(self, seen: JSON, since: float) -> None:
        pod = self._store.find(self._pods, namespace(seen), name(seen))
        if pod is None or self._leaving.get(uid(seen)) != since or uid(pod) != uid(seen):
            return
        del self._leaving[uid(seen)]
        disrupt(self._store, self._clock, pod, _WORDS)
