"""One container's life on its node: its image, its process, and the restart after a back-off."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from app.kube import times
from app.kube.hook import JSON
from app.local.backoff import BackOff
from app.local.clock import Clock
from app.local.durations import Durations
from app.local.events import EventRecorder
from app.local.faults import Ending, Faults
from app.local.gates import Gates
from app.local.images import Images
from app.local.podstatus import ContainerStatus, Words
from app.local.values import mapping, name, namespace, uid

# How long a registry takes to say no, and how long the kubelet shows an error, or an ended container, before it acts.
_REFUSED_AFTER = 1.5
_SHOWN = 1.0
KILLED = Ending(137)
# How a container reads whose machine went down under it, in containerd's words.
LOST = Ending(255, "Unknown")


@dataclass(frozen=True, slots=True)
class Node:
    """What containers need around them."""

    name: str
    clock: Clock
    durations: Durations
    faults: Faults
    images: Images
    events: EventRecorder


class Owner(Protocol):
    """The Pod of a container, as the container sees it."""

    pod: JSON
    node: Node

    def later(self, seconds: float, action: Callable[[], None], holds: Callable[[], bool]) -> None:
        """Runs `action` and reports the Pod, where `holds` says so then and the Pod is still on its node."""


class Container:
    """One container of a Pod that is on a node. Whoever calls it reports the Pod's status afterwards."""

    def __init__(self, owner: Owner, spec: JSON) -> None:
        self._owner = owner
        self._node = owner.node
        self._spec = spec
        self.status = ContainerStatus(spec["name"], spec["image"])
        self._crashes, self._pulls = BackOff(), BackOff()
        self._gates = Gates(spec, self.status, owner.node.clock, self._plan, self._kill, self._unhealthy)
        self._ended = 0.0
        # What was planned for an earlier process is void.
        self._process = 0

    def _plan(self, seconds: float, action: Callable[[], None], holds: Callable[[], bool] = lambda: True) -> None:
        made = self._process
        self._owner.later(seconds, action, lambda: self._process == made and holds())

    # Image

    def pull(self) -> None:
        """Gets the image and then starts the process."""
        cached = self._node.images.cached(self._node.name, self.status.image)
        asked = not cached or self._spec.get("imagePullPolicy") == "Always"
        if asked and self._node.faults.image_missing(self._owner.pod, self.status.image):
            self._plan(_REFUSED_AFTER, self._refused)
            return
        start = self._node.durations.longer(uid(self._owner.pod), "start", self._node.durations.start)
        self._plan(self._node.images.pull(self._node.name, self.status.image) + start, self.start)

    def _refused(self) -> None:
        image = self.status.image
        error = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
        self.status.wait(Words("ErrImagePull", error))
        self._node.events.warn(self._owner.pod, "Failed", f'Failed to pull image "{image}": {error}')
        now = self._node.clock.elapsed
        self._pulls.move(now, now)
        back_off = Words("ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {error}')
        self._plan(_SHOWN, lambda: self.status.wait(back_off))
        self._plan(self._pulls.left(now, now), self.pull)

    # Process

    def start(self) -> None:
        """The process runs from now on."""
        self._process += 1
        pod, node, status = self._owner.pod, self._node, self.status
        status.state = {"running": {"startedAt": times.render(node.clock.now())}}
        usual = node.durations.longer(uid(pod), f"load/{status.name}/{status.restarts}", node.durations.load)
        asked = node.faults.load(pod, status.name)
        self._gates.begin(usual if asked is None else asked)
        ending = node.faults.ending(pod, status.name)
        if ending is not None:
            self._plan(ending.after, lambda: self.end(ending))

    def end(self, ending: Ending) -> None:
        """The process ends now; the kubelet starts it again unless the Pod's restart policy says otherwise."""
        if self.status.running:
            self.lose(ending)
            if self._restarts(ending.exit_code):
                self._plan(_SHOWN, self._restart)

    def lose(self, ending: Ending) -> None:
        """The process ends now, if one runs, and none follows: its Pod ends."""
        self._process += 1
        if not self.status.running:
            return
        self._ended = self._node.clock.elapsed
        self.status.state = {
            "terminated": {
                "exitCode": ending.exit_code,
                "reason": ending.reason,
                "startedAt": self.status.state["running"]["startedAt"],
                "finishedAt": times.render(self._node.clock.now()),
            }
        }
        self.status.started = self.status.ready = False

    def boot(self) -> None:
        """The machine has come up again under the container: what ran has ended, and it all goes on from there."""
        if self.status.running:
            self.end(LOST)
        elif not self.status.last_state and "terminated" not in self.status.state:
            self.pull()
        elif "waiting" in self.status.state or self._restarts(self.status.state["terminated"]["exitCode"]):
            self._plan(_SHOWN, self._restart)

    def _restarts(self, exit_code: int) -> bool:
        policy = mapping(self._owner.pod.get("spec")).get("restartPolicy", "Always")
        return policy == "Always" or (policy == "OnFailure" and exit_code != 0)

    def _restart(self) -> None:
        if "terminated" in self.status.state:
            self.status.last_state = self.status.state
        left = self._crashes.left(self._ended, self._node.clock.elapsed)
        if left > 0:
            pod = self._owner.pod
            title = f"{name(pod)}_{namespace(pod)}({uid(pod)})"
            words = f"back-off {_go(self._crashes.seconds)} restarting failed container={self.status.name} pod={title}"
            self.status.wait(Words("CrashLoopBackOff", words))
            self._node.events.warn(
                pod, "BackOff", f"Back-off restarting failed container {self.status.name} in pod {title}"
            )
            self._plan(left, self._restart)
            return
        self._crashes.move(self._ended, self._node.clock.elapsed)
        self.status.restarts += 1
        self.start()

    def hang(self, seconds: float | None) -> None:
        """The process runs on and answers nothing, for so long; None is until it is restarted."""
        if self.status.running:
            self._gates.hang(seconds)

    def _unhealthy(self, probe: str) -> None:
        words = f"{probe} probe failed: the container does not answer"
        self._node.events.warn(self._owner.pod, "Unhealthy", words)

    def _kill(self) -> None:
        """The kubelet stops a container that a probe has given up on: with the grace of its Pod, then for good."""
        pod = self._owner.pod
        drain = self._node.durations.longer(uid(pod), "drain", self._node.durations.drain)
        grace = float(mapping(pod.get("spec")).get("terminationGracePeriodSeconds", 30))
        self._plan(min(drain, grace), lambda: self.end(KILLED))


def _go(seconds: float) -> str:
    """A duration as Go prints it: 40s, 1m20s, 5m0s."""
    whole = int(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60}s"
