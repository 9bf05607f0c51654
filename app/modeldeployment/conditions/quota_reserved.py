"""QuotaReserved: every replica of every role with a queue holds its Kueue quota.

Strict precedence, as in the specification: parked → preempted in part → no replica → all on their way out → fewer than
declared → without a Workload → reserved → pending. Roles are named, never instance types: two roles can share one.
Kueue's own sentences are carried, equal ones once with a count; none of them is read.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition, listed, not_applicable, replicas
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan
from app.modeldeployment.roleplan import RolePlan
from app.modeldeployment.seats import Replica

TYPE = "QuotaReserved"
_MOST_WORDS = 4


def quota_reserved(observed: Observed, plan: Plan) -> Condition:
    """Judged over the roles that name a queue; a mixed deployment counts those alone."""
    roles = [role for role in plan.roles if role.queue is not None or _queued(role)]
    if not roles:
        return not_applicable(observed, TYPE, "no role names a queue")
    live = [replica for role in roles for replica in role.seats.live if replica.ordinal < role.desired]
    return (
        _parked(plan, roles)
        or _preempted_in_part(plan, roles)
        or _none_to_judge(observed, roles, live)
        or _incomplete(roles)
        or _without_workload(observed, plan, roles, live)
        or _verdict(roles, live)
    )


def _queued(role: RolePlan) -> bool:
    """Whether replicas that exist name a queue, where nothing was rendered that could say so."""
    return any(replica.queued for replica in role.seats.live)


def _parked(plan: Plan, roles: Sequence[RolePlan]) -> Condition | None:
    if plan.parked is None:
        return None
    declared = sum(role.desired for role in roles)
    count = "the whole set" if plan.parked.whole else f"{plan.parked.count} of {declared} replicas"
    way_out = "change spec.resumedAt (hangar resume) to ask for quota again"
    return Condition(TYPE, "False", Reason.PARKED, f"{count} parked: {plan.parked.message}; {way_out}")


def _preempted_in_part(plan: Plan, roles: Sequence[RolePlan]) -> Condition | None:
    lost = {role.name: seats for role in roles if (seats := _preempted(role))}
    kept = [role for role in roles if any(replica.admitted and replica.queued for replica in role.seats.live)]
    if not lost or not kept:
        return None
    declared = sum(role.desired for role in roles)
    names = ", ".join(f"{role} {listed(seats)}" for role, seats in lost.items())
    message = f"{sum(map(len, lost.values()))} of {declared} replicas preempted ({names}); {_what_is_lost(roles)}"
    return Condition(TYPE, "False", Reason.PREEMPTED_IN_PART, message)


def _preempted(role: RolePlan) -> list[int]:
    """Declared seats whose last interruption by preemption is not over: they hold no reservation now."""
    holding = {replica.ordinal for replica in role.seats.live if replica.reserved and not _evicting(replica)}
    return sorted(key[1] for key in role.memory if key[2] == "Preempted" and key[1] not in holding)


def _evicting(replica: Replica) -> bool:
    return replica.workload is not None and replica.workload.preempted


def _what_is_lost(roles: Sequence[RolePlan]) -> str:
    admitted: dict[str, int] = {}
    for role in roles:
        kind = role.seats.role.kind
        admitted[kind] = admitted.get(kind, 0) + sum(replica.admitted for replica in role.seats.live)
    gone = [kind for kind, count in admitted.items() if count == 0]
    return f"no admitted replica of kind {', '.join(gone)} is left" if gone else "capacity is lost, no role kind is"


def _none_to_judge(observed: Observed, roles: Sequence[RolePlan], live: Sequence[Replica]) -> Condition | None:
    if live:
        return None
    leaving = sum(1 for role in roles for replica in role.seats.replicas.values() if replica.terminating)
    if leaving:
        message = f"{replicas(leaving)} on the way out, and none that stays"
        return Condition(TYPE, "Unknown", Reason.ALL_REPLICAS_TERMINATING, message)
    return Condition(TYPE, "Unknown", Reason.NO_REPLICAS, "no replica exists yet" + _clause(roles))


def _incomplete(roles: Sequence[RolePlan]) -> Condition | None:
    for role in roles:
        whole = sum(replica.whole for replica in role.seats.live if replica.ordinal < role.desired)
        if whole < role.desired:
            message = f"{whole}/{role.desired} replicas of role {role.name} exist whole"
            return Condition(TYPE, "False", Reason.POD_GROUP_INCOMPLETE, message + _clause(roles))
    return None


def _without_workload(
    observed: Observed, plan: Plan, roles: Sequence[RolePlan], live: Sequence[Replica]
) -> Condition | None:
    without = [replica for replica in live if replica.workload is None]
    if not without:
        return None
    if plan.reserved_namespace:
        message = f"namespace {observed.namespace} is reserved: Kueue does not manage it, and has no queue there"
        return Condition(TYPE, "False", Reason.NO_QUEUE_IN_RESERVED_NAMESPACE, message)
    declared = sum(role.desired for role in roles)
    names = ", ".join(dict.fromkeys(replica.role for replica in without))
    message = f"{len(without)} of {declared} replicas without a Workload yet ({names})" + _clause(roles)
    if plan.unmanaged_namespace:
        message += "; none came within a minute: Kueue may not manage this namespace"
    return Condition(TYPE, "Unknown", Reason.ADMISSION_IN_FLIGHT, message)


def _verdict(roles: Sequence[RolePlan], live: Sequence[Replica]) -> Condition:
    waiting = [replica for replica in live if not replica.reserved]
    if not waiting:
        queues = {replica.workload.cluster_queue for replica in live if replica.workload} - {""}
        where = f" in cluster queue {min(queues)}" if len(roles) == 1 and len(queues) == 1 else ""
        return Condition(TYPE, "True", Reason.RESERVED, f"quota is reserved for {replicas(len(live))}{where}")
    declared = sum(role.desired for role in roles)
    names = ", ".join(dict.fromkeys(replica.role for replica in waiting))
    message = f"{len(waiting)} of {declared} replicas without quota ({names}){_clause(roles)}"
    words = "; ".join(_words(waiting))
    return Condition(TYPE, "False", Reason.PENDING, f"{message}: {words}" if words else message)


def _words(waiting: Sequence[Replica]) -> Iterator[str]:
    """Kueue's sentences, equal ones once with a count, the most frequent first."""
    found = Counter(replica.workload.words for replica in waiting if replica.workload and replica.workload.words)
    for words, count in found.most_common(_MOST_WORDS):
        yield words if count == 1 else f"{words} ({count} replicas)"
    if len(found) > _MOST_WORDS:
        yield f"and {len(found) - _MOST_WORDS} more"


def _clause(roles: Sequence[RolePlan]) -> str:
    """Names the roles whose replicas were preempted, where nothing of the deployment is admitted any more."""
    lost = [role.name for role in roles if _preempted(role)]
    return f" (preempted before: {', '.join(lost)})" if lost else ""
