"""A stand-in for scheduler and kubelet: binds ungated Pods to one node, runs them in name, and lets them end.

Capacity is not looked at, no image is pulled and no gate is called. Two annotations of a Pod say how long it takes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count

from app.kube import times
from app.kube.hook import JSON
from app.local.errors import ApiError, NotFound
from app.local.values import listed, mapping, meta, terminating, uid
from tests.e2e.api import STRATEGIC, Api
from tests.e2e.follow import Follower
from tests.e2e.wallclock import WallClock

NODE = "hangar-e2e"
# Pods that are meant for the stand-in say so: on a person's cluster it must not touch others, nor they its node.
SELECTOR = {"hangar.dev/e2e": "stand-in"}
TOLERATION = {"key": "hangar.dev/e2e", "operator": "Exists", "effect": "NoSchedule"}
START_SECONDS = "e2e.hangar.dev/start-seconds"
STOP_SECONDS = "e2e.hangar.dev/stop-seconds"

_SECONDS: Mapping[str, float] = {"bind": 0.02, "start": 0.1, "stop": 0.1}
_ANNOTATIONS = {"start": START_SECONDS, "stop": STOP_SECONDS}
_AGAIN_SECONDS = 0.5
_HEARTBEAT_SECONDS = 10.0
_ROOM = {"cpu": "10k", "memory": "1000Ti", "pods": "10k", "nvidia.com/gpu": "10k", "ephemeral-storage": "1000Ti"}


class Kubelet:
    """Plays one node. With `binds` it is the scheduler too: where a real one runs, it leaves that to it."""

    def __init__(self, api: Api, *, binds: bool) -> None:
        self._api = api
        self._binds = binds
        self._clock = WallClock()
        self._pods: dict[str, JSON] = {}
        self._due: dict[str, str] = {}
        self._addresses = count(1)
        self._follower = Follower(
            api,
            api.kinds.of_key("Pod.v1"),
            lambda found: self._clock.after(0, lambda: self._listed(found)),
            lambda kind, pod: self._clock.after(0, lambda: self._changed(kind, pod)),
        )

    def __enter__(self) -> "Kubelet":
        self._api.apply(_node(labels={**SELECTOR, "kubernetes.io/hostname": NODE}))
        # A new node is tainted as not ready; on a control plane of our own nobody else would take that away.
        taint = {"key": TOLERATION["key"], "value": "stand-in", "effect": TOLERATION["effect"]}
        self._api.patch(_node(), {"spec": {"taints": [taint]}})
        self._heartbeat()
        found = self._follower.start()
        self._clock.after(0, lambda: self._listed(found))
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._follower.stop()
        self._clock.stop()
        self._api.delete(_node())

    def _heartbeat(self) -> None:
        """The node is Ready, and says so before somebody takes it for lost."""
        ready = {"type": "Ready", "status": "True", "reason": "StandIn", "lastHeartbeatTime": _now()}
        status = {"capacity": _ROOM, "allocatable": _ROOM, "conditions": [ready]}
        self._api.patch(_node(), {"status": status}, "status", STRATEGIC)
        self._clock.after(_HEARTBEAT_SECONDS, self._heartbeat)

    def _listed(self, found: list[JSON]) -> None:
        self._pods = {}
        for pod in found:
            self._changed("MODIFIED", pod)

    def _changed(self, kind: str, pod: JSON) -> None:
        if kind == "DELETED":
            self._pods.pop(uid(pod), None)
            self._due.pop(uid(pod), None)
            return
        self._pods[uid(pod)] = pod
        step = self._step(pod)
        if step and self._due.get(uid(pod)) != step:
            self._after(_delay(pod, step), uid(pod), step)

    def _after(self, seconds: float, which: str, step: str) -> None:
        self._due[which] = step
        self._clock.after(seconds, lambda: self._act(which, step))

    def _step(self, pod: JSON) -> str:
        """What comes next for a Pod: bind, start, stop, or nothing."""
        spec, status = mapping(pod.get("spec")), mapping(pod.get("status"))
        if not spec.get("nodeName"):
            waits = terminating(pod) or spec.get("schedulingGates") or not self._binds
            return "bind" if not waits and SELECTOR.items() <= mapping(spec.get("nodeSelector")).items() else ""
        if spec["nodeName"] != NODE:
            return ""
        if terminating(pod):
            return "stop"
        return "start" if status.get("phase") == "Pending" else ""

    def _act(self, which: str, step: str) -> None:
        pod = self._pods.get(which)
        if pod is None or self._due.get(which) != step or self._step(pod) != step:
            return
        try:
            if step == "bind":
                self._api.bind(pod, NODE)
            elif step == "start":
                self._report(pod, self._running(pod))
            else:
                self._report(pod, _ended(pod))
                self._api.delete(pod, grace=0, uid_is=which)
        except NotFound:
            return
        except ApiError:
            self._after(_AGAIN_SECONDS, which, step)  # it changed meanwhile, or the server is busy
        # What was done shows in the next change of the Pod; until then nothing is due twice.

    def _report(self, pod: JSON, status: JSON) -> None:
        # With its UID the patch fails where the name belongs to another Pod by now.
        self._api.patch(pod, {"metadata": {"uid": uid(pod)}, "status": status}, "status", STRATEGIC)

    def _running(self, pod: JSON) -> JSON:
        number = next(self._addresses)
        address = f"10.244.{number // 250 % 250}.{number % 250 + 1}"
        init = [_container(one, "terminated") for one in listed(pod["spec"].get("initContainers"))]
        return {
            "phase": "Running",
            "startTime": _now(),
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [_condition(one, "True") for one in ("Initialized", "ContainersReady", "Ready")],
            "containerStatuses": [_container(one, "running") for one in pod["spec"]["containers"]],
            **({"initContainerStatuses": init} if init else {}),
        }


def _ended(pod: JSON) -> JSON:
    return {
        "phase": "Succeeded",
        "conditions": [_condition(one, "False") for one in ("ContainersReady", "Ready")],
        "containerStatuses": [_container(one, "terminated") for one in pod["spec"]["containers"]],
    }


def _condition(kind: str, status: str) -> JSON:
    return {"type": kind, "status": status, "lastTransitionTime": _now()}


def _container(container: JSON, state: str) -> JSON:
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": _now(), "finishedAt": _now()}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"stand-in://{container['image']}",
        "ready": state == "running",
        "started": state == "running",
        "restartCount": 0,
        "state": {"running": {"startedAt": _now()}} if state == "running" else {"terminated": ended},
    }


def _delay(pod: JSON, step: str) -> float:
    stated = mapping(meta(pod).get("annotations")).get(_ANNOTATIONS.get(step, ""))
    return _SECONDS[step] if stated is None else float(stated)


def _node(**metadata: JSON) -> JSON:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, **metadata}}


def _now() -> str:
    return times.render(datetime.now(UTC))
