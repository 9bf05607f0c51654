"""Requests that read as sentences: `a_deployment().with_role("decode", replicas=2).having(pod("decode", 0))`.

Pods are what the controller itself renders, with what an API server, a scheduler and a kubelet add.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import orjson

from app.api.instancetype import InstanceTypeSpec
from app.api.modeldeployment import ModelDeploymentSpec
from app.kube import kueue, names, times
from app.kube.hook import JSON
from app.kube.shape import LAST_APPLIED
from app.modeldeployment.render import Identity, RenderedRole, render_role, render_services
from app.settings import ControllerSettings

KUEUE = ControllerSettings(kueue=True)
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
UID = "5a3c1d0e-7c1f-4b6e-9f0a-0a1b2c3d4e5f"
H100: JSON = {
    "accelerator": {"resource": "nvidia.com/gpu", "manufacturer": "NVIDIA", "product": "H100-80GB"},
    "perAccelerator": {"cpu": 12, "memory": "180Gi"},
    "nodeSelector": {"node.example.com/pool": "h100"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}
Change = Callable[[JSON], object]


def ago(seconds: float) -> str:
    """The Kubernetes timestamp `seconds` before NOW."""
    return times.render(NOW - timedelta(seconds=seconds))


@dataclass(frozen=True)
class PodBuilder:
    """One observed Pod; ready and a quarter of an hour old unless said otherwise."""

    role: str
    ordinal: int
    member: int = 0
    changes: tuple[Change, ...] = ()
    outdated_by: str = ""

    def but(self, change: Change) -> Self:
        return replace(self, changes=(*self.changes, change))

    def outdated(self) -> Self:
        """Rendered from an older spec."""
        return replace(self, outdated_by="older")

    def born(self, seconds_ago: float) -> Self:
        return self.but(lambda p: p["metadata"].update(creationTimestamp=ago(seconds_ago)))

    def terminating(self) -> Self:
        return self.but(lambda p: p["metadata"].update(deletionTimestamp=ago(3), deletionGracePeriodSeconds=30))

    def unbound(self, words: str = "") -> Self:
        def change(pod: JSON) -> None:
            del pod["spec"]["nodeName"]
            scheduled: JSON = {"type": "PodScheduled", "status": "False"}
            if words:
                scheduled |= {"reason": "Unschedulable", "message": words}
            pod["status"] = {"phase": "Pending", "conditions": [scheduled] if words else []}

        return self.but(change)

    def gated(self) -> Self:
        """Held back by Kueue."""

        def change(pod: JSON) -> None:
            del pod["spec"]["nodeName"]
            pod["spec"]["schedulingGates"] = [{"name": kueue.ADMISSION_GATE}, {"name": f"{kueue.PREFIX}topology"}]
            gate = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
            pod["status"] = {"phase": "Pending", "conditions": [gate]}

        return self.but(change)

    def taken_by_kueue(self, why: str, message: str) -> Self:
        """Terminating, because Kueue evicted its Workload."""
        target = {
            "type": kueue.POD_TARGET,
            "status": "True",
            "reason": f"WorkloadEvictedDueTo{why}",
            "message": message,
        }
        return self.terminating().but(lambda p: p["status"].setdefault("conditions", []).append(target))

    def waiting(self, reason: str, message: str = "", **container: Any) -> Self:
        """Bound; its container waits for `reason`."""
        state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        return self._container(phase="Pending", ready="False", state=state, **container)

    def loading(self) -> Self:
        """The engine's process runs and does not answer yet."""
        return self._container(phase="Running", ready="False", state={"running": {"startedAt": ago(60)}}, started=False)

    def quiet(self) -> Self:
        """It answered once, and does not now."""
        return self._container(phase="Running", ready="False", state={"running": {"startedAt": ago(60)}})

    def crash_looping(self) -> Self:
        ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
        return self.waiting("CrashLoopBackOff", "back-off 5m0s", lastState=ended, restartCount=7)

    def ended(self, reason: str, message: str) -> Self:
        """Phase Failed, as the kubelet leaves it."""
        return self.but(lambda p: p.update(status={"phase": "Failed", "reason": reason, "message": message}))

    def ready_for(self, seconds: float) -> Self:
        return self.but(lambda p: [c.update(lastTransitionTime=ago(seconds)) for c in p["status"]["conditions"]])

    def disrupted(self, reason: str, message: str) -> Self:
        """Somebody else takes it away, and says so."""
        target = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
        return self.but(lambda p: p["status"]["conditions"].append(target))

    def named(self, name: str) -> Self:
        return self.but(lambda p: p["metadata"].update(name=name))

    def labelled(self, **labels: str) -> Self:
        """Labels of ours (`role`, `replica`, `member`) changed by somebody."""
        return self.but(lambda p: p["metadata"]["labels"].update({f"hangar.dev/{k}": v for k, v in labels.items()}))

    def _container(self, phase: str, ready: str, state: JSON, **container: Any) -> Self:
        def change(pod: JSON) -> None:
            status = pod["status"]
            status["phase"] = phase
            status["conditions"] = [
                {"type": kind, "status": value, "lastTransitionTime": ago(60)}
                for kind, value in (("PodScheduled", "True"), ("ContainersReady", ready), ("Ready", ready))
            ]
            status["containerStatuses"][0] |= {"ready": False, "state": state, **container}

        return self.but(change)


@dataclass(frozen=True)
class WorkloadBuilder:
    """The Workload of one seat; just created unless said otherwise."""

    role: str
    ordinal: int
    conditions: tuple[JSON, ...] = ()
    active: bool = True
    flavors: tuple[tuple[str, str], ...] = ()
    checks: tuple[JSON, ...] = ()
    group: bool = True
    orphaned: bool = False
    bereaved: bool = False
    made_at: str = ""

    def _with(self, *conditions: tuple[str, str, str, str]) -> Self:
        made = tuple(
            {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(30)}
            for kind, status, reason, message in conditions
        )
        return replace(self, conditions=(*self.conditions, *made))

    def pending(self, message: str = "", reason: str = "Pending") -> Self:
        return self._with(("QuotaReserved", "False", reason, message))

    def reserved(self) -> Self:
        return self._with(("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue research"))

    def admitted(self, flavor: str = "h100") -> Self:
        found = self.reserved()._with(("Admitted", "True", "Admitted", "The workload is admitted"))
        return replace(found, flavors=(("nvidia.com/gpu", flavor), ("cpu", "default")))

    def checking(self, name: str, message: str) -> Self:
        """Reserved, behind an admission check."""
        return replace(self.reserved(), checks=({"name": name, "state": "Pending", "message": message},))

    def preempted(self, message: str = "Preempted to accommodate a workload") -> Self:
        return self._with(
            ("Evicted", "True", "Preempted", message), ("Preempted", "True", "InClusterQueue", message)
        ).pending(message)

    def parked(self, message: str = "The workload is deactivated") -> Self:
        return replace(self._with(("Evicted", "True", "Deactivated", message)), active=False)

    def finished(self, message: str = "Pods succeeded: 0/1.") -> Self:
        """Its Pods have ended; Kueue leaves the other conditions as they were."""
        return self._with(("Finished", "True", "Succeeded", message))

    def of_somebody_else(self) -> Self:
        """A Workload of that name that none of our Pods owns."""
        return replace(self, orphaned=True)

    def whose_pods_are_gone(self, seconds_ago: float = 600) -> Self:
        """Made so long ago, for Pods that are there no more: it goes in a moment."""
        return replace(self, bereaved=True, made_at=ago(seconds_ago))

    def build(self, deployment: str, namespace: str, owners: list[str]) -> JSON:
        metadata: JSON = {
            "name": names.group(deployment, self.role, self.ordinal),
            "namespace": namespace,
            "uid": f"workload-{self.role}-{self.ordinal}",
            "ownerReferences": [] if self.orphaned else [{"apiVersion": "v1", "kind": "Pod", "uid": o} for o in owners],
        }
        if self.bereaved:
            gone = {"apiVersion": "v1", "kind": "Pod", "name": names.seat(deployment, self.role, self.ordinal)}
            metadata |= {"ownerReferences": [{**gone, "uid": "gone"}], "creationTimestamp": self.made_at}
        if self.group:
            metadata["annotations"] = {kueue.IS_GROUP: "true"}
        status: JSON = {"conditions": list(self.conditions)}
        if self.flavors:
            assigned = [{"name": "2ac9563e", "flavors": dict(self.flavors), "count": 1}]
            status["admission"] = {"clusterQueue": "research", "podSetAssignments": assigned}
        if self.checks:
            status["admissionChecks"] = list(self.checks)
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": metadata,
            "spec": {"active": self.active, "queueName": "team-a"},
            "status": status,
        }


def workload(role: str, ordinal: int) -> WorkloadBuilder:
    """The Workload of that seat."""
    return WorkloadBuilder(role, ordinal)


def pod(role: str, ordinal: int, member: int = 0) -> PodBuilder:
    """A ready Pod of that seat."""
    return PodBuilder(role, ordinal, member)


def observed(manifest: JSON, namespace: str, uid: str, age: float = 900) -> JSON:
    """`manifest` as it is seen after the API server and Metacontroller have had it."""
    found = deepcopy(manifest)
    metadata = found["metadata"]
    applied = orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS).decode()
    metadata |= {
        "namespace": namespace,
        "uid": f"{metadata['name']}-uid",
        "resourceVersion": "1428",
        "creationTimestamp": ago(age),
        "labels": {**metadata.get("labels", {}), "controller-uid": uid},
        "annotations": {**metadata.get("annotations", {}), LAST_APPLIED: applied},
        "ownerReferences": [
            {
                "apiVersion": names.API_VERSION,
                "kind": "ModelDeployment",
                "name": "owner",
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    return found


def _bound_and_ready(pod_object: JSON, image: str) -> None:
    pod_object["spec"]["nodeName"] = "node-1"
    pod_object["status"] = {
        "phase": "Running",
        "podIP": "10.1.0.7",
        "startTime": ago(890),
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": ago(600)}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": [
            {
                "name": "main",
                "image": image,
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": ago(880)}},
            }
        ],
    }


@dataclass(frozen=True)
class DeploymentBuilder:
    """One ModelDeployment with what is observed around it."""

    name: str = "qwen"
    namespace: str = "team-a"
    roles: tuple[JSON, ...] = ()
    spec: JSON = field(default_factory=dict)
    metadata: JSON = field(default_factory=dict)
    status: JSON = field(default_factory=dict)
    pods: tuple[PodBuilder, ...] = ()
    services: tuple[str, ...] | None = None
    drifted: tuple[tuple[str, Change], ...] = ()
    foreign: tuple[str, ...] = ()
    types: tuple[tuple[str, JSON], ...] = (("h100-80g", H100),)
    raw_spec: Any = None
    extra_children: JSON = field(default_factory=dict)
    workloads: tuple[WorkloadBuilder, ...] = ()

    def with_role(self, name: str, **fields: Any) -> Self:
        role = {"name": name, "instanceType": "h100-80g", **fields}
        return replace(self, roles=(*self.roles, {k: v for k, v in role.items() if v is not None}))

    def with_spec(self, **fields: Any) -> Self:
        return replace(self, spec={**self.spec, **fields})

    def with_status(self, **fields: Any) -> Self:
        return replace(self, status={**self.status, **fields})

    def with_labels(self, **labels: str) -> Self:
        return replace(self, metadata={**self.metadata, "labels": {f"hangar.dev/{k}": v for k, v in labels.items()}})

    def saying(self, spec: Any) -> Self:
        """A stored spec taken as it is, valid or not."""
        return replace(self, raw_spec=spec)

    def deleting(self) -> Self:
        return replace(self, metadata={**self.metadata, "deletionTimestamp": ago(5)})

    def off(self) -> Self:
        return self.with_spec(enabled=False)

    def having(self, *pods: PodBuilder) -> Self:
        return replace(self, pods=(*self.pods, *pods))

    def with_workloads(self, *workloads: WorkloadBuilder) -> Self:
        return replace(self, workloads=(*self.workloads, *workloads))

    def with_services(self, *services: str) -> Self:
        """Our Services by name; all that are rendered where none is named."""
        return replace(self, services=services)

    def drifting(self, service: str, change: Change) -> Self:
        """One of our Services changed by somebody."""
        return replace(self, drifted=(*self.drifted, (service, change)))

    def beside(self, *services: str) -> Self:
        """Services of somebody else."""
        return replace(self, foreign=(*self.foreign, *services))

    def with_child(self, kind: str, item: JSON) -> Self:
        """A child of a kind that this version does not render."""
        return replace(self, extra_children={**self.extra_children, kind: item})

    def without_types(self) -> Self:
        return replace(self, types=())

    def with_type(self, name: str, spec: JSON) -> Self:
        return replace(self, types=(*self.types, (name, spec)))

    def parent_spec(self) -> JSON:
        engine = {"name": "vLLM", "version": "0.12.0"}
        return {"model": {"name": "Qwen/Qwen3-32B"}, "engine": engine, "roles": list(self.roles), **self.spec}

    def request(self, finalizing: bool = False) -> JSON:
        """The sync (or finalize) request of hook version v2."""
        spec = self.parent_spec() if self.raw_spec is None else self.raw_spec
        rendered, services = ({}, {}) if self.raw_spec is not None and not self.pods else self.render()
        kinds: dict[str, JSON] = {"Pod.v1": self._pods(rendered), "Service.v1": self._services(services)}
        for kind, item in self.extra_children.items():
            kinds[kind] = {f"{self.namespace}/{item['metadata']['name']}": item}
        return {
            "controller": {
                "apiVersion": "metacontroller.k8s.io/v1alpha1",
                "kind": "CompositeController",
                "metadata": {"name": "modeldeployments"},
                "spec": {"hooks": {hook: {"version": "v2"} for hook in ("sync", "finalize", "customize")}},
            },
            "parent": {
                "apiVersion": names.API_VERSION,
                "kind": "ModelDeployment",
                "metadata": {
                    "name": self.name,
                    "namespace": self.namespace,
                    "uid": UID,
                    "generation": 1,
                    "resourceVersion": "1427",
                    "creationTimestamp": ago(1000),
                    **self.metadata,
                },
                "spec": spec,
                **({"status": self.status} if self.status else {}),
            },
            "children": kinds,
            "related": self._related(kinds["Service.v1"]),
            "finalizing": finalizing,
        }

    def customize(self) -> JSON:
        """The customize request: the parent alone."""
        request = self.request()
        return {"controller": request["controller"], "parent": request["parent"]}

    def render(self) -> tuple[dict[str, RenderedRole], dict[str, JSON]]:
        """The roles and Services as the controller renders them."""
        identity = Identity(self.name, self.namespace)
        spec = ModelDeploymentSpec.model_validate({**self.parent_spec(), "enabled": True})
        types = {name: InstanceTypeSpec.model_validate(found) for name, found in (*self.types, ("h100-80g", H100))}
        roles = {
            role.name: render_role(identity, spec, role, types.get(role.instance_type or ""), KUEUE)
            for role in spec.roles
        }
        return roles, render_services(identity, list(roles.values()))

    def _pods(self, rendered: dict[str, RenderedRole]) -> JSON:
        found: JSON = {}
        for builder in self.pods:
            role = rendered.get(builder.role) or next(iter(rendered.values()))
            manifest = role.pod(builder.ordinal, builder.member)
            if builder.outdated_by:
                manifest["metadata"]["annotations"][names.POD_HASH] = f"hash-of-{builder.outdated_by}"
            if builder.role not in rendered:
                manifest["metadata"]["labels"][names.ROLE] = builder.role
            item = observed(manifest, self.namespace, UID)
            _bound_and_ready(item, manifest["spec"]["containers"][0]["image"])
            for change in builder.changes:
                change(item)
            found[f"{self.namespace}/{item['metadata']['name']}"] = item
        return found

    def _services(self, rendered: dict[str, JSON]) -> JSON:
        if self.services is None:
            return {}
        changes = dict(self.drifted)
        found: JSON = {}
        for name in self.services or rendered:
            manifest = rendered.get(name) or {**deepcopy(next(iter(rendered.values()))), "metadata": {"name": name}}
            item = observed(manifest, self.namespace, UID)
            item["spec"].setdefault("clusterIP", "10.0.0.11")
            item["spec"] |= {"type": "ClusterIP", "sessionAffinity": "None", "ipFamilies": ["IPv4"]}
            item["status"] = {"loadBalancer": {}}
            if name in changes:
                changes[name](item)
            found[f"{self.namespace}/{name}"] = item
        return found

    def _related(self, ours: JSON) -> JSON:
        services = dict(ours)
        for name in self.foreign:
            item = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": self.namespace}}
            services[f"{self.namespace}/{name}"] = {**item, "spec": {"ports": [{"port": 80}]}}
        types = {
            name: {
                "apiVersion": names.API_VERSION,
                "kind": "InstanceType",
                "metadata": {"name": name, "uid": f"{name}-uid"},
                "spec": spec,
            }
            for name, spec in self.types
        }
        related = {"Service.v1": services, f"InstanceType.{names.API_VERSION}": types}
        if self.workloads:
            related["Workload.kueue.x-k8s.io/v1beta2"] = self._workloads()
        return related

    def _workloads(self) -> JSON:
        found: JSON = {}
        for builder in self.workloads:
            owners = [
                f"{names.pod(self.name, p.role, p.ordinal, p.member, self._size(p.role))}-uid"
                for p in self.pods
                if (p.role, p.ordinal) == (builder.role, builder.ordinal)
            ]
            item = builder.build(self.name, self.namespace, owners)
            found[f"{self.namespace}/{item['metadata']['name']}"] = item
        return found

    def _size(self, role: str) -> int:
        return next(int(stated.get("size", 1)) for stated in self.roles if stated["name"] == role)


def a_deployment(name: str = "qwen") -> DeploymentBuilder:
    """A vLLM deployment in namespace team-a, without roles yet."""
    return DeploymentBuilder(name=name)
