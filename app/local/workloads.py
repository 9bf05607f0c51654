"""Deployments and StatefulSets as the API server admits them. Nothing acts on them here: they make no Pods."""

import json
from collections.abc import Iterator

from app.kube.hook import JSON
from app.local.podchecks import require_types, spec_problems
from app.local.podspec import filled_spec
from app.local.schema import Problem
from app.local.selectors import matches
from app.local.typed import sent_back
from app.local.values import labels, mapping, same

_DEPLOYMENT: JSON = {
    "replicas": 1,
    "strategy": {"type": "RollingUpdate"},
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
}
_STATEFUL_SET: JSON = {
    "replicas": 1,
    "podManagementPolicy": "OrderedReady",
    "updateStrategy": {"type": "RollingUpdate"},
    "revisionHistoryLimit": 10,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
}
_ROLLING: dict[str, JSON] = {
    "strategy": {"maxUnavailable": "25%", "maxSurge": "25%"},
    "updateStrategy": {"partition": 0},
}
# What of a StatefulSet's spec may change.
_FREE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def admit_deployment(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Deployment with its defaults. Raises BadRequest."""
    deployment, spec = _filled(obj, _DEPLOYMENT)
    found = list(_problems(spec, ("Recreate", "RollingUpdate"), "strategy"))
    if stored is not None and not same(spec.get("selector"), mapping(stored.get("spec")).get("selector")):
        shown = json.dumps(spec.get("selector"), separators=(",", ":"))
        found.append(("spec.selector", f"Invalid value: {shown}: field is immutable"))
    return deployment, found


def admit_stateful_set(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A StatefulSet with its defaults. Raises BadRequest."""
    stateful_set, spec = _filled(obj, _STATEFUL_SET)
    found = list(_problems(spec, ("OnDelete", "RollingUpdate"), "updateStrategy"))
    if stored is not None and not same(_fixed(spec), _fixed(mapping(stored.get("spec")))):
        names = ", ".join(f"'{one}'" for one in _FREE[:-1])
        words = f"updates to statefulset spec for fields other than {names} and '{_FREE[-1]}' are forbidden"
        found.append(("spec", f"Forbidden: {words}"))
    return stateful_set, found


def _fixed(spec: JSON) -> JSON:
    return {key: value for key, value in spec.items() if key not in _FREE}


def _filled(obj: JSON, defaults: JSON) -> tuple[JSON, JSON]:
    workload = sent_back(obj)
    spec = defaults | mapping(workload.get("spec"))
    template = mapping(spec.get("template"))
    require_types(workload, mapping(template.get("spec")))
    spec["template"] = {"metadata": {}, **template, "spec": filled_spec(mapping(template.get("spec")))}
    for field, rolling in _ROLLING.items():
        if mapping(spec.get(field)).get("type") == "RollingUpdate":
            spec[field] = {**spec[field], "rollingUpdate": rolling | mapping(spec[field].get("rollingUpdate"))}
    workload["spec"] = spec
    workload["status"] = mapping(workload.get("status"))
    return workload, spec


def _problems(spec: JSON, strategies: tuple[str, str], strategy: str) -> Iterator[Problem]:
    if isinstance(spec["replicas"], int) and spec["replicas"] < 0:
        yield "spec.replicas", f"Invalid value: {spec['replicas']}: must be greater than or equal to 0"
    selector, worn = mapping(spec.get("selector")), labels(spec["template"])
    if "selector" not in spec:
        yield "spec.selector", "Required value"
    if not selector or not matches(selector, worn):
        shown = json.dumps(worn, separators=(",", ":")) if worn else "null"
        words = f"Invalid value: {shown}: `selector` does not match template `labels`"
        yield "spec.template.metadata.labels", words
    found = mapping(spec.get(strategy)).get("type")
    if found not in strategies:
        shown = ", ".join(f'"{one}"' for one in strategies)
        yield f"spec.{strategy}", f"Unsupported value: {json.dumps(found)}: supported values: {shown}"
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy != "Always":
        yield "spec.template.spec.restartPolicy", f'Unsupported value: {json.dumps(policy)}: supported values: "Always"'
    yield from spec_problems(spec["template"]["spec"], "spec.template.spec")
