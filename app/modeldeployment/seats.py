"""Pods grouped into the replicas they make: a role's seats, and the strays that sit in none.

A seat is known by its Pods' *names*, which nobody can edit; a Pod whose labels state another seat than its name, or
none of a declared role, is a stray: a duplicate, a left-over, or one whose labels somebody changed.
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
    settled once by `occupied`, because every count asks for them. `queued`: its Pods name a queue, `gated`: Kueue
    keeps one of them from being scheduled. `workload` is the one that stands for it, None where there is none yet.
    """

    role: str
    ordinal: int
    members: Mapping[int, PodView]
    whole: bool
    serves: bool
    terminating: tuple[PodView, ...] = ()
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
        """Whether any live member was rendered otherwise."""
        return any(pod.pod_hash != pod_hash for pod in self.members.values())


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


def group(observed: Observed) -> Seats:
    """Every observed Pod in its seat, or among the strays. Without a spec there are no seats, and no strays."""
    roles = {role.name: role for role in observed.spec.roles} if observed.spec else {}
    gathered = {name: _Gathering() for name in roles}
    prefixes = {name: names.seat_prefix(observed.name, name) for name in roles}
    nowhere: list[PodView] = []
    for pod in observed.pods:
        role = roles.get(pod.role)
        if role is None:
            nowhere.append(pod)
        else:
            _place(gathered[role.name], role, prefixes[role.name], pod)
    return Seats(
        roles=tuple(_seats(role, gathered[name], _workloads(observed, prefixes[name])) for name, role in roles.items()),
        strays=tuple(pod for pod in nowhere if roles and not pod.terminating),
    )


def _place(into: _Gathering, role: Role, prefix: str, pod: PodView) -> None:
    if pod.ordinal is None or pod.member is None or pod.name != _name(prefix, role, pod.ordinal, pod.member):
        if not pod.terminating:
            into.strays.append(pod)
    elif pod.terminating:
        into.terminating.setdefault(pod.ordinal, []).append(pod)
    else:
        into.members.setdefault(pod.ordinal, {})[pod.member] = pod


def _name(prefix: str, role: Role, ordinal: int, member: int) -> str:
    """The Pod name of a seat, or an impossible one for a member that the role does not have."""
    if member >= role.size:
        return ""
    return f"{prefix}-{ordinal}" if role.size == 1 else f"{prefix}-{ordinal}-{member}"


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
) -> Replica:
    """The replica in one seat. A Workload of its name is its own only as a group with an owner among its Pods."""
    whole = len(members) == role.size
    serves = whole and all(pod.progress is Progress.READY for pod in members.values())
    leaving = tuple(terminating)
    queued = any(kueue.queued(pod.raw) for pod in (*members.values(), *leaving))
    if not queued:
        return Replica(role.name, ordinal, members, whole, serves, leaving)
    owners = {pod.uid for pod in (*members.values(), *leaving)}
    own = workload if workload is not None and workload.is_group and workload.owners & owners else None
    gated = any(kueue.gated(pod.raw) for pod in members.values())
    return Replica(role.name, ordinal, members, whole, serves, leaving, True, gated, own)
