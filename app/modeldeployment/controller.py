"""The main controller's three answers. `sync` is the whole program; everything else is a way to call it."""

from collections.abc import Mapping
from datetime import datetime

from app.api.instancetype import InstanceTypeSpec
from app.api.reasons import Reason
from app.api.role import Role
from app.kube import names
from app.kube.hook import JSON, ChildRule, HookController, RelatedRule, SyncAnswer, SyncRequest
from app.kube.pods import mapping, maps, text
from app.modeldeployment.children import children
from app.modeldeployment.observe import Observed, observe
from app.modeldeployment.plan import Plan, make_plan
from app.modeldeployment.render import Identity, RenderedRole, RenderRefused, render_role, render_services
from app.modeldeployment.spec import Refusal
from app.modeldeployment.status import fold
from app.settings import ControllerSettings

Rendered = tuple[Mapping[str, RenderedRole], Mapping[str, JSON], Refusal | None]


def sync(request: SyncRequest, now: datetime, settings: ControllerSettings) -> SyncAnswer:
    """The desired children and the status of one deployment."""
    observed = observe(request)
    roles, services, refusal = _render(observed, settings)
    plan = _plan(observed, roles, services, refusal, now)
    return SyncAnswer(
        status=fold(observed, plan, roles, now, settings),
        children=children(observed, plan, roles, services),
        resync_after_seconds=plan.wake,
    )


def finalize(request: SyncRequest, now: datetime, settings: ControllerSettings) -> SyncAnswer:
    """Lets every child go, and is final once no Pod is observed: terminating ones still hold their devices."""
    observed = observe(request)
    plan = make_plan(observed, {}, (), observed.refusal, now)
    return SyncAnswer(status=fold(observed, plan, {}, now, settings), children=[], finalized=not observed.pods)


def customize(parent: JSON) -> tuple[RelatedRule, ...]:
    """Objects to see beside the children, all by name: InstanceTypes, and the Services that will be ours.

    Reads the spec without validating it: a failed customize keeps the sync from being called, and the sync is who
    can say what is wrong.
    """
    metadata = mapping(parent.get("metadata"))
    roles = [role for role in maps(mapping(parent.get("spec")).get("roles")) if text(role.get("name"))]
    types = {text(role.get("instanceType")) for role in roles} - {""}
    services = _service_names(text(metadata.get("name")), roles)
    rules = [RelatedRule("v1", "services", tuple(sorted(services)), namespace=text(metadata.get("namespace")))]
    if types:
        rules.append(RelatedRule(names.API_VERSION, "instancetypes", tuple(sorted(types))))
    return tuple(rules)


def _service_names(deployment: str, roles: list[JSON]) -> set[str]:
    found = {deployment}
    for role in roles:
        found.add(names.role_service(deployment, role["name"]))
        if role.get("size", 1) != 1:
            found.add(names.headless_service(deployment, role["name"]))
    return found


def _plan(
    observed: Observed,
    roles: Mapping[str, RenderedRole],
    services: Mapping[str, JSON],
    refusal: Refusal | None,
    now: datetime,
) -> Plan:
    hashes = {name: role.pod_hash for name, role in roles.items()}
    return make_plan(observed, hashes, tuple(services), refusal, now)


def _render(observed: Observed, settings: ControllerSettings) -> Rendered:
    """Every role's template and every Service, or the first refusal; nothing where reconciling is off."""
    if observed.spec is None or not observed.spec.enabled or observed.deleting:
        return {}, {}, observed.refusal
    identity = Identity(observed.name, observed.namespace)
    rendered: dict[str, RenderedRole] = {}
    for role in observed.spec.roles:
        shape = _instance_type(observed, role)
        if isinstance(shape, Refusal):
            return {}, {}, shape
        try:
            rendered[role.name] = render_role(identity, observed.spec, role, shape, settings)
        except RenderRefused as refused:
            return {}, {}, Refusal(refused.reason, refused.message)
    return rendered, render_services(identity, list(rendered.values())), None


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
    related=(("v1", "services"), (names.API_VERSION, "instancetypes")),
)
