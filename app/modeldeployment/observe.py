"""What one request shows of a ModelDeployment: request dicts in, small frozen facts out.

The parent's spec is validated once (see `spec`); of the rest only what is needed is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from app.api.instancetype import InstanceTypeSpec
from app.api.modeldeployment import ModelDeploymentSpec
from app.api.problems import sentence
from app.api.reasons import Reason
from app.api.role import Role
from app.kube import kueue, names
from app.kube.hook import JSON, ObjectMap, SyncRequest
from app.kube.kueue import WorkloadView, workload
from app.kube.pods import PodView, mapping, maps, text, view
from app.modeldeployment.spec import Refusal, read_spec

POD = "Pod.v1"
SERVICE = "Service.v1"
INSTANCE_TYPE = f"InstanceType.{names.API_VERSION}"
WORKLOAD = f"Workload.{kueue.PREFIX}"
WORKLOAD_LABEL = f"{names.GROUP}/workload"


@dataclass(frozen=True, slots=True)
class Observed:
    """One deployment as a request shows it.

    `spec` is None exactly where `refusal` says why it could not be read; `roles` are then those of it that can be
    counted. `instance_types` holds what was asked for
    and found: the spec, or the refusal of one that does not validate. `children` are all live and terminating
    children but Pods, by kind key and `namespace/name`; `foreign_services` are Services of a wanted name that do not
    belong to this deployment. `workloads` are Kueue's by name, of the names that this deployment's replicas would
    have. `status` is the stored one.
    """

    name: str
    namespace: str
    uid: str
    generation: int
    workload_id: str
    deleting: bool
    finalizing: bool
    spec: ModelDeploymentSpec | None
    roles: tuple[Role, ...]
    refusal: Refusal | None
    instance_types: Mapping[str, InstanceTypeSpec | Refusal]
    pods: tuple[PodView, ...]
    children: ObjectMap
    foreign_services: frozenset[str]
    workloads: Mapping[str, WorkloadView]
    status: JSON


def observe(request: SyncRequest) -> Observed:
    """Reads one request. Never raises for what a user can write into a spec."""
    metadata = mapping(request.parent.get("metadata"))
    uid = text(metadata.get("uid"))
    reading = read_spec(request.parent)
    generation = metadata.get("generation")
    return Observed(
        name=text(metadata.get("name")),
        namespace=text(metadata.get("namespace")),
        uid=uid,
        generation=generation if type(generation) is int and generation > 0 else 0,
        workload_id=text(mapping(metadata.get("labels")).get(WORKLOAD_LABEL)) or uid,
        deleting=bool(metadata.get("deletionTimestamp")),
        finalizing=request.finalizing,
        spec=reading.spec,
        roles=reading.roles,
        refusal=reading.refusal,
        instance_types={
            name: _instance_type(name, found) for name, found in request.related.get(INSTANCE_TYPE, {}).items()
        },
        pods=tuple(view(key, pod) for key, pod in request.children.get(POD, {}).items()),
        children={kind: found for kind, found in request.children.items() if kind != POD},
        foreign_services=_foreign_services(request, uid),
        workloads=_workloads(request),
        status=mapping(request.parent.get("status")),
    )


def _instance_type(name: str, found: JSON) -> InstanceTypeSpec | Refusal:
    try:
        return InstanceTypeSpec.model_validate(found.get("spec", {}))
    except ValidationError as error:
        return Refusal(Reason.INSTANCE_TYPE_INVALID, f"InstanceType {name}: {sentence(error, 'spec')}")


def _workloads(request: SyncRequest) -> dict[str, WorkloadView]:
    """Workloads of whichever version was asked for."""
    found = [items for kind, items in request.related.items() if kind.startswith(WORKLOAD)]
    return {view.name: view for items in found for view in map(workload, items.values())}


def _foreign_services(request: SyncRequest, uid: str) -> frozenset[str]:
    """Names of related Services whose controller is not this deployment (nor are they its children)."""
    children = request.children.get(SERVICE, {})
    return frozenset(
        key.rpartition("/")[2]
        for key, service in request.related.get(SERVICE, {}).items()
        if key not in children and not _owned_by(service, uid)
    )


def _owned_by(item: JSON, uid: str) -> bool:
    owners = maps(mapping(item.get("metadata")).get("ownerReferences"))
    return any(owner.get("uid") == uid and owner.get("controller") is True for owner in owners)
