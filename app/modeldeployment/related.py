"""Objects that a deployment wants to see beside its children, all by name.

Metacontroller caches the answer per generation of the parent, and it is given from the parent alone. The spec is read
without validating it: a failed customize keeps the sync from being called, and the sync is who can say what is wrong.
"""

from app.kube import names
from app.kube.hook import JSON, RelatedRule
from app.kube.pods import mapping, maps, text
from app.settings import ControllerSettings

KUEUE_GROUP = "kueue.x-k8s.io"
_MOST = 1000


def customize(parent: JSON, settings: ControllerSettings) -> tuple[RelatedRule, ...]:
    """The Services that will be ours, the InstanceTypes, and with Kueue the Workloads of the seats.

    Whether a role has a queue may be its InstanceType's to say, which is not seen here: so Workloads are asked for of
    every seat, by name. Those that do not exist cost nothing, and a foreign one of the namespace is never delivered.
    """
    metadata = mapping(parent.get("metadata"))
    deployment, namespace = text(metadata.get("name")), text(metadata.get("namespace"))
    roles = [role for role in maps(mapping(parent.get("spec")).get("roles")) if text(role.get("name"))]
    rules = [RelatedRule("v1", "services", _services(deployment, roles), namespace=namespace)]
    types = {text(role.get("instanceType")) for role in roles} - {""}
    if types:
        rules.append(RelatedRule(names.API_VERSION, "instancetypes", tuple(sorted(types))))
    workloads = _workloads(deployment, roles) if settings.kueue else ()
    if workloads:
        version = f"{KUEUE_GROUP}/{settings.kueue_version}"
        rules.append(RelatedRule(version, "workloads", workloads, namespace=namespace))
    return tuple(rules)


def _services(deployment: str, roles: list[JSON]) -> tuple[str, ...]:
    found = {deployment}
    for role in roles:
        found.add(names.role_service(deployment, role["name"]))
        if role.get("size", 1) != 1:
            found.add(names.headless_service(deployment, role["name"]))
    return tuple(sorted(found))


def _workloads(deployment: str, roles: list[JSON]) -> tuple[str, ...]:
    return tuple(names.group(deployment, role["name"], ordinal) for role in roles for ordinal in range(_replicas(role)))


def _replicas(role: JSON) -> int:
    stated = role.get("replicas", 1)
    return min(max(stated, 0), _MOST) if isinstance(stated, int) else 0
