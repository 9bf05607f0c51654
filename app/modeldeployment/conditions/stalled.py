"""Stalled (abnormal-true, present only while True): something is in the way that does not go away by itself."""

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition, listed
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan
from app.modeldeployment.seats import Replica

TYPE = "Stalled"


def _outside(replica: Replica) -> bool:
    """Whether Kueue's webhook never saw a replica: it is free to run, and nothing in Kueue stands for it."""
    return replica.queued and replica.whole and not replica.gated and replica.workload is None


def stalled(observed: Observed, plan: Plan) -> Condition | None:
    """A refused render, then a Service name that is taken, then an object that does not come; None where none is."""
    if plan.refusal is not None and not observed.deleting:
        return Condition(TYPE, "True", plan.refusal.reason, plan.refusal.message)
    if plan.taken:
        message = (
            f"not ours in namespace {observed.namespace}: Service {listed(plan.taken)}; remove what has that name,"
        )
        return Condition(TYPE, "True", Reason.NAME_TAKEN, f"{message} or use a deployment of another name")
    outside = [f"{role.name} {replica.ordinal}" for role in plan.roles for replica in role.stays if _outside(replica)]
    if outside:
        message = f"not gated by Kueue though a queue is named: {listed(outside)}; they run outside of any quota:"
        return Condition(TYPE, "True", Reason.NOT_GATED, f"{message} check that Kueue manages Pods in this namespace")
    if plan.overdue:
        message = f"asked for and not there: {listed(plan.awaited)}; the name is held by another object, or the API"
        return Condition(TYPE, "True", Reason.CHILD_NOT_CREATED, f"{message} server refuses it (see the events)")
    return None
