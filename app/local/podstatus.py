"""The status of a Pod as scheduler and kubelet write it: conditions, container states, phase. Pure functions."""

from dataclasses import dataclass, field
from datetime import datetime

from app.kube import times
from app.kube.hook import JSON
from app.local.values import listed, mapping

ENDED = frozenset({"Failed", "Succeeded"})


@dataclass(frozen=True, slots=True)
class Words:
    """A reason and a message, as conditions, states and events carry them."""

    reason: str
    message: str = ""


@dataclass(slots=True)
class ContainerStatus:
    """One container on its node. `state` is one of waiting, running, terminated; `started` is its startup gate."""

    name: str
    image: str
    state: JSON = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    started: bool = False
    ready: bool = False
    restarts: int = 0
    last_state: JSON = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return "running" in self.state

    def wait(self, words: Words) -> None:
        """No process runs: why."""
        waiting = {"reason": words.reason} | ({"message": words.message} if words.message else {})
        self.state = {"waiting": waiting}


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


def condition(obj: JSON, kind: str) -> JSON:
    """The condition of that type in the status of an object, or an empty map."""
    conditions = listed(mapping(obj.get("status")).get("conditions"))
    return next((mapping(one) for one in conditions if mapping(one).get("type") == kind), {})


def gated(status: JSON, now: datetime) -> JSON:
    """The status of a Pod that the scheduler may not look at."""
    words = "Scheduling is blocked due to non-empty scheduling gates"
    return with_condition(status, now, "PodScheduled", False, "SchedulingGated", words)


def on_node(status: JSON, now: datetime, containers: list[ContainerStatus], addresses: JSON, policy: str) -> JSON:
    """The status of a bound Pod whose restart policy is `policy`. `addresses` holds hostIP and, once there, podIP."""
    new = {**status, **addresses, "startTime": status.get("startTime", times.render(now))}
    new["hostIPs"] = [{"ip": new["hostIP"]}]
    if "podIP" in new:
        new["podIPs"] = [{"ip": new["podIP"]}]
    new["phase"] = _phase(containers, policy)
    new["containerStatuses"] = [_container(one) for one in containers]
    new = with_condition(new, now, "PodScheduled", True)
    new = with_condition(new, now, "PodReadyToStartContainers", "podIP" in new)
    new = with_condition(new, now, "Initialized", True)
    return _readiness(new, now, [one.name for one in containers if not one.ready])


def failed(status: JSON, now: datetime, words: Words, containers: list[ContainerStatus]) -> JSON:
    """The status of a Pod that the kubelet has ended, or refused where it has no containers."""
    new = {**status, "phase": "Failed", "reason": words.reason, "message": words.message}
    if containers:
        new["containerStatuses"] = [_container(one) for one in containers]
        new = _readiness(new, now, [one.name for one in containers])
    return new


def _readiness(status: JSON, now: datetime, unready: list[str]) -> JSON:
    if status["phase"] in ENDED:
        reason, words = ("PodFailed" if status["phase"] == "Failed" else "PodCompleted"), ""
        status = with_condition(status, now, "ContainersReady", False, reason, words)
        return with_condition(status, now, "Ready", False, reason, words)
    words = f"containers with unready status: [{' '.join(unready)}]" if unready else ""
    reason = "ContainersNotReady" if unready else ""
    status = with_condition(status, now, "ContainersReady", not unready, reason, words)
    return with_condition(status, now, "Ready", not unready, reason, words)


def _phase(containers: list[ContainerStatus], policy: str) -> str:
    if any("waiting" in one.state and not one.last_state for one in containers):
        return "Pending"
    exits = [one.state["terminated"]["exitCode"] for one in containers if "terminated" in one.state]
    if policy == "Always" or len(exits) < len(containers):
        return "Running"
    if not any(exits):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _container(one: ContainerStatus) -> JSON:
    return {
        "name": one.name,
        "image": one.image,
        "imageID": f"local/{one.image}" if one.running or one.last_state or "terminated" in one.state else "",
        "ready": one.ready,
        "started": one.started,
        "restartCount": one.restarts,
        "state": one.state,
        "lastState": one.last_state,
    }
