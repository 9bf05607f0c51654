"""A control plane with Kueue and bare Pods: what there is, what happens, and what Kueue made of it."""

from collections.abc import Callable
from typing import Any, Self

from app.kube import kueue
from app.kube.hook import JSON
from app.local.faults import Ending, Pods
from app.local.plane import Plane
from app.local.podstatus import condition
from app.local.quota.kinds import API_VERSION, WORKLOAD
from app.local.quota.options import KueueOptions
from app.local.table import Change
from app.local.values import listed, mapping, name, terminating

SPACE = "t"
GPU = "nvidia.com/gpu"
LOW, HIGH = "low", "high"


def a_flavor(title: str = "default-flavor", **spec: Any) -> JSON:
    return {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": title}, "spec": spec}


def a_cluster_queue(title: str = "cq", flavors: dict[str, Any] | None = None, **spec: Any) -> JSON:
    """A ClusterQueue over cards; `flavors` maps each flavor to its nominal quota."""
    flavors = flavors or {"default-flavor": 8}
    group = {
        "coveredResources": [GPU],
        "flavors": [
            {"name": flavor, "resources": [{"name": GPU, "nominalQuota": quota}]} for flavor, quota in flavors.items()
        ],
    }
    default: JSON = {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}}
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterQueue",
        "metadata": {"name": title},
        "spec": {**default, "resourceGroups": [group], **spec},
    }


def a_local_queue(title: str = "lq", to: str = "cq", space: str = SPACE, **spec: Any) -> JSON:
    metadata = {"name": title, "namespace": space}
    return {
        "apiVersion": API_VERSION,
        "kind": "LocalQueue",
        "metadata": metadata,
        "spec": {"clusterQueue": to, **spec},
    }


def a_priority(title: str, value: int) -> JSON:
    return {"apiVersion": API_VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": title}, "value": value}


def a_pod(title: str, group: str = "", size: int = 1, gpu: int = 1, queue: str = "lq", **more: Any) -> JSON:
    """A Pod of our form, in a group unless `group` is empty. `priority`, `annotations`, `space` and `spec` are more."""
    labels = {kueue.QUEUE: queue, kueue.MANAGED: "true"}
    annotations = {kueue.SUSPENDING: "modeldeployment", **more.get("annotations", {})}
    if group:
        labels[kueue.GROUP] = group
        annotations |= {kueue.GROUP_SIZE: str(size), kueue.RETRIABLE: "false"}
    if more.get("priority"):
        labels[kueue.PRIORITY] = more["priority"]
    container: JSON = {"name": "m", "image": "x:1", "resources": {"limits": {GPU: gpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": title,
            "namespace": more.get("space", SPACE),
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"containers": [container], **more.get("spec", {})},
    }


class Scene:
    """One run. With the default queue: 8 cards of one flavor, and two priorities."""

    def __init__(self, *manifests: JSON, options: KueueOptions | None = None, nodes: list[JSON] | None = None) -> None:
        self.plane = Plane(kueue=options or KueueOptions(), nodes=nodes or ["node-a", "node-b"])
        self.history: list[tuple[float, JSON | None]] = []
        self.plane.store.watch(self._remember)
        found = manifests or (a_flavor(), a_cluster_queue(), a_local_queue())
        for manifest in (*found, a_priority(LOW, 10), a_priority(HIGH, 100)):
            self.plane.apply(manifest)
        self.passes(2)

    def _remember(self, change: Change) -> None:
        if change.resource.key == WORKLOAD.key:
            self.history.append((self.now, None if change.type == "DELETED" else change.new))

    @property
    def now(self) -> float:
        return self.plane.clock.elapsed

    def passes(self, seconds: float) -> Self:
        self.plane.run_for(seconds)
        return self

    def until(self, what: Callable[[], object], within: float = 300) -> float:
        """Lets time pass until it is so, and says how long that took."""
        since = self.now
        assert self.plane.run_until(lambda: bool(what()), within), "it never was so"
        return self.now - since

    # What there is

    def given(self, *manifests: JSON) -> Self:
        for manifest in manifests:
            self.plane.apply(manifest)
        return self

    def group(self, title: str, size: int, gpu: int = 1, begin: int = 0, **more: Any) -> list[str]:
        """A group, all members at once; their names."""
        names = [f"{title}-{index}" for index in range(begin, begin + size)]
        self.given(*(a_pod(one, title, size, gpu, **more) for one in names))
        return names

    def running(self, *names: str) -> bool:
        return all(mapping((self.pod(one) or {}).get("status")).get("phase") == "Running" for one in names)

    def delete(self, *names: str) -> None:
        for one in names:
            self.plane.delete("Pod.v1", f"{SPACE}/{one}")

    def fails(self, title: str) -> None:
        """The node runs out of memory and ends the Pod."""
        self.plane.kubelet.evict(Pods(SPACE, title), "memory")

    def succeeds(self, title: str) -> None:
        self.plane.kubelet.crash(Pods(SPACE, title), Ending(0, "Completed"))

    def sets_active(self, title: str, value: bool) -> None:
        found = self.workload(title)
        found["spec"]["active"] = value
        self.plane.store.update(found)

    # Questions

    def pod(self, title: str, space: str = SPACE) -> JSON | None:
        return self.plane.get("Pod.v1", f"{space}/{title}")

    def pods(self) -> list[str]:
        return [name(one) for one in self.plane.all_of("Pod.v1", SPACE)]

    def gates(self, title: str, space: str = SPACE) -> list[str]:
        spec = mapping((self.pod(title, space) or {}).get("spec"))
        return [one["name"].removeprefix(kueue.PREFIX) for one in listed(spec.get("schedulingGates"))]

    def leaves(self, title: str) -> bool:
        return terminating(self.pod(title) or {})

    def workloads(self) -> list[str]:
        return [name(one) for one in self.plane.all_of(WORKLOAD.key)]

    def workload(self, title: str) -> JSON:
        found = self.plane.get(WORKLOAD.key, f"{SPACE}/{title}")
        assert found is not None, f"there is no Workload {title}"
        return found

    def says(self, title: str, kind: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a Workload's condition."""
        return _said(self.workload(title), kind)

    def said(self, title: str, kind: str) -> list[tuple[str, str]]:
        """Status and reason of a condition over time, each once in a row."""
        found = [_said(one, kind) for _, one in self.history if one is not None and name(one) == title]
        pairs = [one[:2] for one in found if one is not None]
        return [one for index, one in enumerate(pairs) if index == 0 or pairs[index - 1] != one]

    def pod_says(self, title: str, kind: str) -> tuple[str, str, str] | None:
        return _said(self.pod(title) or {}, kind)

    def admitted(self, *titles: str) -> bool:
        present = self.workloads()
        return all(one in present and (self.says(one, "Admitted") or ("",))[0] == "True" for one in titles)

    def used(self, queue: str = "cq", flavor: str = "default-flavor", resource: str = GPU) -> str:
        """What the status of a ClusterQueue says is used."""
        status = self.plane.get(f"ClusterQueue.{API_VERSION}", queue)["status"]  # type: ignore[index]
        found = next(one for one in status["flavorsUsage"] if one["name"] == flavor)
        return next(str(one["total"]) for one in found["resources"] if one["name"] == resource)

    def events(self, about: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events of one object."""
        found = [one for one in self.plane.all_of("Event.v1") if one["involvedObject"]["name"] == about]
        found.sort(key=lambda one: int(one["metadata"]["resourceVersion"]))
        return [(one["type"], one["reason"], one["message"]) for one in found]


def _said(obj: JSON, kind: str) -> tuple[str, str, str] | None:
    found = condition(obj, kind)
    return (found["status"], found.get("reason", ""), found.get("message", "")) if found else None
