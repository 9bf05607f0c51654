"""What one pass does to one role: arithmetic over its seats, the hash that was rendered and the memory.

Seats beyond `replicas` → strays → failed and condemned replicas (such a pass turns nothing over) → outdated → at most
one turnover → creates. A role never lets a live Pod go and creates one in the same pass.

- A *failed* replica (a member has ended) is let go whole once its interruption is stored, and made again after a delay
  that grows with each failure in a row: 10 s, doubling to 5 min.
- A *lost* member is made again in its seat, once its old Pod is gone. The replica is *condemned*, let go whole, where
  the render no longer equals the survivors (a new member would mix versions), or where it does not serve again within
  30 minutes of its last loss.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from app.kube import times
from app.kube.pods import PodView
from app.modeldeployment.interruptions import Interruption, Key, Memory
from app.modeldeployment.parking import Parked
from app.modeldeployment.rollout import Turnover, turn_over
from app.modeldeployment.seats import Replica, RoleSeats
from app.modeldeployment.witness import failures, witness

FIRST_DELAY = timedelta(seconds=10)
LONGEST_DELAY = timedelta(minutes=5)
LOSS_LIMIT = timedelta(minutes=30)
# What was seen is written in one pass and acted on in the next; an own status write wakes nobody.
WRITTEN_FIRST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RolePlan:
    """What happens to one role in this pass, in replicas.

    `stays` are the live replicas of declared seats that this pass keeps, `ready` counts those of them that serve, and
    `extra` are those that a hold keeps beyond them. `shed`, `broken` and `turnover.victim` leave; `gone` are their
    live Pods, with the strays. `members` are the (ordinal, member) pairs asked for, `created` the empty seats among
    them, `missing` the declared seats that stay empty, `delayed` those of them that wait, with when they are due, and
    `parked` the empty seats that are not to be filled.
    `outdated` counts replicas that differ from the render, `accounted` those that were compared with it or created
    from it. `memory` is what is to be stored of this role; `wake` the seconds until a clock matters, 0 for never.
    `queue` is the LocalQueue that the role was rendered for.
    """

    seats: RoleSeats
    stays: tuple[Replica, ...]
    ready: int
    memory: Memory
    extra: tuple[Replica, ...] = ()
    shed: tuple[Replica, ...] = ()
    broken: tuple[Replica, ...] = ()
    turnover: Turnover = field(default_factory=Turnover)
    gone: tuple[PodView, ...] = ()
    members: tuple[tuple[int, int], ...] = ()
    created: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    parked: tuple[int, ...] = ()
    delayed: Mapping[int, datetime] = field(default_factory=dict)
    outdated: int = 0
    accounted: int = 0
    wake: float = 0
    queue: str | None = None

    @property
    def name(self) -> str:
        """Name of the role."""
        return self.seats.role.name

    @property
    def desired(self) -> int:
        """Replicas declared."""
        return self.seats.role.replicas


@dataclass(frozen=True, slots=True)
class Orders:
    """What holds for all roles in one pass.

    `stored` are the interruptions known before; `parked` is what is parked, and `resuming` says that somebody has just
    ended that: what Kueue keeps inactive is then made anew.
    """

    gate: Literal["Ready", "Admitted"]
    stored: Memory
    parked: Parked | None
    resuming: bool
    now: datetime


def plan_role(seats: RoleSeats, pod_hash: str, queue: str | None, orders: Orders) -> RolePlan:
    """One role's plan where it was rendered, to Pods of `pod_hash` that name `queue`."""
    stored, now = orders.stored, orders.now
    declared, beyond = _split(seats)
    memory = witness(stored, seats, now)
    failed = [replica for replica in declared if replica.ended]
    unstored = [replica for replica in failed if _freshly_seen(replica, stored, memory)]
    condemned = [r for r in declared if _condemned(r, pod_hash, stored, now) or _to_be_resumed(r, orders.resuming)]
    broken = tuple(r for r in declared if r in condemned or (r.ended and r not in unstored))
    outdated = [replica for replica in declared if replica.differs(pod_hash)]
    turnover = Turnover()
    if outdated:
        busy = beyond or seats.strays or failed or condemned
        first = f"role {seats.role.name} first lets go what must leave"
        turnover = Turnover(held_by=first) if busy else turn_over(seats, outdated, orders.gate)
    leaving = {turnover.victim, *(replica.ordinal for replica in broken)}
    stays = tuple(replica for replica in declared if replica.ordinal not in leaving)
    gone = (*_pods(beyond), *seats.strays, *_pods(replica for replica in declared if replica.ordinal in leaving))
    delayed = _delayed(seats, memory, now)
    parked = _parked(seats, orders)
    members = () if gone else _wanted(seats, {*delayed, *parked})
    created = tuple(dict.fromkeys(ordinal for ordinal, _ in members if ordinal not in seats.replicas))
    present = {replica.ordinal for replica in stays} | set(created) | parked
    return RolePlan(
        seats=seats,
        stays=stays,
        ready=_serving(stays),
        memory=memory,
        shed=beyond,
        broken=broken,
        turnover=turnover,
        gone=gone,
        members=members,
        created=created,
        missing=tuple(ordinal for ordinal in range(seats.role.replicas) if ordinal not in present),
        parked=tuple(sorted(parked - {replica.ordinal for replica in stays})),
        delayed=delayed,
        outdated=len(outdated),
        accounted=len(declared) + len(created),
        queue=queue,
        wake=_wake(bool(unstored), delayed, _deadlines(stays, memory), now),
    )


def park_role(seats: RoleSeats, queue: str | None, orders: Orders) -> RolePlan:
    """A role of a set that is parked: every live Pod leaves, and its quota is free."""
    memory = witness(orders.stored, seats, orders.now)
    parked = tuple(range(seats.role.replicas))
    gone = (*_pods(seats.live), *seats.strays)
    return RolePlan(seats, (), 0, memory, shed=tuple(seats.live), gone=gone, parked=parked, queue=queue)


def hold_role(seats: RoleSeats, stored: Memory, now: datetime, *, sheds: bool) -> RolePlan:
    """A role under a hold: nothing is made or turned over and no clock acts; seats beyond leave where `sheds`."""
    declared, beyond = _split(seats)
    memory = witness(stored, seats, now)
    if sheds:
        return RolePlan(seats, declared, _serving(declared), memory, shed=beyond, gone=tuple(_pods(beyond)))
    return RolePlan(seats, declared, _serving(declared), memory, extra=beyond)


def release_role(seats: RoleSeats) -> RolePlan:
    """A role of a deployment that is finalized: every live Pod leaves, and nothing need be remembered."""
    return RolePlan(seats, (), 0, {}, shed=tuple(seats.live), gone=(*_pods(seats.live), *seats.strays))


def delay(attempts: int) -> timedelta:
    """How long after its failure a replica that failed so often in a row is made again."""
    return min(FIRST_DELAY * (1 << min(attempts - 1, 10)), LONGEST_DELAY)


def _split(seats: RoleSeats) -> tuple[tuple[Replica, ...], tuple[Replica, ...]]:
    """The live replicas of declared seats, and those beyond, the highest of them first."""
    live = seats.live
    declared = tuple(replica for replica in live if replica.ordinal < seats.role.replicas)
    return declared, tuple(replica for replica in reversed(live) if replica.ordinal >= seats.role.replicas)


def _serving(replicas: Iterable[Replica]) -> int:
    return sum(replica.serves for replica in replicas)


def _pods(replicas: Iterable[Replica]) -> list[PodView]:
    return [pod for replica in replicas for pod in replica.members.values()]


def _freshly_seen(replica: Replica, stored: Memory, memory: Memory) -> bool:
    """Whether the failure of a replica is not stored yet."""
    keys: list[Key] = [(replica.role, replica.ordinal, "Failed"), (replica.role, replica.ordinal, "Evicted")]
    return any(memory.get(key) != stored.get(key) for key in keys)


def _condemned(replica: Replica, pod_hash: str, stored: Memory, now: datetime) -> bool:
    if replica.serves or replica.ended:
        return False
    if not replica.whole and replica.differs(pod_hash):
        return True
    loss = stored.get((replica.role, replica.ordinal, "MemberLost"))
    return loss is not None and now - loss.at >= LOSS_LIMIT


def _to_be_resumed(replica: Replica, resuming: bool) -> bool:
    """Whether a replica waits behind a Workload that Kueue keeps inactive, and somebody wants it back."""
    return resuming and replica.workload is not None and replica.workload.parked


def _parked(seats: RoleSeats, orders: Orders) -> set[int]:
    if orders.parked is None:
        return set()
    return {ordinal for ordinal in range(seats.role.replicas) if orders.parked.holds(seats.role.name, ordinal)}


def _delayed(seats: RoleSeats, memory: Memory, now: datetime) -> dict[int, datetime]:
    """When the empty seats that wait after a failure are due; those that are due already are not among them."""
    if not memory:
        return {}
    due: dict[int, datetime] = {}
    for ordinal in range(seats.role.replicas):
        failure: Interruption | None = failures(memory, seats.role.name, ordinal)
        if failure is not None and ordinal not in seats.replicas:
            due[ordinal] = failure.at + delay(failure.attempts)
    return {ordinal: at for ordinal, at in due.items() if at > now}


def _wanted(seats: RoleSeats, waiting: Container[int]) -> tuple[tuple[int, int], ...]:
    """The (ordinal, member) pairs to ask for: all of an empty seat, and members whose old Pod is gone."""
    wanted = []
    for ordinal in range(seats.role.replicas):
        replica = seats.replicas.get(ordinal)
        if ordinal in waiting or not (seats.free(ordinal) or (replica and replica.members and not replica.whole)):
            continue
        held = {*replica.members, *(pod.member for pod in replica.terminating)} if replica else set()
        wanted += [(ordinal, member) for member in range(seats.role.size) if member not in held]
    return tuple(wanted)


def _deadlines(stays: Iterable[Replica], memory: Memory) -> list[datetime]:
    if not memory:
        return []
    losses = [memory.get((replica.role, replica.ordinal, "MemberLost")) for replica in stays]
    return [loss.at + LOSS_LIMIT for loss in losses if loss is not None]


def _wake(unstored: bool, delayed: Mapping[int, datetime], deadlines: list[datetime], now: datetime) -> float:
    """Seconds until this role must be looked at though nothing changed; whole ones, and 0 where no clock matters."""
    if unstored:
        return WRITTEN_FIRST_SECONDS
    waits = [times.until(moment, now) for moment in (*delayed.values(), *deadlines)]
    return max(1.0, min(waits)) if waits else 0
