"""Worlds with a queue: the story of `tests.worlds.story`, with quota and with other people's Pods that take it.

`@quota_world()` makes a test of a story on a pool of cards; it is told twice, and both timelines must be equal.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from app.cli.cluster import NODES, Cluster, local_cluster
from app.kube import kueue, names
from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local.podstatus import condition
from app.local.quota.kinds import API_VERSION, CLUSTER_QUEUE, WORKLOAD
from app.local.quota.options import KueueOptions
from app.local.timeline import Timeline
from app.local.values import listed, mapping, terminating
from tests.worlds.story import SPACE, Story

GPU = "nvidia.com/gpu"
QUEUE, POOL, FLAVOR = "team-a", "pool", "h100"
LOW, HIGH = "low", "high"

Tell = Callable[["QuotaStory"], None]


@dataclass(frozen=True)
class Pool:
    """The quota of a world: cards by flavor, and what else its ClusterQueue says."""

    cards: Mapping[str, int]
    spec: JSON = field(default_factory=dict)
    flavors: Mapping[str, JSON] = field(default_factory=dict)

    def cluster_queue(self, **changes: Any) -> JSON:
        """The ClusterQueue, with changes."""
        cards: Mapping[str, int] = changes.pop("cards", self.cards)
        flavors = [
            {"name": flavor, "resources": [{"name": GPU, "nominalQuota": count}]} for flavor, count in cards.items()
        ]
        spec: JSON = {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{"coveredResources": [GPU], "flavors": flavors}],
        }
        return _kueue("ClusterQueue", POOL, spec=spec | self.spec | changes)

    def manifests(self) -> list[JSON]:
        """All of Kueue's objects of a world."""
        return [
            *(_kueue("ResourceFlavor", flavor, spec=self.flavors.get(flavor, {})) for flavor in self.cards),
            self.cluster_queue(),
            a_local_queue(),
            _kueue("WorkloadPriorityClass", LOW, value=10),
            _kueue("WorkloadPriorityClass", HIGH, value=100),
        ]


def a_local_queue(title: str = QUEUE, space: str = SPACE, **spec: Any) -> JSON:
    """A LocalQueue of the pool."""
    found = _kueue("LocalQueue", title, spec={"clusterQueue": POOL, **spec})
    return {**found, "metadata": {"name": title, "namespace": space}}


def _kueue(kind: str, title: str, **body: Any) -> JSON:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": title}, **body}


def quota_world(
    cards: int | Mapping[str, int],
    nodes: Sequence[str | JSON] = NODES,
    options: KueueOptions | None = None,
    flavors: Mapping[str, JSON] | None = None,
    more: Sequence[JSON] = (),
    **spec: Any,
) -> Callable[[Tell], Callable[[], None]]:
    """Makes a test of a story. Its docstring is the expected outcome; `spec` is more of the ClusterQueue's."""
    pool = Pool({FLAVOR: cards} if isinstance(cards, int) else cards, spec, flavors or {})

    def told(tell: Tell) -> list[bytes]:
        with local_cluster(nodes, options or KueueOptions()) as cluster:
            story = QuotaStory(cluster, pool)
            story.given(*more, *pool.manifests()).passes(2)
            tell(story)
            return [dumps(entry) for entry in (*story.timeline.entries, *story.quota_timeline.entries)]

    def testing(tell: Tell) -> Callable[[], None]:
        def test() -> None:
            assert told(tell) == told(tell), "the same world gave another timeline"

        test.__name__, test.__doc__, test.__module__ = tell.__name__, tell.__doc__, tell.__module__
        return test

    return testing


class QuotaStory(Story):
    """One run of a world with a queue."""

    def __init__(self, cluster: Cluster, pool: Pool) -> None:
        super().__init__(cluster)
        self.pool = pool
        told = {WORKLOAD.key: _status, CLUSTER_QUEUE.key: _status}
        self.quota_timeline = Timeline(self.plane.store, self.plane.clock, told)

    # What happens to the pool

    def job(self, title: str, cards: int, priority: str = "") -> Self:
        """Somebody else's Pod asks for so many cards."""
        labels = {kueue.QUEUE: QUEUE, kueue.MANAGED: "true", kueue.GROUP: title}
        container: JSON = {"name": "job", "image": "job:1", "resources": {"limits": {GPU: cards}}}
        metadata = {
            "name": title,
            "namespace": SPACE,
            "labels": labels | ({kueue.PRIORITY: priority} if priority else {}),
            "annotations": {kueue.SUSPENDING: "job", kueue.GROUP_SIZE: "1"},
        }
        return self.given(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        )

    def job_ends(self, title: str) -> Self:
        """Somebody else's Pod goes."""
        self.plane.delete("Pod.v1", f"{SPACE}/{title}")
        return self

    def job_holds(self, title: str) -> bool:
        """Whether somebody else's Pod has quota."""
        return _admitted(self.plane.get(WORKLOAD.key, f"{SPACE}/{title}"))

    def pool_becomes(self, cards: int | Mapping[str, int] | None = None, **changes: Any) -> Self:
        """The ClusterQueue is edited."""
        if cards is not None:
            changes["cards"] = {FLAVOR: cards} if isinstance(cards, int) else cards
        return self.given(self.pool.cluster_queue(**changes))

    # What happens to a replica

    def sets_active(self, value: bool, title: str = "server", ordinal: int = 0, name: str = "qwen") -> Self:
        """Somebody deactivates, or activates again, the Workload of a replica."""
        workload = self.workload(title, ordinal, name)
        assert workload is not None
        workload["spec"]["active"] = value
        self.plane.store.update(workload)
        return self

    def member_is_killed(self, title: str, ordinal: int, member: int, size: int, name: str = "qwen") -> Self:
        """A Pod and its process are gone at once."""
        pods = self.plane.discovery.kind("v1", "Pod")
        self.plane.store.delete(pods, SPACE, names.pod(name, title, ordinal, member, size), grace=0)
        return self

    def resumed(self, word: str = "now", name: str = "qwen") -> Self:
        """Somebody asks for quota again."""
        return self.edited(lambda spec: spec.update(resumedAt=word), name)

    # Questions

    def workload(self, title: str = "server", ordinal: int = 0, name: str = "qwen") -> JSON | None:
        """The Workload of a replica, or None."""
        return self.plane.get(WORKLOAD.key, f"{SPACE}/{names.group(name, title, ordinal)}")

    def admitted(self, title: str = "server", name: str = "qwen") -> list[int]:
        """The ordinals of a role that hold quota."""
        return [ordinal for ordinal in range(20) if _admitted(self.workload(title, ordinal, name))]

    def workloads(self) -> list[str]:
        """Names of all Workloads."""
        return [one["metadata"]["name"] for one in self.plane.all_of(WORKLOAD.key)]

    def used(self, flavor: str = FLAVOR) -> str:
        """What the ClusterQueue says is used of a flavor."""
        queue = self.plane.get(CLUSTER_QUEUE.key, POOL)
        found = {one["name"]: one["resources"][0]["total"] for one in listed((queue or {})["status"]["flavorsUsage"])}
        return str(found[flavor])

    def quota(self, title: str = "server", name: str = "qwen") -> tuple[int | None, list[str] | None]:
        """quotaReserved and assignedFlavors of a role; None where they are not said."""
        found = next(one for one in self.status(name)["roles"] if one["name"] == title)
        return found.get("quotaReserved"), found.get("assignedFlavors")

    def admission(self, name: str = "qwen") -> tuple[str, str, str]:
        """Phase, reason and message of the admission."""
        found = mapping(self.status(name).get("admission"))
        return found.get("phase", ""), found.get("reason", ""), found.get("message", "")

    def said(self, kind: str, since: float = 0, name: str = "qwen") -> list[tuple[str, str]]:
        """Status and reason of a condition over time, each once in a row."""
        found = [condition({"status": status}, kind) for status in self.readings("status", since, name)]
        pairs = [(one["status"], one["reason"]) for one in found if one]
        return [one for index, one in enumerate(pairs) if index == 0 or pairs[index - 1] != one]

    def live(self, title: str = "", name: str = "qwen") -> list[str]:
        """Names of the Pods that stay."""
        return sorted(key for key, pod in self.pods(title, name).items() if not terminating(pod))


def _admitted(workload: JSON | None) -> bool:
    return workload is not None and condition(workload, "Admitted").get("status") == "True"


def _status(obj: JSON) -> JSON:
    return {"spec": mapping(obj.get("spec")).get("active"), "status": mapping(obj.get("status"))}
