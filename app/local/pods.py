"""Pods as the API server admits them: what admission adds, and the edits that it refuses."""

from app.kube.hook import JSON
from app.local.podchecks import require_types, spec_problems
from app.local.podspec import filled_spec
from app.local.schema import Problem
from app.local.typed import sent_back
from app.local.values import listed, mapping, same

_NODE_GONE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# What a Pod has and a template has not: set by admission plugins.
_ADMITTED: JSON = {"enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority", "priority": 0}


def admit_pod(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Pod with its defaults. Raises BadRequest."""
    pod = sent_back(obj)
    spec = mapping(pod.get("spec"))
    require_types(pod, spec)
    if stored is not None:
        return pod, _edit_problems(mapping(stored.get("spec")), spec)
    account = spec.get("serviceAccountName", "default")
    filled = _ADMITTED | filled_spec({**spec, "serviceAccountName": account})
    filled["tolerations"] = _tolerations(listed(spec.get("tolerations")))
    pod["spec"] = filled
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(filled)}
    return pod, list(spec_problems(filled))


def _edit_problems(before: JSON, after: JSON) -> list[Problem]:
    """Of a Pod's spec only images, leaving gates, added tolerations and the deadline may change.

    While it has gates, its node selector may grow too.
    """
    old, new = _frozen(before), _frozen(after)
    selectors = mapping(old.get("nodeSelector")), mapping(new.get("nodeSelector"))
    if listed(before.get("schedulingGates")) and selectors[0].items() <= selectors[1].items():
        old, new = {**old, "nodeSelector": {}}, {**new, "nodeSelector": {}}
    if not same(old, new):
        message = (
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
            "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
            "negative)"
        )
        return [("spec", message)]
    added = [
        one["name"] for one in listed(after.get("schedulingGates")) if one not in listed(before.get("schedulingGates"))
    ]
    if added:
        words = f"Forbidden: only deletion is allowed, but found new scheduling gate '{added[0]}'"
        return [("spec.schedulingGates", words)]
    if any(one not in listed(after.get("tolerations")) for one in listed(before.get("tolerations"))):
        return [("spec.tolerations", "Forbidden: existing toleration can not be modified except its tolerationSeconds")]
    return []


def _frozen(spec: JSON) -> JSON:
    free = {"schedulingGates", "tolerations", "activeDeadlineSeconds", "containers"}
    containers = [{k: v for k, v in one.items() if k != "image"} for one in listed(spec.get("containers"))]
    return {key: value for key, value in spec.items() if key not in free} | {"containers": containers}


def _tolerations(stated: list[JSON]) -> list[JSON]:
    """What a Pod tolerates of a lost node is added by an admission plugin, unless the Pod says so itself."""
    said = {one.get("key") for one in stated}
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _NODE_GONE
        if key not in said
    ]
    return stated + added


def qos_class(spec: JSON) -> str:
    """Guaranteed, Burstable or BestEffort, from the CPU and memory of all containers."""
    resources = [mapping(one.get("resources")) for one in listed(spec.get("containers"))]
    limits = [{k: v for k, v in mapping(one.get("limits")).items() if k in {"cpu", "memory"}} for one in resources]
    requests = [{k: v for k, v in mapping(one.get("requests")).items() if k in {"cpu", "memory"}} for one in resources]
    if not any(limits) and not any(requests):
        return "BestEffort"
    equal = all(len(limit) == 2 and limit == request for limit, request in zip(limits, requests, strict=True))
    return "Guaranteed" if equal else "Burstable"
