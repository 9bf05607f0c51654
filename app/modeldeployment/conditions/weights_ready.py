"""WeightsReady: whether the declared weights are there. Nothing can be declared for it yet."""

from app.modeldeployment.conditions.base import Condition, not_applicable
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan


def weights_ready(observed: Observed, plan: Plan) -> Condition:
    """True/NotApplicable."""
    return not_applicable(observed, "WeightsReady", "the engine loads the model itself; no artifact is declared")
