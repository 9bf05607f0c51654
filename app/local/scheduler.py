"""Scheduler: binds a Pod without gates to the node with room that holds the fewest Pods.

It looks at taints, node selectors and requests (see `room`), not at affinity, topology spread or priorities. A Pod that
fits nowhere waits, and says why; it is looked at again when a Pod goes or a node changes.
"""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import NotFound
from app.local.events import EventRecorder
from app.local.podstatus import ENDED, condition, gated, with_condition
from app.local.room import Place, emptiest, refusal, requests
from app.local.store import Store
from app.local.table import Change
from app.local.values import listed, mapping, name, namespace, terminating, uid


class Scheduler:
    """Watches Pods and binds them `delay` seconds after they may be scheduled."""

    def __init__(self, store: Store, clock: Clock, delay: float) -> None:
        self._store = store
        self._clock = clock
        self._delay = delay
        self._events = EventRecorder(clock, store, "default-scheduler")
        self._pods = store.discovery.kind("v1", "Pod")
        self._nodes = store.discovery.kind("v1", "Node")
        self._places: dict[str, Place] = {}
        # Pods that fit nowhere, by UID, in the order in which they came.
        self._waiting: dict[str, JSON] = {}
        self._retry_due = False
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == self._pods.key:
            self._on_pod(change)
        elif change.resource.key == self._nodes.key:
            self._on_node(change)

    def _on_node(self, change: Change) -> None:
        title = name(change.new)
        if change.type == "DELETED":
            self._places.pop(title, None)
            return
        if title not in self._places:
            self._places[title] = Place(change.new)
            for pod in self._store.all_of(self._pods):
                if node_of(pod) == title and _holds_room(pod):
                    self._places[title].add(requests(pod), 1)
        self._places[title].node = change.new
        self._retry()

    def _on_pod(self, change: Change) -> None:
        held, holds = _holds_room(change.old or {}), change.type != "DELETED" and _holds_room(change.new)
        if held != holds:
            self._count(change.new, 1 if holds else -1)
        if change.type == "DELETED" or node_of(change.new):
            self._waiting.pop(uid(change.new), None)
        elif change.old is None or _gates(change.old) != _gates(change.new):
            self._clock.after(0 if _gates(change.new) else self._delay, lambda: self._look(change.new))

    def _count(self, pod: JSON, sign: int) -> None:
        place = self._places.get(node_of(pod))
        if place is not None:
            place.add(requests(pod), sign)
        if sign < 0:
            self._retry()

    def _retry(self) -> None:
        """Looks at all Pods that wait, once, soon."""
        if self._waiting and not self._retry_due:
            self._retry_due = True
            self._clock.after(self._delay, self._look_again)

    def _look_again(self) -> None:
        self._retry_due = False
        for pod in list(self._waiting.values()):
            self._look(pod)

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
        asked = requests(pod)
        objections = {title: place.objections(pod, asked) for title, place in sorted(self._places.items())}
        fitting = [self._places[title] for title, found in objections.items() if not found]
        if fitting:
            self._store.bind(pod, emptiest(fitting))
        else:
            self._wait(pod, refusal(objections.values()))

    def _wait(self, pod: JSON, words: str) -> None:
        self._waiting[uid(pod)] = pod
        if condition(pod, "PodScheduled").get("message") == words:
            return
        now, status = self._clock.now(), mapping(pod.get("status"))
        unscheduled = with_condition(status, now, "PodScheduled", False, "Unschedulable", words)
        self._store.update_status({**pod, "status": unscheduled})
        self._events.warn(pod, "FailedScheduling", words)


def node_of(pod: JSON) -> str:
    """The node a Pod is bound to, empty while it is not."""
    return str(mapping(pod.get("spec")).get("nodeName") or "")


def _holds_room(pod: JSON) -> bool:
    return bool(node_of(pod)) and mapping(pod.get("status")).get("phase") not in ENDED


def _gates(pod: JSON) -> list[JSON]:
    return listed(mapping(pod.get("spec")).get("schedulingGates"))
