"""The conditions of a ModelDeployment, one module each; this list is their order in the status."""

from collections.abc import Callable

from app.modeldeployment.conditions.base import Condition
from app.modeldeployment.conditions.cache_attached import cache_attached
from app.modeldeployment.conditions.domain_registered import domain_registered
from app.modeldeployment.conditions.kv_events_publishing import kv_events_publishing
from app.modeldeployment.conditions.quota_reserved import quota_reserved
from app.modeldeployment.conditions.ready import ready
from app.modeldeployment.conditions.reconciling import reconciling
from app.modeldeployment.conditions.replicas_up_to_date import replicas_up_to_date
from app.modeldeployment.conditions.role_kinds_ready import role_kinds_ready
from app.modeldeployment.conditions.router_ready import router_ready
from app.modeldeployment.conditions.stalled import stalled
from app.modeldeployment.conditions.weights_ready import weights_ready
from app.modeldeployment.observe import Observed
from app.modeldeployment.plan import Plan

Judge = Callable[[Observed, Plan], Condition | None]

JUDGES: tuple[Judge, ...] = (
    ready,
    reconciling,
    stalled,
    quota_reserved,
    replicas_up_to_date,
    role_kinds_ready,
    domain_registered,
    cache_attached,
    weights_ready,
    kv_events_publishing,
    router_ready,
)

__all__ = ["JUDGES", "Condition"]
