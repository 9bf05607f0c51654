"""The timer of a set that gets only part of its quota, and when it gives up: see `parking`."""

from collections.abc import Sequence
from datetime import datetime

from app.kube.pods import maps
from app.modeldeployment.observe import Observed
from app.modeldeployment.parking import Assembly, patience, read_assembly
from app.modeldeployment.roleplan import RolePlan


def reserved(role: RolePlan) -> int:
    """Replicas of a role that hold quota."""
    return sum(replica.reserved for replica in role.seats.live)


def assemble(observed: Observed, roles: Sequence[RolePlan], now: datetime) -> Assembly | None:
    """The timer after this pass; None where no role has a queue.

    It starts anew whenever the number of replicas with quota changes, and stands still once the set was ready.
    """
    queued = [role for role in roles if role.queue is not None]
    if not queued:
        return None
    stored = read_assembly(observed.status, now)
    complete = stored.completed_at
    if complete is None and all(role.ready == role.desired for role in roles) and any(role.desired for role in roles):
        complete = now
    if complete is not None or not lacking(queued):
        return Assembly(None, complete)
    counts = [entry.get("quotaReserved") for entry in maps(observed.status.get("roles"))]
    before = sum(count for count in counts if isinstance(count, int))
    unchanged = stored.waiting_since is not None and before == sum(map(reserved, queued))
    return Assembly(stored.waiting_since if unchanged else now, None)


def lacking(queued: Sequence[RolePlan]) -> list[str]:
    """The role kinds that want replicas and have none with quota, in the spec's order."""
    counts: dict[str, int] = {}
    for role in queued:
        if role.desired:
            kind = role.seats.role.kind
            counts[kind] = counts.get(kind, 0) + reserved(role)
    return [kind for kind, count in counts.items() if count == 0]


def gives_up_at(observed: Observed, timer: Assembly | None, roles: Sequence[RolePlan]) -> datetime | None:
    """When the set is parked if nothing changes; None where it is not waiting, holds nothing, or waits for ever."""
    wait = patience(observed)
    queued = [role for role in roles if role.queue is not None]
    if wait is None or timer is None or timer.waiting_since is None or not any(map(reserved, queued)):
        return None
    return timer.waiting_since + wait
