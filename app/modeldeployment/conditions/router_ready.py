"""RouterReady: whether the managed router has a ready replica. Nothing can be declared for it yet."""

from app.modeldeployment.conditions.base import Condition, not_applicable
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan


def router_ready(observed: Observed, plan: Plan) -> Condition:
    """True/NotApplicable."""
    return not_applicable(observed, "RouterReady", "the deployment declares no router")
