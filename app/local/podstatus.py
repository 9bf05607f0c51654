"""The status of a Pod as scheduler and kubelet write it: conditions, container states, phase. Pure functions."""

from dataclasses import dataclass, field
from datetime import datetime

from app.kube import times
from app.kube.hook import JSON
from app.local.values import listed, mapping


@dataclass(slots=True)
class ContainerRun:
    """One container on its node. `started_at` is None until its process runs; `started` is its startup gate."""

    name: str
    image: str
    started_at: datetime | None = None
    started: bool = False
    ready: bool = False
    restarts: int = 0
    last_state: JSON = field(default_factory=dict)


def with_condition(status: JSON, now: datetime, kind: str, value: bool, reason: str = "", message: str = "") -> JSON:
    """`status` with one condition set; its transition time moves only when its status changes."""
    conditions = listed(status.get("conditions"))
    before: JSON = next((one for one in conditions if one.get("type") == kind), {})
    text = "True" if value else "False"
    since = before.get("lastTransitionTime") if before.get("status") == text else times.render(now)
    new: JSON = {"type": kind, "status": text, "lastProbeTime": None, "lastTransitionTime": since}
    new |= {key: words for key, words in (("reason", reason), ("message", message)) if words}
    others = [new if one is before else one for one in conditions]
    return {**status, "conditions": others if before else [*conditions, new]}


def gated(status: JSON, now: datetime) -> JSON:
    """The status of a Pod that the scheduler may not look at."""
    words = "Scheduling is blocked due to non-empty scheduling gates"
    return with_condition(status, now, "PodScheduled", False, "SchedulingGated", words)


def on_node(status: JSON, now: datetime, containers: list[ContainerRun], addresses: JSON) -> JSON:
    """The status of a bound Pod. `addresses` holds hostIP and, once it has one, podIP."""
    running = all(one.started_at is not None for one in containers)
    unready = [one.name for one in containers if not one.ready]
    new = {**status, **addresses, "startTime": status.get("startTime", times.render(now))}
    new["hostIPs"] = [{"ip": new["hostIP"]}]
    if "podIP" in new:
        new["podIPs"] = [{"ip": new["podIP"]}]
    new["phase"] = "Running" if running else "Pending"
    new["containerStatuses"] = [_container(one) for one in containers]
    new = with_condition(new, now, "PodScheduled", True)
    new = with_condition(new, now, "PodReadyToStartContainers", "podIP" in new)
    new = with_condition(new, now, "Initialized", True)
    words = f"containers with unready status: [{' '.join(unready)}]" if unready else ""
    reason = "ContainersNotReady" if unready else ""
    new = with_condition(new, now, "ContainersReady", not unready, reason, words)
    return with_condition(new, now, "Ready", not unready, reason, words)


def _container(run: ContainerRun) -> JSON:
    if run.started_at is None:
        state: JSON = {"waiting": {"reason": "ContainerCreating"}}
    else:
        state = {"running": {"startedAt": times.render(run.started_at)}}
    return {
        "name": run.name,
        "image": run.image,
        "imageID": f"local/{run.image}" if run.started_at else "",
        "ready": run.ready,
        "started": run.started,
        "restartCount": run.restarts,
        "state": state,
        "lastState": run.last_state,
    }


def runs_of(pod: JSON) -> list[ContainerRun]:
    """The containers of a Pod before any of them runs."""
    return [ContainerRun(one["name"], one["image"]) for one in listed(mapping(pod.get("spec")).get("containers"))]
