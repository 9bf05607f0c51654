"""Room on nodes: what Pods request, what a node has left, and why a Pod does not fit, in the scheduler's words.

A node that states no `status.allocatable` takes any Pod: its room and labels are not looked at, its taints are. Of a
node that states one, a device that is not named is not there; CPU, memory and storage that are not named are enough.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from app.kube import quantities
from app.kube.hook import JSON
from app.local.taints import untolerated
from app.local.values import labels, listed, mapping, name

Amounts = dict[str, Fraction]
# What every real node has and reports.
_BASIC = frozenset({"cpu", "memory", "ephemeral-storage"})


def requests(pod: JSON) -> Amounts:
    """What the containers of a Pod request together."""
    found: Amounts = {}
    for container in listed(mapping(pod.get("spec")).get("containers")):
        for resource, quantity in mapping(mapping(container.get("resources")).get("requests")).items():
            found[resource] = found.get(resource, Fraction(0)) + _amount(quantity)
    return found


def _amount(quantity: int | str) -> Fraction:
    """A quantity, or nothing where it is none: an API server would not have stored the object."""
    try:
        return quantities.parse(quantity)
    except ValueError:
        return Fraction(0)


@dataclass(slots=True)
class Place:
    """One node as the scheduler sees it: the object, and what the Pods that are bound to it request."""

    node: JSON
    pods: int = 0
    used: Amounts = field(default_factory=dict)

    def add(self, asked: Amounts, sign: int) -> None:
        """Counts a Pod that comes (1) or goes (-1)."""
        self.pods += sign
        for resource, amount in asked.items():
            self.used[resource] = self.used.get(resource, Fraction(0)) + sign * amount

    def objections(self, pod: JSON, asked: Amounts) -> list[str]:
        """Why the Pod cannot be bound here, in the words of the scheduler's plugins; none where it can."""
        spec = mapping(self.node.get("spec"))
        if spec.get("unschedulable"):
            return ["node(s) were unschedulable"]
        if untolerated(pod, listed(spec.get("taints")), ("NoSchedule", "NoExecute")):
            return ["node(s) had untolerated taint(s)"]
        room = mapping(mapping(self.node.get("status")).get("allocatable"))
        if not room:
            return []
        wanted = mapping(mapping(pod.get("spec")).get("nodeSelector"))
        if not wanted.items() <= labels(self.node).items():
            return ["node(s) didn't match Pod's node affinity/selector"]
        return self._lacking(room, asked)

    def _lacking(self, room: JSON, asked: Amounts) -> list[str]:
        found = []
        if "pods" in room and self.pods + 1 > _amount(room["pods"]):
            found.append("Too many pods")
        for resource, amount in asked.items():
            if resource in _BASIC and resource not in room:
                continue
            left = _amount(room.get(resource, 0)) - self.used.get(resource, Fraction(0))
            if amount > left:
                found.append(f"Insufficient {resource}")
        return found


def refusal(objections: Iterable[list[str]]) -> str:
    """The message of a Pod that fits nowhere, from each node's objections."""
    counts: dict[str, int] = {}
    nodes = 0
    for found in objections:
        nodes += 1
        for reason in found:
            counts[reason] = counts.get(reason, 0) + 1
    if not nodes:
        return "no nodes available to schedule pods"
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {told}."


def emptiest(places: Iterable[Place]) -> str:
    """The name of the node with the fewest Pods, the first by name of several."""
    return min((place.pods, name(place.node)) for place in places)[1]
