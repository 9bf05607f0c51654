"""What `hangar run` says of objects: their line while they change, and in the end what they have got or wait for."""

from dataclasses import dataclass
from datetime import datetime

from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.kinds import MODEL_DEPLOYMENT
from app.kube import times
from app.kube.hook import JSON
from app.kube.pods import condition, mapping, maps

_ABNORMAL = frozenset(one.type for one in MODEL_DEPLOYMENT_CONDITIONS if one.only_when_true)


@dataclass(frozen=True, slots=True)
class Row:
    """What one deployment shows of itself in one line."""

    name: str
    phase: str
    roles: str
    ready: str
    endpoint: str
    admission: str
    message: str


def row(obj: JSON) -> Row:
    """The line of a stored ModelDeployment; what its status does not say yet is a dash or empty."""
    status, metadata = mapping(obj.get("status")), obj["metadata"]
    admission = mapping(status.get("admission"))
    words = [admission[part] for part in ("phase", "reason") if admission.get(part)]
    return Row(
        name=f"{metadata['namespace']}/{metadata['name']}",
        phase=status.get("phase") or "-",
        roles=status.get("roleSummary") or "-",
        ready=status.get("ready") or "-",
        endpoint=status.get("endpoint") or "-",
        admission="/".join(words) or "-",
        message=status.get("phaseMessage") or "",
    )


def tell_deployment(obj: JSON) -> JSON:
    """What the timeline tells of a ModelDeployment; what its status does not say yet is null."""
    status = mapping(obj.get("status"))
    admission = mapping(status.get("admission"))
    told = {field: status.get(field) for field in ("phase", "ready", "roleSummary", "endpoint")}
    words = {part: admission.get(part) for part in ("phase", "reason")}
    return {**told, "admission": words if admission else None, "message": status.get("phaseMessage") or ""}


def tell_pod(pod: JSON) -> JSON:
    """What the timeline tells of a Pod: phase, Ready condition, node, restarts, and why it is not ready."""
    status = mapping(pod.get("status"))
    containers = maps(status.get("containerStatuses"))
    return {
        "phase": "Terminating" if "deletionTimestamp" in pod["metadata"] else status.get("phase"),
        "ready": condition(status, "Ready").get("status") == "True",
        "node": mapping(pod.get("spec")).get("nodeName"),
        "restarts": sum(one.get("restartCount", 0) for one in containers),
        "message": _why(status, containers),
    }


def tell_node(node: JSON) -> JSON:
    """What the timeline tells of a node."""
    ready = condition(mapping(node.get("status")), "Ready")
    return {"ready": ready.get("status") == "True", "message": ready.get("message", "")}


def _why(status: JSON, containers: list[JSON]) -> str:
    """The words of who knows why a Pod does not run: the Pod's own, the scheduler's, its containers'."""
    scheduled = condition(status, "PodScheduled")
    found = [(status.get("reason"), status.get("message"))]
    if scheduled.get("status") == "False":
        found.append((scheduled.get("reason"), scheduled.get("message")))
    for one in containers:
        state = mapping(one.get("state"))
        for kind in ("waiting", "terminated"):
            found.append((mapping(state.get(kind)).get("reason"), mapping(state.get(kind)).get("message")))
    told = [": ".join(str(part) for part in words if part) for words in found]
    return next((words for words in told if words), "")


def settled(obj: JSON) -> bool:
    """Whether the status answers for the spec as it is now and says Ready."""
    status = mapping(obj.get("status"))
    return status.get("phase") == "Ready" and status.get("observedGeneration") == obj["metadata"]["generation"]


def serves(obj: JSON) -> bool:
    """Whether the condition Ready is true: a deployment scaled to zero settles and serves nothing."""
    conditions = maps(mapping(obj.get("status")).get("conditions"))
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def waits_for(obj: JSON, event: str) -> str:
    """Why a deployment does not serve, in one paragraph; `event` is its newest error event, if any."""
    shown, conditions = row(obj), maps(mapping(obj.get("status")).get("conditions"))
    sentences = [
        f"{shown.name} is {shown.phase}: {shown.message}" if shown.message else f"{shown.name} is {shown.phase}"
    ]
    if shown.phase == "-":
        sentences = [f"{shown.name} has no status: its hook was never answered"]
    against = [one for one in conditions if one.get("type") in _ABNORMAL and one.get("status") == "True"]
    untrue = [one for one in conditions if one.get("type") not in _ABNORMAL and one.get("status") != "True"]
    sentences += [f"{one['type']}, {one['reason']}: {one['message']}" for one in against]
    sentences += [f"{one['type']} is {one['status']}, {one['reason']}: {one['message']}" for one in untrue]
    if event:
        sentences.append(f"last event, {event}")
    return "\n  ".join(sentences)


def clock(seconds: float) -> str:
    """Simulated time since the start, as `hh:mm:ss`."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def summary(objects: list[JSON], now: datetime) -> str:
    """The rows that `kubectl get modeldeployments -A -o wide` would print."""
    columns = [column for column in MODEL_DEPLOYMENT.columns if column.type != "date"]
    head = ["NAMESPACE", "NAME", *(column.name.upper() for column in columns), "AGE"]
    body = [
        [
            *(obj["metadata"][part] for part in ("namespace", "name")),
            *(_at(obj, column.path) for column in columns),
            _age(obj, now),
        ]
        for obj in objects
    ]
    widths = [max(len(line[index]) for line in [head, *body]) for index in range(len(head))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in [head, *body]]
    return "\n".join(line.rstrip() for line in lines)


def _age(obj: JSON, now: datetime) -> str:
    born = times.parse(obj["metadata"].get("creationTimestamp"))
    return f"{int((now - born).total_seconds())}s" if born else ""


def _at(obj: JSON, path: str) -> str:
    found: object = obj
    for step in path.strip(".").split("."):
        found = mapping(found).get(step)
    return "" if found is None else str(found)
