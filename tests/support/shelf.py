"""A cluster that only holds objects, for whoever reads one; kinds may be denied, and not served."""

from collections.abc import Iterable, Mapping
from copy import deepcopy

import orjson

from app.kube import names
from app.kube.hook import JSON
from app.kube.reader import Forbidden, NotFound, NotServed, ObjectKind, Objects, fits
from tests.support.builders import ago
from tests.support.fixtures import ROOT, Fixture

KUEUE = "kueue.x-k8s.io/v1beta2"
CLUSTER_SCOPED = {"InstanceType", "ClusterQueue", "WorkloadPriorityClass", "Namespace", "Node"}


class Shelf:
    """A `Reader` of objects in memory. `asked` lists what was read, so that a test can say what was not."""

    def __init__(self, objects: Iterable[JSON], denied: Iterable[str] = (), unserved: Iterable[str] = ()) -> None:
        self.objects = [deepcopy(item) for item in objects]
        self.denied = set(denied)
        self.unserved = set(unserved)
        self.asked: list[str] = []

    def get(self, kind: ObjectKind, name: str, namespace: str = "") -> JSON:
        self._ask(kind, namespace, name)
        for item in self._of(kind):
            metadata = item["metadata"]
            if (metadata.get("namespace", ""), metadata["name"]) == (namespace, name):
                return item
        raise NotFound(f'{kind.kind.lower()}s "{name}" not found')

    def list(
        self,
        kind: ObjectKind,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Objects:
        self._ask(kind, namespace, f"{labels or {}} {fields or {}}")
        found = self._of(kind)
        return [
            item
            for item in found
            if (not namespace or item["metadata"].get("namespace") == namespace) and fits(item, labels, fields)
        ]

    def _of(self, kind: ObjectKind) -> Objects:
        return [item for item in self.objects if (item["apiVersion"], item["kind"]) == (kind.api_version, kind.kind)]

    def _ask(self, kind: ObjectKind, namespace: str, which: str) -> None:
        """Denials are of a kind everywhere (`Workload`), or of the list over all namespaces (`Workload everywhere`)."""
        self.asked.append(f"{kind.api_version} {kind.kind} {namespace} {which}")
        if kind.api_version in self.unserved:
            raise NotServed(f"there is no {kind.kind} of {kind.api_version}")
        everywhere = not namespace and kind.kind not in CLUSTER_SCOPED
        if kind.kind in self.denied or (everywhere and f"{kind.kind} everywhere" in self.denied):
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            raise Forbidden(f'{kind.kind.lower()}s is forbidden: User "ada" cannot read resource {where}')


def recorded(case: str) -> list[JSON]:
    """The objects of a fixture case, the deployment with the status that our own code answered with.

    Workloads get what Kueue would have added: the shape of their Pods, and what they use of their flavors.
    """
    fixture = Fixture(ROOT / "modeldeployment" / case)
    request = fixture.request
    parent = request["parent"] | {"status": orjson.loads(fixture.response)["status"]}
    parent["metadata"]["generation"] = parent["status"]["observedGeneration"]
    pods = list(request["children"].get("Pod.v1", {}).values())
    related = [item for found in request["related"].values() for item in found.values()]
    for item in related:
        if item["kind"] == "Workload":
            _as_kueue_has_it(item, pods)
    return [parent, *pods, *request["children"].get("Service.v1", {}).values(), *related]


def _as_kueue_has_it(item: JSON, pods: list[JSON]) -> None:
    owners = {owner["uid"] for owner in item["metadata"]["ownerReferences"]}
    members = [pod for pod in pods if pod["metadata"]["uid"] in owners]
    item["metadata"] |= {"creationTimestamp": ago(900), "namespace": "team-a"}
    item["spec"] |= {"priority": 0}
    if not members:
        return
    template = {"spec": members[0]["spec"]}
    item["spec"]["podSets"] = [{"name": "2ac9563e", "count": len(members), "template": template}]
    for assignment in item["status"].get("admission", {}).get("podSetAssignments", []):
        requests = members[0]["spec"]["containers"][0]["resources"]["requests"]
        assignment["resourceUsage"] = {name: requests[name] for name in assignment["flavors"] if name in requests}


def local_queue(name: str = "team-a", behind: str = "research", namespace: str = "team-a", **spec: object) -> JSON:
    """A LocalQueue that runs."""
    return _kueue("LocalQueue", name, {"clusterQueue": behind, **spec}, namespace=namespace)


def cluster_queue(name: str = "research", nominal: int = 8, used: int = 8, borrowed: int = 0, **spec: object) -> JSON:
    """A ClusterQueue of one flavor, h100, with GPUs, cores and memory."""
    quotas = [
        {"name": "nvidia.com/gpu", "nominalQuota": nominal},
        {"name": "cpu", "nominalQuota": "96"},
        {"name": "memory", "nominalQuota": "2Ti"},
    ]
    usage = [
        {"name": "nvidia.com/gpu", "total": used, "borrowed": borrowed},
        {"name": "cpu", "total": "12"},
        {"name": "memory", "total": "180Gi"},
    ]
    found = _kueue(
        "ClusterQueue",
        name,
        {
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu", "cpu", "memory"],
                    "flavors": [{"name": "h100", "resources": quotas}],
                }
            ],
            **spec,
        },
    )
    found["status"] = {"flavorsReservation": [{"name": "h100", "resources": usage}], "pendingWorkloads": 3}
    return found


def holder(
    name: str, gpus: int, priority: int = 0, namespace: str = "team-b", owner: tuple[str, str] = ("", ""), **more: str
) -> JSON:
    """A Workload of somebody else that holds GPUs of flavor h100."""
    found = _kueue("Workload", name, {"queueName": "queue", "priority": priority}, namespace=namespace)
    kind, owned_by = owner
    if kind:
        found["metadata"]["ownerReferences"] = [{"kind": kind, "name": owned_by, "uid": "u", "controller": True}]
    if "priority_class" in more:
        found["spec"]["priorityClassRef"] = {"group": "kueue.x-k8s.io", "name": more["priority_class"]}
    assignment = {"name": "main", "flavors": {"nvidia.com/gpu": "h100"}, "resourceUsage": {"nvidia.com/gpu": str(gpus)}}
    found["metadata"]["creationTimestamp"] = ago(3600)
    found["status"] = {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}],
        "admission": {"clusterQueue": more.get("queue", "research"), "podSetAssignments": [assignment]},
    }
    return found


def a_model_deployment(name: str, namespace: str, replicas: int) -> JSON:
    """A ModelDeployment of somebody else, of one role `server`."""
    metadata = {"name": name, "namespace": namespace, "uid": f"{name}-uid", "generation": 1}
    spec = {"roles": [{"name": "server", "replicas": replicas}]}
    return {"apiVersion": names.API_VERSION, "kind": "ModelDeployment", "metadata": metadata, "spec": spec}


def seat_workload(deployment: str, namespace: str, ordinal: int, gpus: int, priority: int = 0) -> JSON:
    """The Workload that holds quota for one replica of such a deployment."""
    name = names.group(deployment, "server", ordinal)
    return holder(name, gpus, priority, namespace, owner=("Pod", names.pod(deployment, "server", ordinal, 0, 1)))


def priority_class(name: str, value: int) -> JSON:
    """A WorkloadPriorityClass."""
    return {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}


def event(about: JSON, reason: str, message: str, seconds_ago: float = 10) -> JSON:
    """A warning about an object."""
    metadata = about["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{reason}-{seconds_ago}".lower(), "namespace": metadata["namespace"]},
        "involvedObject": {"kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"]},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": ago(seconds_ago),
    }


def _kueue(kind: str, name: str, spec: JSON, namespace: str = "") -> JSON:
    metadata = {"name": name, "uid": f"{kind}-{name}".lower(), **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec, "status": {}}
