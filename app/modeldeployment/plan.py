"""What one pass does: arithmetic over what was observed and the hashes that were rendered. No I/O, no manifests.

A hold keeps a pass from acting. Which children leave, which are rendered and which stay as they are is decided here
for every observed child; `children` only writes it down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from app.api.reasons import Reason
from app.kube import names, times
from app.kube.pods import condition, text
from app.modeldeployment import interruptions
from app.modeldeployment.interruptions import Memory
from app.modeldeployment.observe import SERVICE, Observed
from app.modeldeployment.roleplan import RolePlan, hold_role, plan_role, release_role
from app.modeldeployment.seats import Seats, group
from app.modeldeployment.spec import Refusal

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
class Plan:
    """One pass. An observed child that is neither in `let_go`, `retired` nor `services` stays as it is.

    `let_go` holds keys of live Pods, `retired` of Services; `services` are the names to render, `taken` those that
    belong to somebody else; `awaited` are the objects asked for that were not observed, as `Pod name`, and `overdue`
    says that some have been for a minute. `wake` is in how many seconds a clock matters, 0 for never.
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


def make_plan(
    observed: Observed, hashes: Mapping[str, str], services: tuple[str, ...], refusal: Refusal | None, now: datetime
) -> Plan:
    """The plan of one pass.

    `hashes` maps each role to the Pod hash it renders to, `services` names the Services it renders to; both are
    empty where nothing was rendered, which `refusal` explains unless the deployment is off or on its way out.
    """
    hold = _hold(observed, refusal)
    seats = group(observed)
    stored = interruptions.read(observed.status, now)
    if hold is not None or observed.spec is None:
        return _held(hold or Hold.UNREADABLE, refusal, seats, stored, now)
    gate = observed.spec.rollout.gate
    roles = tuple(plan_role(role, hashes[role.role.name], gate, stored, now) for role in seats.roles)
    leaving = [pod for role in roles for pod in role.gone] + list(seats.strays)
    present = {key.rpartition("/")[2]: key for key in observed.children.get(SERVICE, {})}
    wanted = tuple(name for name in services if name not in observed.foreign_services)
    awaited = (*_pods(observed, roles), *(f"Service {name}" for name in wanted if name not in present))
    return Plan(
        hold=None,
        refusal=None,
        roles=roles,
        let_go=frozenset(pod.key for pod in leaving),
        services=wanted,
        retired=frozenset(key for name, key in present.items() if name not in services),
        taken=tuple(name for name in services if name in observed.foreign_services),
        awaited=awaited,
        overdue=bool(awaited) and _overdue(observed, now),
        wake=_soonest(AWAITING_SECONDS if awaited else 0, *(role.wake for role in roles)),
    )


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


def _held(hold: Hold, refusal: Refusal | None, seats: Seats, stored: Memory, now: datetime) -> Plan:
    if hold is Hold.FINALIZING:
        return Plan(hold, refusal, tuple(release_role(role) for role in seats.roles))
    roles = tuple(hold_role(role, stored, now, sheds=hold is Hold.REFUSED) for role in seats.roles)
    return Plan(hold, refusal, roles, let_go=frozenset(pod.key for role in roles for pod in role.gone))
