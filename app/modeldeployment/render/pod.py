"""One role's Pod: rendered once as a template, filled per seat.

Metacontroller adds the owner reference and its own selector label. Nothing is emitted that the API server drops
(nulls, empty strings, maps and lists), and every item of a list has a name or a number of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.kube import canonical, kueue, names
from app.kube.hook import JSON
from app.kube.pods import MAIN_CONTAINER
from app.modeldeployment.render.commandline import CommandLine, command_line
from app.modeldeployment.render.drain import drain, grace_seconds
from app.modeldeployment.render.gates import gated, gates, scheme
from app.modeldeployment.render.image import image
from app.modeldeployment.render.placement import placement
from app.modeldeployment.render.ports import container_ports
from app.modeldeployment.render.queue import queue_annotations, queue_labels
from app.modeldeployment.render.resources import resources
from app.modeldeployment.render.subject import Identity, Subject
from app.modeldeployment.render.volumes import volumes

APP = "modeldeployment"
MANAGER = "hangar"
LEADER_ADDRESS = "HANGAR_LEADER_ADDRESS"
REPLICA_SIZE = "HANGAR_REPLICA_SIZE"
MEMBER_INDEX = "HANGAR_MEMBER_INDEX"
LOOPBACK = "127.0.0.1"

# What stands for a seat's own values in the hash: it covers every member and no ordinal.
_ANY = "*"
_OTHER_MEMBER = 1


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """Everything of a role's Pods but what belongs to one seat.

    `annotations` are the leader's, `marks` every member's. `leader` and `other` are what the container of member 0 and
    of the others has beside `container`.
    """

    identity: Identity
    role: str
    size: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    marks: Mapping[str, str]
    spec: JSON
    container: JSON
    leader: JSON
    other: JSON
    command: CommandLine

    def fill(self, ordinal: int, member: int, pod_hash: str) -> JSON:
        """The manifest of one Pod. Parts are shared between Pods of the role: change none in place."""
        deployment, size = self.identity.name, self.size
        name = names.pod(deployment, self.role, ordinal, member, size)
        leader = names.pod(deployment, self.role, ordinal, 0, size)
        headless = names.headless_service(deployment, self.role)
        address = f"{leader}.{headless}.{self.identity.namespace}.svc"
        group = names.group(deployment, self.role, ordinal)
        return self._made(name, str(ordinal), member, address, group, {names.POD_HASH: pod_hash})

    def pod_hash(self) -> str:
        """SHA-256 of the canonical templates of the leader and, where there is one, of another member."""
        members = (0, _OTHER_MEMBER) if self.size > 1 else (0,)
        return canonical.sha256([self._made(_ANY, _ANY, member, _ANY, _ANY, {}) for member in members])

    def _made(self, name: str, ordinal: str, member: int, leader: str, group: str, hashed: Mapping[str, str]) -> JSON:
        labels = {**self.labels, names.REPLICA: ordinal, names.MEMBER: str(member)}
        if kueue.QUEUE in labels:
            labels[kueue.GROUP] = group
        metadata = {
            "name": name,
            "namespace": self.identity.namespace,
            "labels": labels,
            "annotations": {**(self.annotations if member == 0 else {}), **self.marks, **hashed},
        }
        container = {
            **self.container,
            "command": self.command.of(member, leader),
            **(self.other if member else self.leader),
        }
        spec = {**self.spec, "containers": [container]}
        if self.size > 1:
            rank = [
                {"name": LEADER_ADDRESS, "value": leader},
                {"name": REPLICA_SIZE, "value": str(self.size)},
                {"name": MEMBER_INDEX, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{names.MEMBER}']"}}},
            ]
            container["env"] = [*self.container.get("env", ()), *rank]
            spec |= {"hostname": name, "subdomain": names.headless_service(self.identity.name, self.role)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pod_template(subject: Subject) -> PodTemplate:
    """The template of one role."""
    role = subject.role
    found, mounts = volumes(subject)
    return PodTemplate(
        identity=subject.identity,
        role=role.name,
        size=role.size,
        labels=_labels(subject),
        annotations=_annotations(subject),
        marks=queue_annotations(subject),
        spec=_spec(subject, found),
        container=_container(subject, mounts),
        leader=_leader(subject),
        other={} if subject.unmanaged else {"lifecycle": drain(subject, f"${LEADER_ADDRESS}")},
        command=command_line(subject),
    )


def _labels(subject: Subject) -> dict[str, str]:
    return {
        names.APP_NAME: APP,
        names.APP_COMPONENT: subject.role.name,
        names.APP_MANAGED_BY: MANAGER,
        names.DEPLOYMENT: subject.identity.name,
        names.ROLE: subject.role.name,
        names.ROLE_KIND: subject.role.kind.lower(),
        **queue_labels(subject),
    }


def _annotations(subject: Subject) -> dict[str, str]:
    """Where the leader's metrics are read, and where a Decode half finds its Prefill."""
    if subject.unmanaged:
        return {}
    found = {
        "prometheus.io/scrape": "true",
        "prometheus.io/path": "/metrics",
        "prometheus.io/port": str(subject.listening),
        "prometheus.io/scheme": scheme(subject),
    }
    if subject.bootstrap_port is not None:
        found["sglang.ai/bootstrap-port"] = str(subject.bootstrap_port)
    return found


def _leader(subject: Subject) -> JSON:
    found = gates(subject) if gated(subject) else {}
    return found if subject.unmanaged else {**found, "lifecycle": drain(subject, LOOPBACK)}


def _container(subject: Subject, mounts: list[JSON]) -> JSON:
    role = subject.role
    found: JSON = {"name": MAIN_CONTAINER, "image": image(subject)}
    optional: JSON = {
        "imagePullPolicy": role.image_pull_policy,
        "env": _environment(subject),
        "resources": resources(subject),
    }
    found |= {key: value for key, value in optional.items() if value}
    found["ports"] = container_ports(subject)
    found["volumeMounts"] = mounts
    found["securityContext"] = {"privileged": True} if role.privileged else {"allowPrivilegeEscalation": False}
    return found


def _environment(subject: Subject) -> list[JSON]:
    """The user's variables; of two with one name the later counts, in the place of the first."""
    values = {variable.name: variable.value for variable in subject.role.env}
    return [{"name": name, "value": value} if value else {"name": name} for name, value in values.items()]


def _spec(subject: Subject, found: list[JSON]) -> JSON:
    role = subject.role
    spec: JSON = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Always",
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": found,
    }
    optional: JSON = {
        "terminationGracePeriodSeconds": grace_seconds(subject),
        "imagePullSecrets": [{"name": secret.name} for secret in role.image_pull_secrets],
        "affinity": role.affinity,
        "priorityClassName": role.priority_class_name,
        **placement(subject),
    }
    return spec | {key: value for key, value in optional.items() if value}
