"""The desired children, built in one place from the plan: what is observed and not returned here is deleted."""

from collections.abc import Mapping

from app.kube.hook import JSON
from app.kube.pods import mapping
from app.kube.shape import kept, stub
from app.modeldeployment.observe import SERVICE, Observed
from app.modeldeployment.plan import Plan
from app.modeldeployment.render import RenderedRole


def children(
    observed: Observed, plan: Plan, roles: Mapping[str, RenderedRole], services: Mapping[str, JSON]
) -> list[JSON]:
    """Every child that is to exist after this pass.

    Live Pods that stay are stubs; other live children are rendered anew where the plan says so and else returned as
    they are. Terminating children are left out: nothing that is said of them changes anything.
    """
    return [*_pods(observed, plan, roles), *_others(observed, plan), *(services[name] for name in plan.services)]


def _pods(observed: Observed, plan: Plan, roles: Mapping[str, RenderedRole]) -> list[JSON]:
    staying = [stub(pod.raw) for pod in observed.pods if not pod.terminating and pod.key not in plan.let_go]
    created = [roles[role.name].pod(ordinal, member) for role in plan.roles for ordinal, member in role.members]
    return staying + created


def _others(observed: Observed, plan: Plan) -> list[JSON]:
    """Children of other kinds that stay as they are; without Services that this pass renders or retires."""
    rendered = set(plan.services)
    return [
        kept(item)
        for kind, found in observed.children.items()
        for key, item in found.items()
        if not mapping(item.get("metadata")).get("deletionTimestamp")
        and not (kind == SERVICE and (key in plan.retired or key.rpartition("/")[2] in rendered))
    ]
