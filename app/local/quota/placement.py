"""Which domains of a topology the Pods of a Workload were given, as `topologyAssignment` says it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat

from app.kube.hook import JSON
from app.local.values import listed, mapping

# A lowest domain: its node labels and their values, in the order of the levels.
Leaf = tuple[tuple[str, str], ...]
# By Pod set: the lowest domains, and how many Pods go to each.
Placement = Mapping[str, Mapping[Leaf, int]]


def read_placement(admission: JSON) -> dict[str, dict[Leaf, int]]:
    """The placement in a Workload's admission; without a topology there is none."""
    return {
        one["name"]: dict(_leaves(one["topologyAssignment"]))
        for one in listed(admission.get("podSetAssignments"))
        if "topologyAssignment" in one
    }


def write_placement(leaves: Mapping[Leaf, int]) -> JSON:
    """One set's placement in the form of v1beta2: one slice that names each domain by itself."""
    keys = list(leaves)
    levels = [label for label, _ in keys[0]]
    values = [{"individual": {"roots": [leaf[index][1] for leaf in keys]}} for index in range(len(levels))]
    return {
        "levels": levels,
        "slices": [
            {
                "domainCount": len(keys),
                "valuesPerLevel": values,
                "podCounts": {"individual": [leaves[leaf] for leaf in keys]},
            }
        ],
    }


def _leaves(assignment: JSON) -> Iterator[tuple[Leaf, int]]:
    levels = listed(assignment.get("levels"))
    for part in listed(assignment.get("slices")):
        count = part["domainCount"]
        columns = [_column(one, count) for one in part["valuesPerLevel"]]
        counts = _spread(part["podCounts"], "individual", count)
        for values, pods in zip(zip(*columns, strict=True), counts, strict=True):
            yield tuple(zip(levels, values, strict=True)), int(pods)


def _column(values: JSON, count: int) -> Sequence[str]:
    individual = mapping(values.get("individual"))
    if not individual:
        return list(repeat(str(values["universal"]), count))
    before, after = individual.get("prefix", ""), individual.get("suffix", "")
    return [f"{before}{root}{after}" for root in individual["roots"]]


def _spread(values: JSON, key: str, count: int) -> Sequence[int]:
    return list(values[key]) if key in values else list(repeat(int(values["universal"]), count))
