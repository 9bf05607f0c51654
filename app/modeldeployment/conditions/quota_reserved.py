"""QuotaReserved: every replica holds its Kueue quota. No role can name a queue yet, so nothing is asked of Kueue."""

from app.modeldeployment.conditions.base import Condition, not_applicable
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan


def quota_reserved(observed: Observed, plan: Plan) -> Condition:
    """True/NotApplicable: no role names a queue."""
    return not_applicable(observed, "QuotaReserved", "no role names a queue")
