"""A world told as a story: what is there, what happens, and what came of it.

`@world()` makes a test of a function of one `Story`: it is told twice, and both timelines must be equal byte for byte.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from app.cli.cluster import NODES, Cluster, local_cluster
from app.cli.watching import waits_for
from app.kube import names
from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local.faults import Ending, Fault, Pods
from app.local.podstatus import condition
from app.local.timeline import Timeline
from app.local.values import clone, listed, mapping, terminating

SPACE = "team-a"
DEPLOYMENT = f"ModelDeployment.{names.API_VERSION}"
MINUTE = 60.0
HOUR = 3600.0


Tell = Callable[["Story"], None]


def world(nodes: Sequence[str | JSON] = NODES) -> Callable[[Tell], Callable[[], None]]:
    """Makes a test of a story: told twice on these nodes, with one timeline. Its docstring is the expected outcome."""

    def testing(tell: Tell) -> Callable[[], None]:
        def test() -> None:
            first, second = _told(tell, nodes), _told(tell, nodes)
            assert first == second, "the same world gave another timeline"

        test.__name__, test.__doc__, test.__module__ = tell.__name__, tell.__doc__, tell.__module__
        return test

    return testing


def _told(tell: Tell, nodes: Sequence[str | JSON]) -> list[bytes]:
    with local_cluster(nodes) as cluster:
        story = Story(cluster)
        tell(story)
        return [dumps(entry) for entry in story.timeline.entries]


def a_node(name: str, **allocatable: Any) -> JSON:
    """A node with so many cards; `gpu=8` is eight of them."""
    cards = {"nvidia.com/gpu": allocatable.pop("gpu", 0)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": cards | allocatable},
    }


def role(name: str = "server", **fields: Any) -> JSON:
    """A role of one card per Pod, unless it says more."""
    shape: JSON = {} if "instanceType" in fields else {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    return {"name": name, **shape, **fields}


def a_deployment(*roles: JSON, name: str = "qwen", **spec: Any) -> JSON:
    """A ModelDeployment in namespace team-a; one role of one replica where none is given."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM", "version": "0.12.0"},
            "roles": list(roles) or [role()],
            **spec,
        },
    }


class Story:
    """One run of a world. Its verbs return it, so that a story reads on; its questions answer of the moment."""

    def __init__(self, cluster: Cluster) -> None:
        self.plane = cluster.plane
        self.hook = cluster.hook
        self.hook_clock = cluster.hook_clock
        told = {"Pod.v1": _pod, "Service.v1": _plain, "Node.v1": _node, DEPLOYMENT: _deployment}
        self.timeline = Timeline(self.plane.store, self.plane.clock, told)

    # What there is

    def given(self, *manifests: JSON) -> Self:
        """These objects, applied now."""
        for manifest in manifests:
            self.plane.apply(manifest)
        return self

    def edited(self, change: Callable[[JSON], object], name: str = "qwen") -> Self:
        """Somebody edits the spec of a deployment."""
        obj = self.deployment(name)
        change(obj["spec"])
        self.plane.store.update(obj)
        return self

    def role_edited(self, title: str, name: str = "qwen", **fields: Any) -> Self:
        """Somebody edits one role of a deployment."""
        return self.edited(lambda spec: _role_of(spec, title).update(fields), name)

    # Time

    def passes(self, seconds: float) -> Self:
        """So much time passes."""
        self.plane.run_for(seconds)
        return self

    def until(self, what: Callable[[], bool], within: float = HOUR) -> Self:
        """Time passes until it is so; fails where that takes longer."""
        reached = self.plane.run_until(what, within)
        assert reached, "\n".join(waits_for(one, "") for one in self.plane.all_of(DEPLOYMENT))
        return self

    def until_ready(self, name: str = "qwen", within: float = HOUR) -> Self:
        """Time passes until the deployment is Ready for the spec as it is now."""
        return self.until(lambda: self.is_ready(name), within)

    def when(self, what: Callable[[], bool], always: Callable[[], bool], within: float = HOUR) -> Self:
        """Time passes until it is so, and at every moment of it something else holds."""
        broken: list[float] = []

        def looked() -> bool:
            if not always():
                broken.append(self.now)
            return what()

        self.until(looked, within)
        assert not broken, f"not at {broken[0]:.1f} s"
        return self

    # Questions

    @property
    def now(self) -> float:
        """Simulated seconds since the start."""
        return self.plane.clock.elapsed

    def deployment(self, name: str = "qwen") -> JSON:
        """The deployment as it is stored."""
        found = self.plane.get(DEPLOYMENT, f"{SPACE}/{name}")
        assert found is not None, f"there is no deployment {name}"
        return found

    def status(self, name: str = "qwen") -> JSON:
        """Its status."""
        return mapping(self.deployment(name).get("status"))

    def phase(self, name: str = "qwen") -> tuple[str, str]:
        """Its phase, and ready of declared replicas."""
        status = self.status(name)
        return status.get("phase", ""), status.get("ready", "")

    def is_ready(self, name: str = "qwen") -> bool:
        """Whether it is Ready for the spec as it is now."""
        obj = self.deployment(name)
        current = self.status(name).get("observedGeneration") == obj["metadata"]["generation"]
        return current and self.says("Ready", name) == ("True", "AllReplicasReady")

    def says(self, kind: str, name: str = "qwen") -> tuple[str, str] | None:
        """Status and reason of a condition; None where it is absent."""
        found = condition(self.deployment(name), kind)
        return (found["status"], found["reason"]) if found else None

    def words(self, kind: str, name: str = "qwen") -> str:
        """The message of a condition."""
        return str(condition(self.deployment(name), kind).get("message", ""))

    def interruptions(self, name: str = "qwen") -> list[tuple[str, str, int]]:
        """Reason, seats and attempts of what is remembered."""
        found = listed(self.status(name).get("interruptions"))
        return [(one["reason"], one["seats"], one.get("attempts", 0)) for one in found]

    def pods(self, title: str = "", name: str = "qwen") -> dict[str, JSON]:
        """The Pods of a deployment, or of one role, by name; terminating ones too."""
        wanted = {names.DEPLOYMENT: name} | ({names.ROLE: title} if title else {})
        found = [pod for pod in self.plane.all_of("Pod.v1", SPACE) if pod in Pods(labels=wanted)]
        return {pod["metadata"]["name"]: pod for pod in found}

    def uids(self, title: str = "", name: str = "qwen") -> dict[str, str]:
        """UIDs of the live Pods, by Pod name."""
        return {key: pod["metadata"]["uid"] for key, pod in self.pods(title, name).items() if not terminating(pod)}

    def pod(self, title: str, ordinal: int = 0, member: int = 0, size: int = 1, name: str = "qwen") -> JSON | None:
        """The Pod in one seat, or None."""
        return self.pods(title, name).get(names.pod(name, title, ordinal, member, size))

    def events(self) -> list[str]:
        """All events of deployments, as `reason: message`."""
        found = [one for one in self.plane.all_of("Event.v1") if one["involvedObject"]["kind"] == "ModelDeployment"]
        return [f"{one['reason']}: {one['message']}" for one in found]

    def readings(self, field: str, since: float = 0, name: str = "qwen") -> list[Any]:
        """The values of one field of the deployment's entries in the timeline, each once in a row."""
        title = f"ModelDeployment {SPACE}/{name}"
        told = [
            e[field] for e in self.timeline.entries if e.get("object") == title and field in e and e["time"] >= since
        ]
        return [value for index, value in enumerate(told) if index == 0 or told[index - 1] != value]

    # Bad days

    def seat(self, title: str, ordinal: int = 0, member: int | None = None, name: str = "qwen") -> Pods:
        """The Pods of one replica, or one member of it."""
        labels = {names.DEPLOYMENT: name, names.ROLE: title, names.REPLICA: str(ordinal)}
        return Pods(SPACE, labels=labels | ({} if member is None else {names.MEMBER: str(member)}))

    def goes_wrong(self, fault: Fault) -> Self:
        """From now on."""
        self.plane.faults.add(fault)
        return self

    def crashes(self, pods: Pods, exit_code: int = 1, reason: str = "Error") -> Self:
        """The engine of these Pods ends now."""
        self.plane.kubelet.crash(pods, Ending(exit_code, reason))
        return self

    def node_of(self, title: str, ordinal: int = 0) -> str:
        """Where a replica of one Pod runs."""
        pod = self.pod(title, ordinal)
        assert pod is not None
        return str(pod["spec"]["nodeName"])


def _role_of(spec: JSON, title: str) -> JSON:
    return next(mapping(one) for one in spec["roles"] if one["name"] == title)


def _plain(_: JSON) -> JSON:
    return {}


def _node(obj: JSON) -> JSON:
    return {"ready": condition(obj, "Ready").get("status")}


def _pod(obj: JSON) -> JSON:
    status: Mapping[str, Any] = mapping(obj.get("status"))
    told = {key: status.get(key) for key in ("phase", "reason", "containerStatuses", "conditions")}
    return {**told, "uid": obj["metadata"]["uid"], "node": obj["spec"].get("nodeName"), "leaves": terminating(obj)}


def _deployment(obj: JSON) -> JSON:
    status = mapping(clone(obj.get("status")))
    return {"phase": status.get("phase"), "ready": status.get("ready"), "status": status}
