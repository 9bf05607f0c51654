"""What a Workload that fits is given: places in a topology, and the document of its admission."""

from collections.abc import Mapping, Sequence

from app.kube.hook import JSON
from app.local.quota.amounts import spelled
from app.local.quota.placement import Leaf, Placement, write_placement
from app.local.quota.podsets import PodSet
from app.local.quota.queues import Queues
from app.local.quota.topology import Topologies, each
from app.local.quota.verdict import Assignment, Mode, Severity
from app.local.room import Amounts


def place(topologies: Topologies, queues: Queues, sets: Sequence[PodSet], found: Assignment) -> Placement:
    """The domains of those sets that have a flavor with a topology.

    Where there is no room for one of them, `found` says so afterwards, and there are none.
    """
    placement: dict[str, Mapping[Leaf, int]] = {}
    taken: dict[Leaf, Amounts] = {}
    for one in sets:
        flavors = [queues.flavor(title) for title in dict.fromkeys(found.flavors[one.name].values())]
        flavor = next((flavor for flavor in flavors if flavor and flavor.topology), None)
        if flavor is None:
            continue
        answer = topologies.place(flavor, one, taken)
        if isinstance(answer, str):
            found.mode = Mode.NO_FIT
            found.refuse(one.name, [answer], Severity.TopologyPlacementFailed)
            return {}
        placement[one.name] = answer
        for leaf, count in answer.items():
            before = taken.setdefault(leaf, {})
            for resource, amount in each(one, count).items():
                before[resource] = before.get(resource, amount - amount) + amount
    return placement


def admission(queue: str, sets: Sequence[PodSet], found: Assignment, places: Placement) -> JSON:
    """`status.admission` of a Workload."""
    assignments = []
    for one in sets:
        flavors = found.flavors[one.name]
        assigned: JSON = {
            "name": one.name,
            "count": one.count,
            "flavors": flavors,
            "resourceUsage": {resource: spelled(resource, one.total[resource]) for resource in flavors},
        }
        if one.name in places:
            assigned["topologyAssignment"] = write_placement(places[one.name])
        assignments.append(assigned)
    return {"clusterQueue": queue, "podSetAssignments": assignments}
