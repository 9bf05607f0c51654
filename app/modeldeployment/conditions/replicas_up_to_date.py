"""ReplicasUpToDate: the running replicas match what this pass renders for them.

Precedence: nothing accounted for → outdated → missing. A seat that is still empty after a rollout's delete goes on
as RolloutInProgress, told by the stored reason; any other empty seat is a replacement, whatever emptied it.
"""

from app.api.reasons import Reason
from app.kube import times
from app.kube.pods import condition
from app.modeldeployment.conditions.base import Condition, listed, replicas
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan
from app.modeldeployment.roleplan import RolePlan

TYPE = "ReplicasUpToDate"


def replicas_up_to_date(observed: Observed, plan: Plan) -> Condition:
    """Judged over what this pass read or created from its own render."""
    accounted = sum(role.accounted for role in plan.roles)
    if plan.hold is not None:
        return Condition(TYPE, "Unknown", Reason.ROLLOUT_NOT_OBSERVED, plan.hold.value)
    if accounted == 0:
        return Condition(TYPE, "Unknown", Reason.ROLLOUT_NOT_OBSERVED, "no replica was accounted for in this pass")
    outdated = sum(role.outdated for role in plan.roles)
    if outdated:
        return Condition(TYPE, "False", Reason.ROLLOUT_IN_PROGRESS, _rollout(plan, outdated))
    missing = sum(len(role.missing) for role in plan.roles)
    if missing:
        return _missing(observed, plan, missing)
    parked = sum(len(role.parked) for role in plan.roles)
    rest = f", {parked} parked" if parked else ""
    return Condition(TYPE, "True", Reason.UP_TO_DATE, f"{accounted} of {plan.desired} replicas match the render{rest}")


def _rollout(plan: Plan, outdated: int) -> str:
    """How many differ, what this pass does about it, and who holds the gate of each role that waits."""
    parts = [f"{outdated} of {plan.desired} replicas differ from the render"]
    turned = [f"{role.name} {role.turnover.victim}" for role in plan.roles if role.turnover.victim is not None]
    if turned:
        parts.append(f"this pass turns over {', '.join(turned)}")
    parts += [role.turnover.held_by for role in plan.roles if role.turnover.held_by]
    return "; ".join(parts)


def _missing(observed: Observed, plan: Plan, missing: int) -> Condition:
    seats = "; ".join(_empty(role) for role in plan.roles if role.missing)
    stored = condition(observed.status, TYPE).get("reason")
    if stored == Reason.ROLLOUT_IN_PROGRESS:
        return Condition(TYPE, "False", Reason.ROLLOUT_IN_PROGRESS, f"{replicas(missing)} still to make: {seats}")
    message = f"{replicas(missing)} missing: {seats}; each is created once no Pod of its seat is left"
    return Condition(TYPE, "False", Reason.REPLACEMENT_IN_PROGRESS, message)


def _empty(role: RolePlan) -> str:
    seats = f"role {role.name} replica {listed(role.missing)}"
    if not role.delayed:
        return seats
    first = min(role.delayed, key=role.delayed.__getitem__)
    return f"{seats} ({first} is tried again at {times.render(role.delayed[first])})"
