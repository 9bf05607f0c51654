"""Reconciling (abnormal-true, present only while True): Hangar is on its way to what the spec declares."""

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition, listed, pods, replicas
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Hold, Plan

TYPE = "Reconciling"


def reconciling(observed: Observed, plan: Plan) -> Condition | None:
    """None where nothing is under way: all is as declared, or a hold keeps the pass from acting."""
    if plan.hold in (Hold.DELETING, Hold.FINALIZING):
        return Condition(TYPE, "True", Reason.DELETING, f"{pods(len(observed.pods))} left")
    if plan.hold is not None:
        return None
    found = _under_way(plan)
    return Condition(TYPE, "True", *found) if found else None


def _under_way(plan: Plan) -> tuple[Reason, str] | None:
    outdated = sum(role.outdated for role in plan.roles)
    missing = sum(len(role.missing) for role in plan.roles)
    shed = sum(len(role.shed) for role in plan.roles)
    if plan.awaited:
        return Reason.CHILD_NOT_OBSERVED, f"asked for and not there yet: {listed(plan.awaited)}"
    if outdated:
        return Reason.ROLLOUT_IN_PROGRESS, f"{replicas(outdated)} to turn over"
    if missing:
        return Reason.REPLACEMENT_IN_PROGRESS, f"{replicas(missing)} to replace once the seats are empty"
    if shed:
        return Reason.SCALING_IN, f"{replicas(shed)} beyond the declared count leave"
    if plan.ready < plan.desired:
        return Reason.REPLICAS_STARTING, f"{plan.ready} of {plan.desired} replicas ready"
    return None
