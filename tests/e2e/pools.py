"""Kueue's side of a case: a pool of cards with a queue, and pod groups as Hangar's replicas are to be."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.kube.hook import JSON
from app.local.values import finalizers, listed, mapping, terminating
from tests.e2e.api import Api
from tests.e2e.kubelet import SELECTOR, STOP_SECONDS, TOLERATION
from tests.e2e.kueue import WORKLOAD

API_VERSION = "kueue.x-k8s.io/v1beta2"
CLUSTER_QUEUE = f"ClusterQueue.{API_VERSION}"
CARD = "nvidia.com/gpu"
QUEUE = "queue"
KEYS = "kueue.x-k8s.io"


@dataclass(frozen=True)
class Pool:
    """So many cards, and a queue for them in one namespace. The namespace's name is the pool's."""

    api: Api
    space: str

    @property
    def urgent(self) -> str:
        """The priority class before which others give way."""
        return f"{self.space}-urgent"

    def in_use(self) -> int:
        """Cards that admitted Workloads hold; Kueue counts them about a second later."""
        status = mapping(self.api.get(CLUSTER_QUEUE, self.space).get("status"))
        return sum(int(one["total"]) for flavor in listed(status.get("flavorsUsage")) for one in flavor["resources"])

    def group(
        self, name: str, size: int = 1, *, urgent: bool = False, stops_in: float = 0.1, queue: str = QUEUE
    ) -> "Group":
        """A group of Pods of one card each, made at once."""
        group = Group(self, name, size, self.urgent if urgent else "", stops_in, queue)
        for member in range(size):
            group.create(member)
        return group


@contextmanager
def a_pool(api: Api, space: str, cards: int) -> Iterator[Pool]:
    """A pool, which is deleted afterwards."""
    pool = Pool(api, space)
    quota = {"name": CARD, "nominalQuota": cards}
    objects: list[JSON] = [
        {"kind": "ResourceFlavor", "metadata": {"name": space}},
        {"kind": "WorkloadPriorityClass", "metadata": {"name": pool.urgent}, "value": 1000},
        {
            "kind": "ClusterQueue",
            "metadata": {"name": space},
            "spec": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
                "resourceGroups": [{"coveredResources": [CARD], "flavors": [{"name": space, "resources": [quota]}]}],
                "preemption": {"withinClusterQueue": "LowerPriority"},
            },
        },
        {"kind": "LocalQueue", "metadata": {"name": QUEUE, "namespace": space}, "spec": {"clusterQueue": space}},
    ]
    made = [api.create({"apiVersion": API_VERSION, **one}) for one in objects]
    try:
        yield pool
    finally:
        for one in reversed(made):
            api.delete(one)


@dataclass(frozen=True)
class Group:
    """One replica in Kueue's eyes: a pod group without finalizers, whose Workload is named like the group."""

    pool: Pool
    name: str
    size: int
    priority: str
    stops_in: float
    queue: str

    def create(self, member: int, suffix: str = "") -> None:
        """Makes one member; with a suffix under another name than usual."""
        priority = {f"{KEYS}/priority-class": self.priority} if self.priority else {}
        limits = {CARD: 1}
        self.pool.api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{self.name}-{member}{suffix}",
                    "namespace": self.pool.space,
                    "labels": {
                        "group": self.name,
                        f"{KEYS}/queue-name": self.queue,
                        f"{KEYS}/managed": "true",
                        f"{KEYS}/pod-group-name": self.name,
                        **priority,
                    },
                    "annotations": {
                        f"{KEYS}/pod-suspending-parent": "modeldeployment",
                        f"{KEYS}/pod-group-total-count": str(self.size),
                        f"{KEYS}/retriable-in-group": "false",
                        STOP_SECONDS: str(self.stops_in),
                    },
                },
                "spec": {
                    "containers": [{"name": "engine", "image": "engine:1", "resources": {"limits": limits}}],
                    "nodeSelector": dict(SELECTOR),
                    "tolerations": [dict(TOLERATION)],
                    "automountServiceAccountToken": False,
                },
            }
        )

    def pods(self) -> list[JSON]:
        """Its Pods, also those that end, sorted by name."""
        found = self.pool.api.all_of("Pod.v1", self.pool.space, f"group={self.name}")
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    def delete(self) -> None:
        """Asks for the deletion of all its Pods."""
        for pod in self.pods():
            self.pool.api.delete(pod)

    def workload(self) -> JSON | None:
        """Its Workload, or None."""
        return self.pool.api.find(WORKLOAD, f"{self.pool.space}/{self.name}")

    def active(self, value: bool) -> None:
        """What an administrator, or Kueue itself, does to park and to resume."""
        workload = self.workload()
        assert workload is not None
        self.pool.api.patch(workload, {"spec": {"active": value}})

    def condition(self, kind: str) -> JSON:
        """A condition of its Workload; empty where there is none."""
        return condition(self.workload() or {}, kind)

    def admitted(self) -> bool:
        """Whether Kueue has admitted it."""
        return bool(self.condition("Admitted").get("status") == "True")

    def running(self) -> bool:
        """Whether all its Pods run, and none ends."""
        phases = [one["status"].get("phase") for one in self.pods() if not terminating(one)]
        return phases == ["Running"] * self.size

    def gated(self) -> bool:
        """Whether all its Pods are there and wait for Kueue."""
        pods = self.pods()
        return len(pods) == self.size and all(one["spec"].get("schedulingGates") for one in pods)

    def gone(self) -> bool:
        """Whether neither a Pod nor the Workload is left: the seat is empty."""
        return not self.pods() and self.workload() is None

    def finalizers(self) -> list[str]:
        """Everything that holds up the deletion of one of its Pods."""
        return [one for pod in self.pods() for one in finalizers(pod)]


def condition(obj: JSON, kind: str) -> JSON:
    """A condition of an object; empty where it has none of that type."""
    found = listed(mapping(obj.get("status")).get("conditions"))
    return next((mapping(one) for one in found if one["type"] == kind), {})
