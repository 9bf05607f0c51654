"""DomainRegistered: whether the KV cache Binding resolved. Nothing can be declared for it yet."""

from app.modeldeployment.conditions.base import Condition, not_applicable
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan


def domain_registered(observed: Observed, plan: Plan) -> Condition:
    """True/NotApplicable."""
    return not_applicable(observed, "DomainRegistered", "the deployment declares no kvCache, so there is no Binding")
