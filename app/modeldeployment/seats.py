"""Pods grouped into the replicas they make: a role's seats, and the strays that sit in none.

A seat is known by its Pods' *names*, which nobody can edit. A Pod whose labels state something else sits in its seat
all the same, and counts as outdated: Services may miss it, so it is turned over like one. A Pod whose name is no
seat's of a declared role is a stray: a duplicate or a left-over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.api.role import Role
from app.kube import kueue, names
from app.kube.kueue import WorkloadView
from app.kube.pods import PodView, Progress
from app.modeldeployment.observe import Observed


@dataclass(frozen=True, slots=True)
class Replica:
    """One occupied seat: its live members by index, and its terminating Pods.

    `whole`: every member is live. `serves`: every member is live and ready, the specification's *ready*; both are
    settled once by `occupied`, because every count asks for them. `mislabelled`: somebody changed the labels that say
    where a member belongs. `queued`: its Pods name a queue, `gated`: Kueue keeps one of them from being scheduled.
    `workload` is the one that stands for it, None where there is none yet.
    """

    role: str
    ordinal: int
    members: Mapping[int, PodView]
    whole: bool
    serves: bool
    terminating: tuple[PodView, ...] = ()
    mislabelled: bool = False
    queued: bool = False
    gated: bool = False
    workload: WorkloadView | None = None

    @property
    def admitted(self) -> bool:
        """Whether it holds its quota; without a queue, or past one that did not see it, whether it exists whole."""
        if self.workload is not None:
            return self.workload.admitted
        return self.whole and not self.gated

    @property
    def reserved(self) -> bool:
        """Whether Kueue keeps quota for it: the specification's *quotaReserved*."""
        return self.workload is not None and self.workload.reserved

    @property
    def ended(self) -> bool:
        """Whether any member has Failed (or Succeeded: an engine never ends well)."""
        return any(pod.ended for pod in self.members.values())

    @property
    def leader(self) -> PodView | None:
        """Member 0, where it is live."""
        return self.members.get(0)

    def differs(self, pod_hash: str) -> bool:
        """Whether any live member was rendered otherwise, or no longer carries the labels of its seat."""
        return self.mislabelled or any(pod.pod_hash != pod_hash for pod in self.members.values())


@dataclass(frozen=True, slots=True)
class RoleSeats:
    """The occupied seats of one role by ordinal (declared or not), its live strays, and the Workloads of its seats."""

    role: Role
    replicas: Mapping[int, Replica]
    strays: tuple[PodView, ...] = ()
    workloads: Mapping[int, WorkloadView] = field(default_factory=dict)

    def free(self, ordinal: int) -> bool:
        """Whether a seat may be filled: no Pod object of it is left and no Workload of its name.

        Nothing is created into a group that is still dying: Kueue would delete it as excess, or with the Workload.
        """
        return ordinal not in self.replicas and ordinal not in self.workloads

    @property
    def live(self) -> list[Replica]:
        """Replicas with at least one live member, lowest seat first."""
        return [self.replicas[ordinal] for ordinal in sorted(self.replicas) if self.replicas[ordinal].members]


@dataclass(frozen=True, slots=True)
class Seats:
    """All seats of a deployment, roles in the spec's order; `strays` are live Pods of no declared role."""

    roles: tuple[RoleSeats, ...]
    strays: tuple[PodView, ...] = ()


@dataclass(slots=True)
class _Gathering:
    members: dict[int, dict[int, PodView]] = field(default_factory=dict)
    terminating: dict[int, list[PodView]] = field(default_factory=dict)
    strays: list[PodView] = field(default_factory=list)
    mislabelled: set[int] = field(default_factory=set)


def group(observed: Observed) -> Seats:
    """Every observed Pod in its seat, or among the strays. Where no role could be read there are neither."""
    by_prefix = {names.seat_prefix(observed.name, role.name): role for role in observed.roles}
    gathered = {role.name: _Gathering() for role in observed.roles}
    nowhere: list[PodView] = []
    for pod in observed.pods:
        found = _seat_of(pod.name, by_prefix)
        if found is not None:
            _place(gathered[found[0].name], *found, pod)
        elif not pod.terminating and by_prefix:
            into = gathered.get(pod.role)
            (nowhere if into is None else into.strays).append(pod)
    return Seats(
        roles=tuple(
            _seats(role, gathered[role.name], _workloads(observed, prefix)) for prefix, role in by_prefix.items()
        ),
        strays=tuple(nowhere),
    )


def _seat_of(name: str, by_prefix: Mapping[str, Role]) -> tuple[Role, int, int] | None:
    """The role, ordinal and member that a Pod's name states, or None where it is no seat's of these roles."""
    stem, _, last = name.rpartition("-")
    role = by_prefix.get(stem)
    if role is not None and role.size == 1:
        ordinal = names.count(last)
        return None if ordinal is None else (role, ordinal, 0)
    stem, _, first = stem.rpartition("-")
    role = by_prefix.get(stem)
    if role is None or role.size == 1:
        return None
    ordinal, member = names.count(first), names.count(last)
    return (role, ordinal, member) if ordinal is not None and member is not None and member < role.size else None


def _place(into: _Gathering, role: Role, ordinal: int, member: int, pod: PodView) -> None:
    if pod.terminating:
        into.terminating.setdefault(ordinal, []).append(pod)
        return
    into.members.setdefault(ordinal, {})[member] = pod
    if (pod.role, pod.ordinal, pod.member) != (role.name, ordinal, member):
        into.mislabelled.add(ordinal)


def _workloads(observed: Observed, prefix: str) -> dict[int, WorkloadView]:
    """The Workloads of a role's seats, by ordinal."""
    if not observed.workloads:
        return {}
    stem = names.group_of(f"{prefix}-")
    found = {name.removeprefix(stem): view for name, view in observed.workloads.items() if name.startswith(stem)}
    return {int(ordinal): view for ordinal, view in found.items() if ordinal.isdecimal()}


def _seats(role: Role, gathered: _Gathering, workloads: Mapping[int, WorkloadView]) -> RoleSeats:
    replicas = {
        ordinal: occupied(
            role,
            ordinal,
            gathered.members.get(ordinal, {}),
            gathered.terminating.get(ordinal, ()),
            workloads.get(ordinal),
            mislabelled=ordinal in gathered.mislabelled,
        )
        for ordinal in gathered.members.keys() | gathered.terminating.keys()
    }
    return RoleSeats(role, replicas, tuple(gathered.strays), workloads)


def occupied(
    role: Role,
    ordinal: int,
    members: Mapping[int, PodView],
    terminating: Iterable[PodView] = (),
    workload: WorkloadView | None = None,
    *,
    mislabelled: bool = False,
) -> Replica:
    """The replica in one seat. A Workload of its name is its own only as a group with an owner among its Pods."""
    whole = len(members) == role.size
    serves = whole and all(pod.progress is Progress.READY for pod in members.values())
    leaving = tuple(terminating)
    queued = any(pod.queued for pod in (*members.values(), *leaving))
    if not queued:
        return Replica(role.name, ordinal, members, whole, serves, leaving, mislabelled)
    owners = {pod.uid for pod in (*members.values(), *leaving)}
    own = workload if workload is not None and workload.is_group and workload.owners & owners else None
    gated = any(kueue.gated(pod.raw) for pod in members.values())
    return Replica(role.name, ordinal, members, whole, serves, leaving, mislabelled, queued, gated, own)
