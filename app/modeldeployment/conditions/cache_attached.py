"""CacheAttached: whether the KV cache is seen in effect. Nothing can be declared for it yet."""

from app.modeldeployment.conditions.base import Condition, not_applicable
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan


def cache_attached(observed: Observed, plan: Plan) -> Condition:
    """True/NotApplicable."""
    return not_applicable(observed, "CacheAttached", "the deployment declares no kvCache, so nothing is to attach")
