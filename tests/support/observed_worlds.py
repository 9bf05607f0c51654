"""Hypothesis strategies: what may be observed around one deployment, however odd."""

from dataclasses import dataclass

from hypothesis import strategies as st

from app.kube.hook import JSON
from tests.support.builders import DeploymentBuilder, PodBuilder, WorkloadBuilder, a_deployment, ago, pod, workload

READY = ("ready", "ready-outdated", "ready-mislabelled")
CONDITIONS = (
    *READY,
    "loading",
    "loading-outdated",
    "unbound",
    "ended",
    "terminating",
    "absent",
    "absent",
    "just-born",
)


@dataclass(frozen=True)
class SeatPod:
    """One Pod of a world, as the generator meant it."""

    role: str
    ordinal: int
    member: int
    state: str

    @property
    def live(self) -> bool:
        return self.state not in ("absent", "terminating")

    def build(self) -> PodBuilder:
        found = pod(self.role, self.ordinal, self.member)
        if self.state.endswith("outdated"):
            found = found.outdated()
        changes = {
            "loading": PodBuilder.loading,
            "loading-outdated": PodBuilder.loading,
            "unbound": PodBuilder.unbound,
            "terminating": PodBuilder.terminating,
        }
        if self.state == "ready-mislabelled":
            return found.labelled(replica="none", role="gone")
        if self.state in changes:
            return changes[self.state](found)
        if self.state == "ended":
            return found.ended("Evicted", "The node was low on resource: memory.")
        return found.born(5).unbound() if self.state == "just-born" else found


@dataclass(frozen=True)
class World:
    """A deployment, its roles as (name, replicas, size), its Pods, how many strays are about, and which seats'
    failures are stored already, and the seats that have a Workload."""

    deployment: DeploymentBuilder
    roles: tuple[tuple[str, int, int], ...]
    pods: tuple[SeatPod, ...]
    gate: str
    strays: int
    remembered: frozenset[tuple[str, int]]
    workloads: frozenset[tuple[str, int]] = frozenset()

    def request(self) -> JSON:
        return self.deployment.request()

    def replica(self, role: str, ordinal: int) -> list[SeatPod]:
        """The live members of a seat."""
        return [p for p in self.pods if p.live and (p.role, p.ordinal) == (role, ordinal)]

    def serves(self, role: str, ordinal: int, size: int) -> bool:
        members = self.replica(role, ordinal)
        return len(members) == size and all(p.state in READY for p in members)


def _entry(draw: st.DrawFn, role: str, ordinal: int) -> JSON:
    at = ago(draw(st.sampled_from([1, 15, 600, 3000])))
    entry = {"role": role, "reason": "Evicted", "seats": str(ordinal), "at": at}
    return {**entry, "attempts": draw(st.integers(1, 9))}


def _workload(draw: st.DrawFn, role: str, ordinal: int) -> WorkloadBuilder:
    found = workload(role, ordinal)
    states = {
        "new": found,
        "pending": found.pending("no quota"),
        "reserved": found.reserved(),
        "admitted": found.admitted(),
        "preempted": found.preempted(),
        "parked": found.parked(),
        "foreign": found.admitted().of_somebody_else(),
    }
    return states[draw(st.sampled_from(["admitted", "admitted", *states]))]


@st.composite
def worlds(draw: st.DrawFn, *, enabled: bool = True, with_types: bool = True) -> World:
    """Any observed world of one or two roles, with or without a queue."""
    queue = draw(st.sampled_from([None, None, "team-a"]))
    gate = draw(st.sampled_from(["Ready", "Ready", "Admitted"]))
    deployment = a_deployment().with_spec(rollout={"gate": gate}, enabled=enabled)
    roles: list[tuple[str, int, int]] = []
    pods: list[SeatPod] = []
    for name in draw(st.sampled_from([["server"], ["prefill", "decode"]])):
        replicas, size = draw(st.integers(0, 4)), draw(st.sampled_from([1, 1, 2, 3]))
        roles.append((name, replicas, size))
        deployment = deployment.with_role(name, kind=name.capitalize(), replicas=replicas, size=size, queueName=queue)
        common = draw(st.sampled_from([CONDITIONS, READY, ("ready",)]))
        for ordinal in range(replicas + draw(st.integers(0, 2))):
            pods += [SeatPod(name, ordinal, member, draw(st.sampled_from(common))) for member in range(size)]
    strays = draw(st.integers(0, 2))
    found = [p.build() for p in pods if p.state != "absent"]
    found += [pod(roles[0][0], i).named(f"stray-{i}") for i in range(strays)]
    deployment = deployment.having(*found)
    if draw(st.booleans()):
        deployment = deployment.with_services()
    if draw(st.integers(0, 4)) == 0:
        deployment = deployment.beside("qwen")
    remembered = draw(st.sets(st.sampled_from([(p.role, p.ordinal) for p in pods]))) if pods else set()
    deployment = deployment.with_status(interruptions=[_entry(draw, role, ordinal) for role, ordinal in remembered])
    seats = sorted({(p.role, p.ordinal) for p in pods}) if queue else []
    occupied = draw(st.sets(st.sampled_from(seats))) if seats else set()
    deployment = deployment.with_workloads(*(_workload(draw, role, ordinal) for role, ordinal in sorted(occupied)))
    if not with_types:
        deployment = deployment.without_types()
    return World(deployment, tuple(roles), tuple(pods), gate, strays, frozenset(remembered), frozenset(occupied))
