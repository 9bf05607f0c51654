"""Where all Pods of a set fit within one domain of a topology, by the room that nodes have.

A domain is made of the nodes that share the values of the levels down to the one that is required; without one, of all
nodes. Of the domains in which all Pods fit, the one that has the least room to spare is taken. Room within a lowest
domain is counted together, as Kueue does: where that is a node, exactly.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from app.kube import kueue, quantities
from app.kube.hook import JSON
from app.local.podstatus import ENDED, condition
from app.local.quota.ledger import Ledger
from app.local.quota.placement import Leaf
from app.local.quota.podsets import PodSet
from app.local.quota.queues import Flavor, Queues
from app.local.room import Amounts, requests
from app.local.scheduler import node_of
from app.local.store import Store
from app.local.taints import untolerated
from app.local.values import labels, listed, mapping, meta, name, namespace

WORKLOAD_ANNOTATION = f"{kueue.PREFIX}workload"
_HOSTNAME = "kubernetes.io/hostname"

# What is left of each lowest domain; None has room for anything.
Room = dict[Leaf, Amounts | None]


class Topologies:
    """The nodes, and what Workloads and other Pods have taken of them."""

    def __init__(self, store: Store, queues: Queues, ledger: Ledger) -> None:
        self._store = store
        self._queues = queues
        self._ledger = ledger

    def place(self, flavor: Flavor, one: PodSet, before: Mapping[Leaf, Amounts]) -> dict[Leaf, int] | str:
        """The domains for the Pods of a set, or in Kueue's words why there are none.

        `before` is what earlier sets of the same Workload were given.
        """
        title = flavor.topology or ""
        levels = self._queues.levels(title) or ()
        room, nodes = self._room(flavor, one, levels)
        for leaf, amounts in before.items():
            _take(room, leaf, amounts)
        fits = {leaf: _fitting(left, one) for leaf, left in room.items()}
        domains: dict[Leaf, list[Leaf]] = {}
        depth = levels.index(one.level) + 1 if one.level else 0
        for leaf, upper in ((leaf, nodes[leaf]) for leaf in room):
            domains.setdefault(upper[:depth], []).append(leaf)
        best = min(
            (
                (sum(fits[leaf] for leaf in found), key)
                for key, found in domains.items()
                if _sum(fits, found) >= one.count
            ),
            default=None,
        )
        if best is None:
            most = max((_sum(fits, found) for found in domains.values()), default=0)
            return _refusal(title, one, most, room)
        return _fill(fits, domains[best[1]], one.count)

    def _room(self, flavor: Flavor, one: PodSet, levels: tuple[str, ...]) -> tuple[Room, dict[Leaf, Leaf]]:
        """What is left of each lowest domain, and the values of all its levels."""
        room: Room = {}
        domains: dict[Leaf, Leaf] = {}
        leaf_of: dict[str, Leaf] = {}
        for node in self._store.all_of(self._store.discovery.kind("v1", "Node")):
            if not _usable(node, flavor, one, levels):
                continue
            values = tuple((level, labels(node)[level]) for level in levels)
            leaf = values[-1:] if levels[-1] == _HOSTNAME else values
            leaf_of[name(node)], domains[leaf] = leaf, values
            allocatable = mapping(mapping(node.get("status")).get("allocatable"))
            left = room.setdefault(leaf, {})
            if not allocatable or left is None:
                room[leaf] = None
                continue
            for resource, quantity in allocatable.items():
                left[resource] = left.get(resource, Fraction(0)) + quantities.parse(quantity)
        for leaf, amounts in self._taken(leaf_of):
            _take(room, leaf, amounts)
        return room, domains

    def _taken(self, leaf_of: Mapping[str, Leaf]) -> Iterator[tuple[Leaf, Amounts]]:
        """What Workloads with a placement hold, and what other Pods use."""
        placed = set()
        for placement, entry in self._ledger.placements():
            placed.add((entry.space, entry.name))
            for one in entry.sets:
                for leaf, count in placement.get(one.name, {}).items():
                    yield leaf, each(one, count)
        for pod in self._store.all_of(self._store.discovery.kind("v1", "Pod")):
            belongs = (namespace(pod), mapping(meta(pod).get("annotations")).get(WORKLOAD_ANNOTATION))
            ended = mapping(pod.get("status")).get("phase") in ENDED
            if node_of(pod) in leaf_of and belongs not in placed and not ended:
                yield leaf_of[node_of(pod)], requests(pod) | {"pods": Fraction(1)}


def _usable(node: JSON, flavor: Flavor, one: PodSet, levels: tuple[str, ...]) -> bool:
    spec, own = mapping(node.get("spec")), labels(node)
    wanted = {**flavor.node_labels, **mapping(one.spec.get("nodeSelector"))}
    tolerant = {"spec": {"tolerations": [*listed(one.spec.get("tolerations")), *flavor.tolerations]}}
    return (
        all(level in own for level in levels)
        and wanted.items() <= own.items()
        and not spec.get("unschedulable")
        and condition(node, "Ready").get("status") == "True"
        and not untolerated(tolerant, listed(spec.get("taints")), ("NoSchedule", "NoExecute"))
    )


def each(one: PodSet, count: int) -> Amounts:
    """What so many Pods of a set take."""
    return {resource: amount * count for resource, amount in one.each.items()} | {"pods": Fraction(count)}


def _take(room: Room, leaf: Leaf, amounts: Amounts) -> None:
    left = room.get(leaf)
    if left is not None:
        for resource, amount in amounts.items():
            if resource in left:
                left[resource] -= amount


def _fitting(left: Amounts | None, one: PodSet) -> int:
    """How many Pods of a set fit into what is left."""
    if left is None:
        return one.count
    counts = [left.get(resource, Fraction(0)) // amount for resource, amount in one.each.items() if amount]
    if "pods" in left:
        counts.append(left["pods"] // 1)
    return max(0, min(int(count) for count in counts)) if counts else one.count


def _sum(fits: Mapping[Leaf, int], leaves: list[Leaf]) -> int:
    return sum(fits[leaf] for leaf in leaves)


def _fill(fits: Mapping[Leaf, int], leaves: list[Leaf], count: int) -> dict[Leaf, int]:
    """Pods by lowest domain, the roomiest first."""
    found: dict[Leaf, int] = {}
    for leaf in sorted(leaves, key=lambda leaf: (-fits[leaf], leaf)):
        if count and fits[leaf]:
            found[leaf] = min(count, fits[leaf])
            count -= found[leaf]
    return found


def _refusal(title: str, one: PodSet, most: int, room: Room) -> str:
    words = f'topology "{title}" allows to fit only {most} out of {one.count} pod(s)'
    if not most:
        words = f'topology "{title}" doesn\'t allow to fit any of {one.count} pod(s)'
    short = [resource for left in room.values() if left is not None and (resource := _lacking(left, one))]
    counted = ", ".join(f'resource "{resource}": {short.count(resource)}' for resource in sorted(set(short)))
    return f"{words}. Total nodes: {len(room)}; excluded: {counted}" if counted else words


def _lacking(left: Amounts, one: PodSet) -> str | None:
    """The first resource of which not even one Pod finds enough."""
    lacking = (resource for resource, amount in sorted(one.each.items()) if left.get(resource, Fraction(0)) < amount)
    return next(lacking, None)
