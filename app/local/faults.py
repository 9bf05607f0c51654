"""What goes wrong with Pods, as a test or a script asks for it: the kubelets look here before each step.

A fault says which Pods it concerns and until when; without an end it lasts. Pods that come later are concerned too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.podstatus import Words
from app.local.values import labels, listed, mapping, name, namespace, uid


@dataclass(frozen=True, slots=True)
class Pods:
    """Which Pods: empty parts fit every Pod. `labels` are exact values."""

    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    node: str = ""

    def __contains__(self, pod: JSON) -> bool:
        return (
            self.namespace in {"", namespace(pod)}
            and self.name in {"", name(pod)}
            and self.node in {"", mapping(pod.get("spec")).get("nodeName")}
            and self.labels.items() <= labels(pod).items()
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ends: `after` seconds of running, with that exit code and the container runtime's reason."""

    exit_code: int = 1
    reason: str = "Error"
    after: float = 5


@dataclass(slots=True)
class Fault:
    """One fault. `until` is in simulated seconds since the start; None lasts.

    Set is one of: `image` (a pattern of images that cannot be pulled), `load` (seconds that an engine takes to load),
    `ending` (it crashes), `refusal` (the node refuses the Pod). `container` is a container's name, empty for the first
    of a Pod. `times` bounds how many starts of each Pod's container are concerned.
    """

    pods: Pods = field(default_factory=Pods)
    until: float | None = None
    image: str = ""
    load: float | None = None
    ending: Ending | None = None
    refusal: Words | None = None
    container: str = ""
    times: int | None = None
    _starts: dict[str, int] = field(default_factory=dict)

    def takes(self, pod: JSON) -> bool:
        """Whether this start of the Pod's container is concerned; each call is one start."""
        count = self._starts[uid(pod)] = self._starts.get(uid(pod), 0) + 1
        return self.times is None or count <= self.times


class Faults:
    """The faults of the moment. Of several that fit, the one that was added last counts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._all: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """From now on this goes wrong."""
        self._all.insert(0, fault)

    def _due(self, pod: JSON, container: str = "") -> list[Fault]:
        now, first = self._clock.elapsed, _first_container(pod)
        self._all = [one for one in self._all if one.until is None or now < one.until]
        return [one for one in self._all if pod in one.pods and container in {"", one.container or first}]

    def image_missing(self, pod: JSON, image: str) -> bool:
        """Whether the image cannot be pulled now."""
        return any(one.image and fnmatchcase(image, one.image) for one in self._due(pod))

    def refusal(self, pod: JSON) -> Words | None:
        """Why the node refuses a Pod that was bound to it, or None."""
        return next((one.refusal for one in self._due(pod) if one.refusal), None)

    def load(self, pod: JSON, container: str) -> float | None:
        """How long a container that starts now loads, in seconds, or None where that is as usual."""
        return next((one.load for one in self._due(pod, container) if one.load is not None and one.takes(pod)), None)

    def ending(self, pod: JSON, container: str) -> Ending | None:
        """How a container that starts now ends by itself, or None."""
        return next((one.ending for one in self._due(pod, container) if one.ending and one.takes(pod)), None)


def _first_container(pod: JSON) -> str:
    containers = listed(mapping(pod.get("spec")).get("containers"))
    return str(containers[0]["name"]) if containers else ""
