"""What an edit of a ModelDeployment does: which replicas it restarts, and what the API server would not take."""

from collections.abc import Iterator
from typing import Any

from app.api.crd import crds
from app.api.kinds import MODEL_DEPLOYMENT
from app.api.modeldeployment import SAME_ROLES, ModelDeploymentSpec
from app.api.rules import frozen, unchanged
from app.cli.rendering import pod_hash
from app.kube import kueue, names
from app.kube.hook import JSON
from app.kube.pods import mapping, maps


def refusals(before: JSON, after: JSON) -> list[str]:
    """What the API server says to the edit: the sentence of each frozen field that changed. Both specs are valid."""
    schema = next(crd for crd in crds() if crd["spec"]["names"]["kind"] == MODEL_DEPLOYMENT.kind)
    spec_schema = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    stored, wanted = (
        ModelDeploymentSpec.model_validate(one["spec"]).model_dump(by_alias=True, exclude_none=True, mode="json")
        for one in (before, after)
    )
    return list(_frozen(spec_schema, stored, wanted, "spec"))


def effects(before: JSON, after: JSON, rendered_before: list[JSON], rendered_after: list[JSON]) -> list[str]:
    """What the edit does, a sentence per role and per Service that changes; both states were rendered."""
    old, new = (ModelDeploymentSpec.model_validate(one["spec"]) for one in (before, after))
    return [*_roles(old, new, rendered_before, rendered_after), *_services(rendered_before, rendered_after)]


def _roles(old: ModelDeploymentSpec, new: ModelDeploymentSpec, before: list[JSON], after: list[JSON]) -> Iterator[str]:
    if not new.enabled:
        yield "spec.enabled is false, so this comes to pass once it is true again:"
    known = {role.name: role for role in old.roles}
    for role in new.roles:
        replicas = known[role.name].replicas, role.replicas
        first, second = (_first_pod(pods, role.name) for pods in (before, after))
        if first is None or second is None:
            what = "no replica to compare"
        elif pod_hash(first) == pod_hash(second):
            what = "no replica turns over"
        else:
            count = min(replicas)
            subject = "1 replica turns over" if count == 1 else f"{count} replicas turn over"
            what = f"{subject} ({', '.join(_changes(first, second)) or 'another member'}){_at_stake(second, count)}"
        scaled = "" if replicas[0] == replicas[1] else f"; replicas {replicas[0]} -> {replicas[1]}"
        yield f"role {role.name}: {what}{scaled}"


def _at_stake(pod: JSON, count: int) -> str:
    """What a turnover puts at risk on a full pool: a replica's quota is free while its seat empties."""
    if kueue.QUEUE not in pod["metadata"]["labels"] or count == 0:
        return ""
    waits = "the role may wait at zero" if count == 1 else "one of them may have to wait"
    return f"; meanwhile whoever queues may take its quota, so on a full pool {waits}"


def _first_pod(children: list[JSON], role: str) -> JSON | None:
    """The first Pod of a role; its leader comes first."""
    pods = (child for child in children if child["kind"] == "Pod")
    return next((pod for pod in pods if pod["metadata"]["labels"][names.ROLE] == role), None)


def _changes(old: JSON, new: JSON) -> list[str]:
    """The fields in which two Pods of one seat differ, as they are written in a manifest."""
    found = [
        f"{where}[{key}]"
        for where in ("labels", "annotations")
        for key in _differing(old["metadata"].get(where), new["metadata"].get(where))
        if key != names.POD_HASH
    ]
    for key in _differing(old["spec"], new["spec"]):
        if key != "containers":
            found.append(key)
            continue
        first, second = (pod["spec"]["containers"][0] for pod in (old, new))
        found += [_shown(field, first, second) for field in _differing(first, second)]
    return found


def _differing(old: Any, new: Any) -> list[str]:
    """Keys in which two maps differ, in the order of the newer one."""
    first, second = mapping(old), mapping(new)
    return [key for key in {**second, **first} if first.get(key) != second.get(key)]


def _shown(field: str, old: JSON, new: JSON) -> str:
    """A field of a container; short ones with their values."""
    if field == "image":
        return f"image {old['image']} -> {new['image']}"
    if field == "env":
        first, second = ({item["name"]: item for item in maps(one.get("env"))} for one in (old, new))
        return f"env {', '.join(_differing(first, second))}".rstrip()
    return "args" if field == "command" else field


def _services(before: list[JSON], after: list[JSON]) -> Iterator[str]:
    old, new = (
        {one["metadata"]["name"]: one for one in found if one["kind"] == "Service"} for found in (before, after)
    )
    for name in _differing(old, new):
        what = "is made" if name not in old else "is removed" if name not in new else "changes in place"
        yield f"Service {name} {what}"


def _frozen(schema: JSON, old: Any, new: Any, path: str) -> Iterator[str]:
    """The messages of the schema's rules about frozen fields that the edit breaks, with their path."""
    for rule in schema.get("x-kubernetes-validations", ()):
        where = _broken(rule, old, new)
        if where is not None:
            yield f"{path}{where}: {rule['message']}"
    if isinstance(old, dict) and isinstance(new, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in old and key in new:
                yield from _frozen(inner, old[key], new[key], f"{path}.{key}")
    elif isinstance(old, list) and schema.get("x-kubernetes-list-map-keys") == ["name"]:
        known = _by_name(old)
        for name, one in _by_name(new).items():
            if name in known:
                yield from _frozen(schema["items"], known[name], one, f"{path}[{name}]")


def _broken(rule: JSON, old: Any, new: Any) -> str | None:
    """Where the edit breaks one rule about a frozen field, relative to the rule; None where it does not."""
    field = str(rule.get("fieldPath", "")).removeprefix(".")
    if rule["rule"] == unchanged("", "")["rule"]:
        return "" if old != new else None
    if field and rule["rule"] == frozen(field, "")["rule"]:
        return f".{field}" if old.get(field) != new.get(field) else None
    if rule["rule"] == SAME_ROLES["rule"]:
        return "" if _by_name(old).keys() != _by_name(new).keys() else None
    return None


def _by_name(items: list[JSON]) -> dict[str, JSON]:
    return {item["name"]: item for item in items}
