"""Ready, the summary that `kubectl wait`, Helm and Argo CD read: every declared replica serves."""

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition, replicas
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan

TYPE = "Ready"


def ready(observed: Observed, plan: Plan) -> Condition:
    """False while deleting, at zero, while a name is taken, or while any replica does not serve; in this order.

    Unknown where the spec does not validate and no role of it can be counted.
    """
    if observed.deleting:
        return Condition(TYPE, "False", Reason.DELETING, "the deployment is being deleted")
    if observed.refusal is not None and not plan.roles:
        return Condition(TYPE, "Unknown", Reason.SPEC_INVALID, observed.refusal.message)
    if plan.desired == 0:
        return Condition(TYPE, "False", Reason.SCALED_TO_ZERO, "scaled to zero")
    if plan.taken:
        return Condition(TYPE, "False", Reason.NAME_TAKEN, f"Service {plan.taken[0]} belongs to somebody else")
    if plan.ready < plan.desired:
        return Condition(TYPE, "False", Reason.REPLICAS_NOT_READY, f"{plan.ready} of {plan.desired} replicas ready")
    return Condition(TYPE, "True", Reason.ALL_REPLICAS_READY, f"{replicas(plan.ready)} ready")
