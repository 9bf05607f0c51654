"""The main controller's three answers. `sync` is the whole program; everything else is a way to call it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.api.instancetype import InstanceTypeSpec
from app.api.reasons import Reason
from app.api.role import Role
from app.kube import names
from app.kube.hook import JSON, ChildRule, HookController, SyncAnswer, SyncRequest
from app.modeldeployment.children import children
from app.modeldeployment.observe import Observed, observe
from app.modeldeployment.plan import Rendering, make_plan
from app.modeldeployment.related import KUEUE_GROUP, customize
from app.modeldeployment.render import Identity, RenderedRole, RenderRefused, render_role, render_services
from app.modeldeployment.spec import Refusal
from app.modeldeployment.status import fold
from app.settings import KUEUE_VERSIONS, ControllerSettings


@dataclass(frozen=True, slots=True)
class Rendered:
    """Every role's template and every Service; nothing, and the refusal, where one of them cannot be rendered."""

    roles: Mapping[str, RenderedRole] = field(default_factory=dict)
    services: Mapping[str, JSON] = field(default_factory=dict)
    refusal: Refusal | None = None

    @property
    def facts(self) -> Rendering:
        """What the plan needs to know of it."""
        return Rendering(
            hashes={name: role.pod_hash for name, role in self.roles.items()},
            queues={name: role.queue for name, role in self.roles.items()},
            services=tuple(self.services),
            refusal=self.refusal,
        )


def sync(request: SyncRequest, now: datetime, settings: ControllerSettings) -> SyncAnswer:
    """The desired children and the status of one deployment."""
    observed = observe(request)
    rendered = _render(observed, settings)
    plan = make_plan(observed, rendered.facts, settings, now)
    return SyncAnswer(
        status=fold(observed, plan, rendered.roles, now, settings),
        children=children(observed, plan, rendered.roles, rendered.services),
        resync_after_seconds=plan.wake,
    )


def finalize(request: SyncRequest, now: datetime, settings: ControllerSettings) -> SyncAnswer:
    """Lets every child go, and is final once no Pod is observed: terminating ones still hold their devices."""
    observed = observe(request)
    plan = make_plan(observed, Rendering(refusal=observed.refusal), settings, now)
    return SyncAnswer(status=fold(observed, plan, {}, now, settings), children=[], finalized=not observed.pods)


def _render(observed: Observed, settings: ControllerSettings) -> Rendered:
    """All of it, or the first refusal; nothing where reconciling is off."""
    if observed.spec is None or not observed.spec.enabled or observed.deleting:
        return Rendered(refusal=observed.refusal)
    identity = Identity(observed.name, observed.namespace)
    rendered: dict[str, RenderedRole] = {}
    for role in observed.spec.roles:
        shape = _instance_type(observed, role)
        if isinstance(shape, Refusal):
            return Rendered(refusal=shape)
        try:
            rendered[role.name] = render_role(identity, observed.spec, role, shape, settings)
        except RenderRefused as refused:
            return Rendered(refusal=Refusal(refused.reason, refused.message))
    return Rendered(rendered, render_services(identity, list(rendered.values())))


def _instance_type(observed: Observed, role: Role) -> InstanceTypeSpec | Refusal | None:
    if role.instance_type is None:
        return None
    found = observed.instance_types.get(role.instance_type)
    if found is None:
        problem = f"roles[{role.name}].instanceType: there is no InstanceType {role.instance_type}; create it"
        return Refusal(Reason.INSTANCE_TYPE_NOT_FOUND, problem)
    return found


CONTROLLER = HookController(
    name="modeldeployments",
    api_version=names.API_VERSION,
    kind="ModelDeployment",
    resource="modeldeployments",
    children=(
        ChildRule("v1", "pods", "Pod", "OnDelete"),
        ChildRule("v1", "services", "Service", "InPlace"),
    ),
    sync=sync,
    finalize=finalize,
    customize=customize,
    related=(
        ("v1", "services"),
        (names.API_VERSION, "instancetypes"),
        (f"{KUEUE_GROUP}/{KUEUE_VERSIONS[0]}", "workloads"),
    ),
)
