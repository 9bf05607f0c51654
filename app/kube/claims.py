"""What a Workload asks of its queue and what it holds: the side of it that concerns other Workloads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from app.kube.hook import JSON
from app.kube.kueue import WorkloadView, workload
from app.kube.pods import condition, mapping, maps, text
from app.kube.queues import amount

# A resource of a flavor.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """One Workload.

    `requests` is what it asks for in all, by resource; `held` what it has reserved, by flavor and resource; both in
    base units, and `spellings` an example of how each resource is written. `owner` is (kind, name) of its first owner,
    which for a pod group is one of its Pods. `holds` says whether it keeps quota that others lack.
    """

    view: WorkloadView
    namespace: str
    queue: str
    priority: int
    priority_class: str
    created_at: str
    requests: Mapping[str, Fraction]
    held: Mapping[Place, Fraction]
    spellings: Mapping[str, str]
    owner: tuple[str, str]
    holds: bool


def claim(item: JSON) -> Claim:
    """Reads one Workload of either version."""
    metadata, spec, status = (mapping(item.get(part)) for part in ("metadata", "spec", "status"))
    assignments = maps(mapping(status.get("admission")).get("podSetAssignments"))
    priority = spec.get("priority")
    return Claim(
        view=workload(item),
        namespace=text(metadata.get("namespace")),
        queue=text(spec.get("queueName")),
        priority=priority if isinstance(priority, int) else 0,
        priority_class=text(mapping(spec.get("priorityClassRef")).get("name")) or text(spec.get("priorityClassName")),
        created_at=text(metadata.get("creationTimestamp")),
        requests=_total(_requests(spec, status)),
        held=_held(assignments),
        spellings=_spellings(spec, assignments),
        owner=_owner(metadata),
        holds=_holds(status),
    )


def _holds(status: JSON) -> bool:
    """Whether it keeps quota: a Workload that is evicted does until its last Pod is gone, a finished one does not."""
    reserved = condition(status, "QuotaReserved").get("status") == "True"
    return reserved and condition(status, "Finished").get("status") != "True"


def _requests(spec: JSON, status: JSON) -> list[dict[str, Fraction]]:
    """Kueue's own account where it gives one (with overheads and defaults), else the sum over the Pods' containers."""
    counted = [_quantities(entry.get("resources")) for entry in maps(status.get("resourceRequests"))]
    return counted or [_pod_set(pod_set) for pod_set in maps(spec.get("podSets"))]


def _pod_set(pod_set: JSON) -> dict[str, Fraction]:
    pod = mapping(mapping(pod_set.get("template")).get("spec"))
    stated, count = pod_set.get("count"), 1
    if isinstance(stated, int):
        count = stated
    first = maps(pod.get("initContainers"))
    sidecars = [item for item in first if item.get("restartPolicy") == "Always"]
    summed = _total(_container(item) for item in (*maps(pod.get("containers")), *sidecars))
    # Any other init container runs before the rest, so a Pod asks for the larger of the two.
    for item in first:
        alone = _container(item)
        summed = {name: max(summed.get(name, Fraction(0)), alone.get(name, Fraction(0))) for name in {*summed, *alone}}
    return {name: value * count for name, value in summed.items()}


def _container(container: JSON) -> dict[str, Fraction]:
    resources = mapping(container.get("resources"))
    return {**_quantities(resources.get("limits")), **_quantities(resources.get("requests"))}


def _quantities(resources: object) -> dict[str, Fraction]:
    return {name: amount(quantity) for name, quantity in mapping(resources).items()}


def _total(parts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for part in parts:
        for name, value in part.items():
            found[name] = found.get(name, Fraction(0)) + value
    return found


def _held(assignments: list[JSON]) -> dict[Place, Fraction]:
    found: dict[Place, Fraction] = {}
    for assignment in assignments:
        usage = _quantities(assignment.get("resourceUsage"))
        for resource, flavor in mapping(assignment.get("flavors")).items():
            place = (text(flavor), resource)
            found[place] = found.get(place, Fraction(0)) + usage.get(resource, Fraction(0))
    return found


def _spellings(spec: JSON, assignments: list[JSON]) -> dict[str, str]:
    found: dict[str, str] = {}
    containers = [
        mapping(container.get("resources"))
        for pod_set in maps(spec.get("podSets"))
        for container in maps(mapping(mapping(pod_set.get("template")).get("spec")).get("containers"))
    ]
    written = [resources.get(part) for resources in containers for part in ("limits", "requests")]
    for resources in (*written, *(assignment.get("resourceUsage") for assignment in assignments)):
        found |= {name: str(quantity) for name, quantity in mapping(resources).items() if amount(quantity)}
    return found


def _owner(metadata: JSON) -> tuple[str, str]:
    owners = maps(metadata.get("ownerReferences"))
    first = next((owner for owner in owners if owner.get("controller") is True), owners[0] if owners else {})
    return text(first.get("kind")), text(first.get("name"))
