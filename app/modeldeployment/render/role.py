"""Rendering one role: the checks, then a template of its Pods and their hash."""

from dataclasses import dataclass, field

from app.api.instancetype import InstanceTypeSpec
from app.api.kubernetes import Protocol
from app.api.modeldeployment import ModelDeploymentSpec
from app.api.role import Role, RoleKind
from app.kube.hook import JSON
from app.modeldeployment.render.checks import check
from app.modeldeployment.render.gates import Scheme, gated, scheme
from app.modeldeployment.render.pod import PodTemplate, pod_template
from app.modeldeployment.render.ports import port_name
from app.modeldeployment.render.queue import queue_name
from app.modeldeployment.render.subject import Identity, read_subject
from app.settings import ControllerSettings


@dataclass(frozen=True, slots=True)
class RenderedRole:
    """One role as this pass renders it.

    `port` and `protocol` are the Services'; `target_port` is what the engine opens, another only where the user's own
    `--port` says so and no port is declared. `gated`: readiness comes from the engine. `unmanaged`: the role replaced
    its command line. `queue` is the LocalQueue it takes its quota from, None where it takes none. `pod_hash` covers
    every member of a replica, and neither ordinals nor the number of replicas.
    """

    name: str
    kind: RoleKind
    size: int
    port: int
    protocol: Protocol
    scheme: Scheme
    gated: bool
    unmanaged: bool
    pod_hash: str
    port_name: str
    target_port: int
    queue: str | None
    template: PodTemplate = field(repr=False)

    def pod(self, ordinal: int, member: int) -> JSON:
        """The whole manifest of one Pod. Parts are shared between Pods of the role: change none in place."""
        return self.template.fill(ordinal, member, self.pod_hash)


def render_role(
    identity: Identity,
    spec: ModelDeploymentSpec,
    role: Role,
    instance_type: InstanceTypeSpec | None,
    settings: ControllerSettings,
) -> RenderedRole:
    """Renders `role`; `instance_type` is what its `instanceType` names, None where it names none.

    Raises `RenderRefused`, with one sentence that names the field and the way out.
    """
    subject = read_subject(identity, spec, role, instance_type, settings)
    check(subject)
    template = pod_template(subject)
    return RenderedRole(
        name=role.name,
        kind=role.kind,
        size=role.size,
        port=subject.port,
        protocol=subject.protocol,
        scheme=scheme(subject),
        gated=gated(subject),
        unmanaged=subject.unmanaged,
        pod_hash=template.pod_hash(),
        port_name=port_name(subject),
        target_port=subject.listening,
        queue=queue_name(subject),
        template=template,
    )
