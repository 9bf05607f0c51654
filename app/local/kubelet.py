"""The kubelets of all nodes: image pulls, container starts, probes in time, and a drain at the end.

An engine answers its probes once its model is loaded; a container without probes is ready once its process runs.
Every duration differs a little from Pod to Pod, by a hash of its UID, so that a run looks like a cluster and
repeats itself exactly.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import NotFound
from app.local.podstatus import ContainerRun, on_node, runs_of
from app.local.scheduler import node_of
from app.local.store import Store
from app.local.table import Change
from app.local.values import listed, mapping, meta, name, namespace, terminating, uid


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds of each step of a Pod's life; each takes up to `spread` (a share) longer, Pod by Pod."""

    bind: float = 0.2
    pull: float = 12.0
    start: float = 1.0
    load: float = 36.0
    drain: float = 3.0
    spread: float = 0.5


@dataclass(slots=True)
class _Run:
    """One Pod on its node."""

    pod: JSON
    addresses: JSON
    containers: list[ContainerRun]


class Kubelet:
    """Watches bound Pods and runs them."""

    def __init__(self, store: Store, clock: Clock, durations: Durations) -> None:
        self._store = store
        self._clock = clock
        self._durations = durations
        self._pods = store.discovery.kind("v1", "Pod")
        self._runs: dict[str, _Run] = {}
        self._images: dict[tuple[str, str], float] = {}
        self._addresses = 0
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        pod = change.new
        if change.resource.key != self._pods.key or not node_of(pod):
            return
        if change.type == "DELETED":
            self._runs.pop(uid(pod), None)
        elif terminating(pod) and not terminating(change.old or {}):
            self._clock.after(self._drain_seconds(pod), lambda: self._remove(pod))
        elif uid(pod) not in self._runs and not terminating(pod):
            self._runs[uid(pod)] = _Run(pod, {"hostIP": self._host_address(node_of(pod))}, runs_of(pod))
            self._clock.after(0, lambda: self._take(uid(pod)))

    def _host_address(self, node: str) -> str:
        nodes = [title for _, title, _, _ in self._store.versions(self._store.discovery.kind("v1", "Node"))]
        return f"10.0.0.{nodes.index(node) + 10 if node in nodes else 9}"

    # One Pod's life

    def _take(self, identity: str) -> None:
        """The node has seen the Pod: it pulls the images it lacks, one after another as they were asked for."""
        run = self._runs.get(identity)
        if run is None:
            return
        self._report(run)
        pulled = max(self._image_there(node_of(run.pod), one.image) for one in run.containers)
        wait = pulled - self._clock.elapsed + self._longer(identity, "start", self._durations.start)
        self._clock.after(wait, lambda: self._start(identity))

    def _image_there(self, node: str, image: str) -> float:
        seconds = self._longer(f"{node}/{image}", "pull", self._durations.pull)
        there = self._images.setdefault((node, image), self._clock.elapsed + seconds)
        return max(there, self._clock.elapsed)

    def _start(self, identity: str) -> None:
        run = self._runs.get(identity)
        if run is None:
            return
        self._addresses += 1
        run.addresses["podIP"] = f"10.244.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"
        for index, container in enumerate(listed(run.pod["spec"]["containers"])):
            self._run_container(identity, index, container)
        self._report(run)

    def _run_container(self, identity: str, index: int, spec: JSON) -> None:
        """Starts a process and plans what its gates will say; outgrown startup budgets restart it."""
        one = self._runs[identity].containers[index]
        one.started_at = self._clock.now()
        load = self._longer(identity, f"load/{index}/{one.restarts}", self._durations.load)
        startup, readiness = mapping(spec.get("startupProbe")), mapping(spec.get("readinessProbe"))
        if startup and load > startup_budget(startup):
            budget = startup_budget(startup)
            self._later(identity, budget, lambda: self._restart(identity, index, spec))
            return
        started = first_success(startup, load) if startup else 0.0
        ready = max(started, first_success(readiness, load)) if readiness else started
        one.started, one.ready = not startup, not startup and ready == 0
        if startup:
            self._later(identity, started, lambda: self._pass(identity, index, ready=ready == started))
        if ready > started:
            self._later(identity, ready, lambda: self._pass(identity, index, ready=True))

    def _later(self, identity: str, seconds: float, action: Callable[[], None]) -> None:
        """Runs `action` unless the Pod went meanwhile."""
        self._clock.after(seconds, lambda: action() if identity in self._runs else None)

    def _pass(self, identity: str, index: int, *, ready: bool) -> None:
        one = self._runs[identity].containers[index]
        one.started, one.ready = True, ready
        self._report(self._runs[identity])

    def _restart(self, identity: str, index: int, spec: JSON) -> None:
        one = self._runs[identity].containers[index]
        now = times.render(self._clock.now())
        began = times.render(one.started_at) if one.started_at else now
        killed = {"exitCode": 137, "reason": "Error", "startedAt": began, "finishedAt": now}
        one.restarts, one.last_state = one.restarts + 1, {"terminated": killed}
        self._run_container(identity, index, spec)
        self._report(self._runs[identity])

    def _report(self, run: _Run) -> None:
        try:
            pod = self._store.get(self._pods, namespace(run.pod), name(run.pod))
        except NotFound:
            return
        if uid(pod) == uid(run.pod):
            status = on_node(mapping(pod.get("status")), self._clock.now(), run.containers, run.addresses)
            self._store.update_status({**pod, "status": status})

    def _drain_seconds(self, pod: JSON) -> float:
        seconds = self._longer(uid(pod), "drain", self._durations.drain)
        return min(seconds, float(meta(pod).get("deletionGracePeriodSeconds", 0)))

    def _remove(self, pod: JSON) -> None:
        found = self._store.find(self._pods, namespace(pod), name(pod))
        if found is not None and uid(found) == uid(pod):
            self._store.delete(self._pods, namespace(pod), name(pod), grace=0)

    def _longer(self, identity: str, what: str, seconds: float) -> float:
        share = hashlib.sha256(f"{identity}/{what}".encode()).digest()[0] / 255
        return seconds * (1 + self._durations.spread * share)


def first_success(probe: JSON, answers_after: float) -> float:
    """Seconds after the start at which a probe first succeeds, where the container answers from then on."""
    delay, period = float(probe.get("initialDelaySeconds", 0)), float(probe.get("periodSeconds", 10))
    return delay + max(0, math.ceil((answers_after - delay) / period)) * period


def startup_budget(probe: JSON) -> float:
    """Seconds after which a container that never answered is restarted."""
    delay, period = float(probe.get("initialDelaySeconds", 0)), float(probe.get("periodSeconds", 10))
    return delay + period * float(probe.get("failureThreshold", 3))
