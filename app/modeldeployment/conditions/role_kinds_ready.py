"""RoleKindsReady: every role kind that is declared has at least one ready replica. Not replica completeness."""

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan

TYPE = "RoleKindsReady"


def role_kinds_ready(observed: Observed, plan: Plan) -> Condition:
    """Kinds are named in the order in which the spec first mentions them."""
    if not plan.roles:
        return Condition(TYPE, "Unknown", Reason.NO_ROLE_STATUSES, "no role was accounted for in this pass")
    ready: dict[str, int] = {}
    for role in plan.roles:
        kind = role.seats.role.kind
        ready[kind] = ready.get(kind, 0) + role.ready
    waiting = [kind for kind, count in ready.items() if count == 0]
    if waiting:
        return Condition(TYPE, "False", Reason.KINDS_NOT_READY, f"no ready replica of kind {', '.join(waiting)}")
    return Condition(TYPE, "True", Reason.ALL_KINDS_READY, f"{', '.join(ready)}: at least one replica each is ready")
