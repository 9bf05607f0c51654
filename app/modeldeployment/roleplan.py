"""What one pass does to one role: arithmetic over its seats and the hash that was rendered.

Seats beyond `replicas` → strays → failed and broken replicas (such a pass turns nothing over) → outdated → at most one
turnover → creates. A role never lets a live Pod go and creates one in the same pass.

A replica is *broken* when a member has ended, or has gone for good: it is let go whole and made again. A member that is
merely not there yet is told from a lost one by time: Metacontroller's cache may show the first of a set before the
second, so for `ASSEMBLY_SECONDS` after the youngest member's birth the missing ones are asked for again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from app.kube import times
from app.kube.pods import PodView
from app.modeldeployment.rollout import Turnover, turn_over
from app.modeldeployment.seats import Replica, RoleSeats

ASSEMBLY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RolePlan:
    """What happens to one role in this pass, in replicas.

    `stays` are the live replicas of declared seats that this pass keeps, `ready` counts those of them that serve, and
    `extra` are those that a hold keeps beyond them. `shed`, `broken` and `turnover.victim` leave; `gone` are their
    live Pods, with the strays. `members` are the (ordinal, member) pairs asked for, `created` the empty seats among
    them, `missing` the declared seats that stay empty. `outdated` counts replicas that differ from the render,
    `accounted` those that were compared with it or created from it.
    """

    seats: RoleSeats
    stays: tuple[Replica, ...]
    ready: int
    extra: tuple[Replica, ...] = ()
    shed: tuple[Replica, ...] = ()
    broken: tuple[Replica, ...] = ()
    turnover: Turnover = field(default_factory=Turnover)
    gone: tuple[PodView, ...] = ()
    members: tuple[tuple[int, int], ...] = ()
    created: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    outdated: int = 0
    accounted: int = 0

    @property
    def name(self) -> str:
        """Name of the role."""
        return self.seats.role.name

    @property
    def desired(self) -> int:
        """Replicas declared."""
        return self.seats.role.replicas


def plan_role(seats: RoleSeats, pod_hash: str, gate: Literal["Ready", "Admitted"], now: datetime) -> RolePlan:
    """One role's plan where it was rendered, to Pods of `pod_hash`."""
    declared, beyond = _split(seats)
    broken = tuple(replica for replica in declared if _broken(replica, pod_hash, now))
    outdated = [replica for replica in declared if replica.differs(pod_hash)]
    if beyond or seats.strays or broken:
        turnover = Turnover(held_by=f"role {seats.role.name} first lets go what must leave") if outdated else Turnover()
    else:
        turnover = turn_over(seats, outdated, gate)
    leaving = {turnover.victim, *(replica.ordinal for replica in broken)}
    stays = tuple(replica for replica in declared if replica.ordinal not in leaving)
    gone = (*_pods(beyond), *seats.strays, *_pods(replica for replica in declared if replica.ordinal in leaving))
    members = () if gone else _wanted(seats)
    created = tuple(dict.fromkeys(ordinal for ordinal, _ in members if ordinal not in seats.replicas))
    present = {replica.ordinal for replica in stays} | set(created)
    return RolePlan(
        seats=seats,
        stays=stays,
        ready=_serving(stays),
        shed=beyond,
        broken=broken,
        turnover=turnover,
        gone=gone,
        members=members,
        created=created,
        missing=tuple(ordinal for ordinal in range(seats.role.replicas) if ordinal not in present),
        outdated=len(outdated),
        accounted=len(declared) + len(created),
    )


def hold_role(seats: RoleSeats, *, sheds: bool) -> RolePlan:
    """A role under a hold: nothing is made or turned over; seats beyond `replicas` leave where `sheds`."""
    declared, beyond = _split(seats)
    if sheds:
        return RolePlan(seats, declared, _serving(declared), shed=beyond, gone=tuple(_pods(beyond)))
    return RolePlan(seats, declared, _serving(declared), extra=beyond)


def release_role(seats: RoleSeats) -> RolePlan:
    """A role of a deployment that is finalized: every live Pod leaves."""
    return RolePlan(seats, (), 0, shed=tuple(seats.live), gone=(*_pods(seats.live), *seats.strays))


def _split(seats: RoleSeats) -> tuple[tuple[Replica, ...], tuple[Replica, ...]]:
    """The live replicas of declared seats, and those beyond, the highest of them first."""
    live = seats.live
    declared = tuple(replica for replica in live if replica.ordinal < seats.role.replicas)
    return declared, tuple(replica for replica in reversed(live) if replica.ordinal >= seats.role.replicas)


def _serving(replicas: Iterable[Replica]) -> int:
    return sum(replica.serves for replica in replicas)


def _pods(replicas: Iterable[Replica]) -> list[PodView]:
    return [pod for replica in replicas for pod in replica.members.values()]


def _broken(replica: Replica, pod_hash: str, now: datetime) -> bool:
    if replica.ended:
        return True
    if replica.whole:
        return False
    return bool(replica.terminating) or replica.differs(pod_hash) or not _assembling(replica, now)


def _assembling(replica: Replica, now: datetime) -> bool:
    births = [times.parse(pod.created_at) for pod in replica.members.values()]
    return any(birth is not None and now - birth < timedelta(seconds=ASSEMBLY_SECONDS) for birth in births)


def _wanted(seats: RoleSeats) -> tuple[tuple[int, int], ...]:
    """The (ordinal, member) pairs to ask for: all of an empty seat, the rest of one that assembles."""
    wanted = []
    for ordinal in range(seats.role.replicas):
        replica = seats.replicas.get(ordinal)
        if replica and (replica.whole or replica.terminating):
            continue
        held = replica.members if replica else {}
        wanted += [(ordinal, member) for member in range(seats.role.size) if member not in held]
    return tuple(wanted)
