"""What one pass does: arithmetic over what was observed and what was rendered. No I/O, no manifests.

A hold keeps a pass from acting. Which children leave, which are rendered and which stay as they are is decided here
for every observed child; `children` only writes it down.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum

from app.api.reasons import Reason
from app.kube import names, times
from app.kube.pods import condition, text
from app.modeldeployment import assembly, interruptions
from app.modeldeployment.interruptions import Memory
from app.modeldeployment.observe import SERVICE, Observed
from app.modeldeployment.parking import Assembly, Parked, park_seats, park_set, read_assembly, read_parked, resumed
from app.modeldeployment.roleplan import (
    WRITTEN_FIRST_SECONDS,
    Orders,
    RolePlan,
    hold_role,
    park_role,
    plan_role,
    release_role,
)
from app.modeldeployment.seats import Replica, Seats, group
from app.modeldeployment.spec import Refusal
from app.settings import ControllerSettings

# While something that was asked for is not there, nothing wakes us but this; after a minute the status says so.
AWAITING_SECONDS = 5.0
OVERDUE = timedelta(seconds=60)


class Hold(Enum):
    """Why a pass changes nothing (FINALIZING lets all go, and REFUSED the seats beyond `replicas`)."""

    FINALIZING = "the deployment is being deleted"
    DELETING = "the deployment is being deleted, and its children are the garbage collector's"
    UNREADABLE = "the spec does not validate"
    OFF = "reconciling is off (spec.enabled is false)"
    REFUSED = "the render was refused"


@dataclass(frozen=True, slots=True)
class Rendering:
    """What the plan needs to know of the render: each role's Pod hash and queue, and the names of the Services.

    Nothing was rendered where `hashes` is empty, which `refusal` explains unless the deployment is off or leaving.
    """

    hashes: Mapping[str, str] = field(default_factory=dict)
    queues: Mapping[str, str | None] = field(default_factory=dict)
    services: tuple[str, ...] = ()
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One pass. An observed child that is neither in `let_go`, `retired` nor `services` stays as it is.

    `let_go` holds keys of live Pods, `retired` of Services; `services` are the names to render, `taken` those that
    belong to somebody else; `awaited` are the objects asked for that were not observed, as `Pod name`, and `overdue`
    says that some have been for a minute. `parked` and `timer` are what is to be stored of them. `wake` is in how many
    seconds a clock matters, 0 for never.
    """

    hold: Hold | None
    refusal: Refusal | None
    roles: tuple[RolePlan, ...]
    let_go: frozenset[str] = frozenset()
    services: tuple[str, ...] = ()
    retired: frozenset[str] = frozenset()
    taken: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    overdue: bool = False
    parked: Parked | None = None
    timer: Assembly | None = None
    reserved_namespace: bool = False
    unmanaged_namespace: bool = False
    wake: float = 0

    @property
    def memory(self) -> Memory:
        """The interruptions to store, all roles."""
        return {key: item for role in self.roles for key, item in role.memory.items()}

    @property
    def desired(self) -> int:
        """Replicas declared, all roles."""
        return sum(role.desired for role in self.roles)

    @property
    def ready(self) -> int:
        """Replicas that serve, all roles."""
        return sum(role.ready for role in self.roles)


def make_plan(observed: Observed, rendering: Rendering, settings: ControllerSettings, now: datetime) -> Plan:
    """The plan of one pass."""
    plan = _make(observed, rendering, now)
    late = [_late(replica, now) for role in plan.roles for replica in role.stays if _in_flight(replica)]
    return replace(
        plan,
        reserved_namespace=observed.namespace in settings.reserved_namespaces,
        unmanaged_namespace=any(wait <= 0 for wait in late),
        wake=_soonest(plan.wake, *(max(1.0, wait) for wait in late if wait > 0)),
    )


def _in_flight(replica: Replica) -> bool:
    """Whether a complete group waits for its Workload."""
    return replica.queued and replica.whole and replica.gated and replica.workload is None


def _late(replica: Replica, now: datetime) -> float:
    """Seconds until a missing Workload is worth a word; 0 or less where it is."""
    births = [times.parse(pod.created_at) or now for pod in replica.members.values()]
    return times.until(max(births) + OVERDUE, now)


def _make(observed: Observed, rendering: Rendering, now: datetime) -> Plan:
    hold = _hold(observed, rendering.refusal)
    seats = group(observed)
    stored = interruptions.read(observed.status, now)
    if hold is not None or observed.spec is None:
        return _held(hold or Hold.UNREADABLE, rendering.refusal, seats, stored, observed, now)
    was_parked = read_parked(observed.status)
    resuming = resumed(was_parked, observed)
    in_force = None if resuming else was_parked
    orders = Orders(observed.spec.rollout.gate, stored, in_force, resuming, now)
    act = park_role if in_force is not None and in_force.whole else None
    roles = tuple(
        act(role, rendering.queues[role.role.name], orders)
        if act
        else plan_role(role, rendering.hashes[role.role.name], rendering.queues[role.role.name], orders)
        for role in seats.roles
    )
    timer = assembly.assemble(observed, roles, now)
    parked = park_seats(in_force, _deactivated(roles, stored), seats.roles, observed, now)
    deadline = assembly.gives_up_at(observed, timer, roles)
    if parked is None and deadline is not None and now >= deadline:
        parked = park_set(_gave_up(roles), observed, now)
    if parked is not None:
        deadline = None
    newly = parked is not None and (was_parked is None or parked.at != was_parked.at)
    wakes = [role.wake for role in roles] + [WRITTEN_FIRST_SECONDS if newly else 0, _until(deadline, now)]
    return _acting(observed, rendering, roles, seats, parked, timer, now, wakes)


def _acting(
    observed: Observed,
    rendering: Rendering,
    roles: tuple[RolePlan, ...],
    seats: Seats,
    parked: Parked | None,
    timer: Assembly | None,
    now: datetime,
    wakes: list[float],
) -> Plan:
    leaving = [pod for role in roles for pod in role.gone] + list(seats.strays)
    present = {key.rpartition("/")[2]: key for key in observed.children.get(SERVICE, {})}
    wanted = tuple(name for name in rendering.services if name not in observed.foreign_services)
    awaited = (*_pods(observed, roles), *(f"Service {name}" for name in wanted if name not in present))
    return Plan(
        hold=None,
        refusal=None,
        roles=roles,
        let_go=frozenset(pod.key for pod in leaving),
        services=wanted,
        retired=frozenset(key for name, key in present.items() if name not in rendering.services),
        taken=tuple(name for name in rendering.services if name in observed.foreign_services),
        awaited=awaited,
        overdue=bool(awaited) and _overdue(observed, now),
        parked=parked,
        timer=timer,
        wake=_soonest(AWAITING_SECONDS if awaited else 0, *wakes),
    )


def _deactivated(roles: tuple[RolePlan, ...], stored: Memory) -> dict[str, dict[int, str]]:
    """Seats that Kueue was first seen to deactivate in this pass, with its words."""
    return {
        role.name: {
            key[1]: item.message
            for key, item in role.memory.items()
            if item.reason == "Parked" and stored.get(key) != item
        }
        for role in roles
    }


def _gave_up(roles: tuple[RolePlan, ...]) -> str:
    queued = [role for role in roles if role.queue is not None]
    kinds = ", ".join(assembly.lacking(queued))
    return f"no replica of kind {kinds} got quota in time, so the others gave theirs back"


def _until(deadline: datetime | None, now: datetime) -> float:
    return 0 if deadline is None else max(1.0, times.until(deadline, now))


def _pods(observed: Observed, roles: tuple[RolePlan, ...]) -> list[str]:
    return [
        f"Pod {names.pod(observed.name, role.name, ordinal, member, role.seats.role.size)}"
        for role in roles
        for ordinal, member in role.members
    ]


def _soonest(*seconds: float) -> float:
    """The smallest of those that are not 0, or 0."""
    return min((wait for wait in seconds if wait), default=0)


def _overdue(observed: Observed, now: datetime) -> bool:
    """Whether objects have been awaited for a minute; Reconciling is dated by its reason, so its time tells."""
    stored = condition(observed.status, "Reconciling")
    since = times.parse(stored.get("lastTransitionTime"))
    awaiting = text(stored.get("reason")) == Reason.CHILD_NOT_OBSERVED.value
    return awaiting and since is not None and now - since >= OVERDUE


def _hold(observed: Observed, refusal: Refusal | None) -> Hold | None:
    if observed.finalizing:
        return Hold.FINALIZING
    if observed.deleting:
        return Hold.DELETING
    if observed.spec is None:
        return Hold.UNREADABLE
    if not observed.spec.enabled:
        return Hold.OFF
    return Hold.REFUSED if refusal else None


def _held(hold: Hold, refusal: Refusal | None, seats: Seats, stored: Memory, observed: Observed, now: datetime) -> Plan:
    if hold is Hold.FINALIZING:
        return Plan(hold, refusal, tuple(release_role(role) for role in seats.roles))
    roles = tuple(hold_role(role, stored, now, sheds=hold is Hold.REFUSED) for role in seats.roles)
    return Plan(
        hold,
        refusal,
        roles,
        let_go=frozenset(pod.key for role in roles for pod in role.gone),
        parked=read_parked(observed.status),
        timer=read_assembly(observed.status, now),
    )
