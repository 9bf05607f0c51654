"""ClusterQueues, LocalQueues and flavors as the scheduler sees them, read from the store when they are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from app.kube import quantities
from app.kube.hook import JSON
from app.local.quota import kinds
from app.local.quota.options import NAMESPACE_NAME
from app.local.selectors import matches
from app.local.store import Store
from app.local.values import labels, listed, mapping, name

# A flavor and a resource of it: what quota is counted in.
Cell = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor."""

    name: str
    node_labels: Mapping[str, str]
    node_taints: list[JSON]
    tolerations: list[JSON]
    topology: str | None


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that get one flavor together, and the flavors in the order in which they are tried."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A ClusterQueue.

    `quota` is the nominal one. `strict` lets nobody pass whoever waits in front. `preempts` is the policy within the
    queue; `takes_first_preemption` ends the search for a flavor at the first one that preemption would free.
    `selector` is None where no namespace may submit. `stop` is the stop policy.
    """

    name: str
    groups: tuple[ResourceGroup, ...]
    quota: Mapping[Cell, Fraction]
    strict: bool
    preempts: str
    takes_first_preemption: bool
    selector: JSON | None
    stop: str

    def group_of(self, resource: str) -> ResourceGroup | None:
        """The group that covers a resource."""
        return next((group for group in self.groups if resource in group.resources), None)

    @property
    def flavors(self) -> list[str]:
        """Names of all flavors, in the order of the spec."""
        return list(dict.fromkeys(flavor for group in self.groups for flavor in group.flavors))


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue: the ClusterQueue that it leads to, and its stop policy."""

    name: str
    cluster_queue: str
    stop: str


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why no Workload of a queue can be considered: the granular reason, and Kueue's words."""

    reason: str
    words: str


class Queues:
    """What the store holds of quota."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cluster_queues(self) -> list[ClusterQueue]:
        """All of them, by name."""
        return [_cluster_queue(one) for one in self._store.all_of(kinds.CLUSTER_QUEUE)]

    def cluster_queue(self, title: str) -> ClusterQueue | None:
        """The ClusterQueue of that name."""
        found = self._store.find(kinds.CLUSTER_QUEUE, "", title)
        return None if found is None else _cluster_queue(found)

    def local_queue(self, space: str, title: str) -> LocalQueue | None:
        """The LocalQueue of that name in a namespace."""
        found = self._store.find(kinds.LOCAL_QUEUE, space, title)
        if found is None:
            return None
        spec = found["spec"]
        return LocalQueue(title, spec["clusterQueue"], spec["stopPolicy"])

    def flavor(self, title: str) -> Flavor | None:
        """The ResourceFlavor of that name."""
        found = self._store.find(kinds.FLAVOR, "", title)
        if found is None:
            return None
        spec = mapping(found.get("spec"))
        return Flavor(
            title,
            mapping(spec.get("nodeLabels")),
            listed(spec.get("nodeTaints")),
            listed(spec.get("tolerations")),
            spec.get("topologyName"),
        )

    def levels(self, topology: str) -> tuple[str, ...] | None:
        """The node labels of a Topology, the widest first; None where there is no such Topology."""
        found = self._store.find(kinds.TOPOLOGY, "", topology)
        return None if found is None else tuple(level["nodeLabel"] for level in found["spec"]["levels"])

    def priority(self, title: str) -> int | None:
        """The value of a WorkloadPriorityClass, or None where there is none of that name."""
        found = self._store.find(kinds.PRIORITY_CLASS, "", title)
        return None if found is None else int(found["value"])

    def inactive(self, queue: ClusterQueue) -> Blocker | None:
        """Why a ClusterQueue admits nothing, with the reason of its condition Active."""
        stopped = ["is stopped"] if queue.stop != "None" else []
        flavors = {title: self.flavor(title) for title in queue.flavors}
        missing = [title for title, found in flavors.items() if found is None]
        lacking = [f"references missing ResourceFlavor(s): {','.join(missing)}"] if missing else []
        placed = [found for found in flavors.values() if found is not None and found.topology]
        astray = [
            f'there is no Topology "{one.topology}" for TAS flavor "{one.name}"'
            for one in placed
            if self.levels(one.topology or "") is None
        ]
        words = [*stopped, *lacking, *astray]
        if not words:
            return None
        reason = "Stopped" if stopped else "FlavorNotFound" if lacking else "TopologyNotFound"
        return Blocker(reason, f"Can't admit new workloads: {', '.join(words)}.")

    def blocker(self, space: str, title: str) -> Blocker | None:
        """Why the Workloads of a LocalQueue are not considered, or None where they are."""
        local = self.local_queue(space, title)
        if local is None:
            return Blocker("Misconfigured", f"LocalQueue {title} doesn't exist")
        if local.stop != "None":
            return Blocker("Suspended", f"LocalQueue {title} is inactive")
        queue = self.cluster_queue(local.cluster_queue)
        if queue is None:
            return Blocker("Misconfigured", f"ClusterQueue {local.cluster_queue} doesn't exist")
        if self.inactive(queue) is not None:
            return Blocker("Suspended", f"ClusterQueue {queue.name} is inactive")
        return None

    def admits(self, queue: ClusterQueue, space: str) -> bool:
        """Whether a ClusterQueue takes Workloads of a namespace."""
        if queue.selector is None:
            return False
        found = self._store.find(self._store.discovery.kind("v1", "Namespace"), "", space)
        return matches(queue.selector, {NAMESPACE_NAME: space, **labels(found or {})})


def _cluster_queue(obj: JSON) -> ClusterQueue:
    spec = obj["spec"]
    groups = listed(spec.get("resourceGroups"))
    quota = {
        (flavor["name"], one["name"]): quantities.parse(one["nominalQuota"])
        for group in groups
        for flavor in group["flavors"]
        for one in flavor["resources"]
    }
    return ClusterQueue(
        name=name(obj),
        groups=tuple(
            ResourceGroup(tuple(one["coveredResources"]), tuple(flavor["name"] for flavor in one["flavors"]))
            for one in groups
        ),
        quota=quota,
        strict=spec["queueingStrategy"] == "StrictFIFO",
        preempts=spec["preemption"]["withinClusterQueue"],
        takes_first_preemption=spec["flavorFungibility"]["whenCanPreempt"] == "MayStopSearch",
        selector=spec.get("namespaceSelector"),
        stop=spec["stopPolicy"],
    )
