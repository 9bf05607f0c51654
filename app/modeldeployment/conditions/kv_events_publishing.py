"""KVEventsPublishing: every role that produces cache blocks is configured to publish its events.

There is no router yet, and without one nobody consumes events: a deployment of `Server` roles has nothing to publish,
and a prefill/decode pair lacks its consumer.
"""

from app.api.reasons import Reason
from app.modeldeployment.conditions.base import Condition, not_applicable, unreadable
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan

TYPE = "KVEventsPublishing"


def kv_events_publishing(observed: Observed, plan: Plan) -> Condition:
    """True/NotApplicable for `Server` roles alone, else False/NoRouter."""
    unknown = unreadable(observed, TYPE)
    if unknown is not None:
        return unknown
    if all(role.seats.role.kind == "Server" for role in plan.roles):
        return not_applicable(observed, TYPE, "only Server roles, and no router")
    return Condition(TYPE, "False", Reason.NO_ROUTER, "no router consumes the events of these prefill and decode roles")
