"""Stalled (abnormal-true, present only while True): something is in the way that does not go away by itself."""

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition, listed
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan

TYPE = "Stalled"


def stalled(observed: Observed, plan: Plan) -> Condition | None:
    """A refused render, then a Service name that is taken, then an object that does not come; None where none is."""
    if plan.refusal is not None and not observed.deleting:
        return Condition(TYPE, "True", plan.refusal.reason, plan.refusal.message)
    if plan.taken:
        message = (
            f"not ours in namespace {observed.namespace}: Service {listed(plan.taken)}; remove what has that name,"
        )
        return Condition(TYPE, "True", Reason.NAME_TAKEN, f"{message} or use a deployment of another name")
    if plan.overdue:
        message = f"asked for and not there: {listed(plan.awaited)}; the name is held by another object, or the API"
        return Condition(TYPE, "True", Reason.CHILD_NOT_CREATED, f"{message} server refuses it (see the events)")
    return None
