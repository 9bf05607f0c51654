"""The deployment that is explained, and the objects that belong to it."""

import shlex
from functools import cached_property

from app.api.kinds import INSTANCE_TYPE, MODEL_DEPLOYMENT
from app.explain.looking import Look
from app.kube import names
from app.kube.claims import Claim, claim
from app.kube.hook import JSON
from app.kube.pods import PodView, condition, mapping, maps, text, view
from app.kube.reader import ObjectKind, Objects

DEPLOYMENT = (ObjectKind(names.API_VERSION, MODEL_DEPLOYMENT.kind),)
TYPE = (ObjectKind(names.API_VERSION, INSTANCE_TYPE.kind),)
POD = (ObjectKind("v1", "Pod"),)
EVENT = (ObjectKind("v1", "Event"),)
RESOURCE = f"{MODEL_DEPLOYMENT.plural}.{names.GROUP}"

# Role and ordinal.
Seat = tuple[str, int]


class Subject:
    """One deployment as stored. What else is asked about it is read when it is asked, once, through `look`."""

    def __init__(self, stored: JSON, look: Look) -> None:
        metadata = mapping(stored.get("metadata"))
        self.look = look
        self.name = text(metadata.get("name"))
        self.namespace = text(metadata.get("namespace"))
        self.uid = text(metadata.get("uid"))
        self.metadata = metadata
        self.spec = mapping(stored.get("spec"))
        self.status = mapping(stored.get("status"))

    @property
    def title(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def condition(self, kind: str) -> tuple[str, str, str]:
        """(status, reason, message) of a condition; empty where it is absent."""
        found = condition(self.status, kind)
        return text(found.get("status")), text(found.get("reason")), text(found.get("message"))

    @property
    def admission(self) -> tuple[str, str]:
        """(reason, message) of `status.admission`."""
        found = mapping(self.status.get("admission"))
        return text(found.get("reason")), text(found.get("message"))

    @property
    def roles(self) -> list[JSON]:
        """The declared roles."""
        return maps(self.spec.get("roles"))

    def role_status(self, role: str) -> JSON:
        """What the status says of a role; empty where it says nothing."""
        return next((one for one in maps(self.status.get("roles")) if one.get("name") == role), {})

    def queue_of(self, role: JSON) -> str:
        """The LocalQueue of a role: its own, else its InstanceType's, else none."""
        if text(role.get("queueName")):
            return text(role.get("queueName"))
        named = text(role.get("instanceType"))
        found = self.look.one(TYPE, named) if named else {}
        return text(mapping(found.get("spec")).get("queueName")) if isinstance(found, dict) else ""

    @cached_property
    def pods(self) -> list[PodView]:
        """Its Pods, by name; none where they may not be read."""
        found = self.look.all(POD, self.namespace, labels={names.DEPLOYMENT: self.name}) or []
        owned = [item for item in found if _owned(item, self.uid)]
        return sorted((view("", item) for item in owned), key=lambda pod: (pod.role, pod.ordinal or 0, pod.member or 0))

    @cached_property
    def seats(self) -> dict[str, Seat]:
        """Its declared seats by the name of their Workload."""
        return {
            names.group(self.name, text(role.get("name")), ordinal): (text(role.get("name")), ordinal)
            for role in self.roles
            for ordinal in range(replicas(role))
        }

    @cached_property
    def workloads(self) -> dict[Seat, JSON]:
        """The Workloads of its seats; none where they may not be read."""
        found = self.look.workloads(self.namespace) or []
        own = [item for item in found if mapping(item.get("metadata")).get("namespace") == self.namespace]
        named = {text(mapping(item.get("metadata")).get("name")): item for item in own}
        return {seat: named[name] for name, seat in self.seats.items() if name in named}

    @cached_property
    def claims(self) -> dict[Seat, Claim]:
        """Those Workloads as what they ask for and hold."""
        return {seat: claim(item) for seat, item in self.workloads.items()}

    @cached_property
    def events(self) -> Objects:
        """Warnings about the deployment itself, the newest last; none where they may not be read."""
        found = self.look.all(EVENT, self.namespace, fields={"involvedObject.uid": self.uid}) or []
        return sorted((item for item in found if item.get("type") == "Warning"), key=_seen_at)

    def kubectl(self, *words: str) -> str:
        """A kubectl command in the deployment's namespace."""
        return command("kubectl", "-n", self.namespace, *words)

    def hangar(self, verb: str) -> str:
        """A verb of the command line on this deployment."""
        return command("hangar", verb, self.name, "-n", self.namespace)


def command(*words: str) -> str:
    """Words as one line for a shell."""
    return shlex.join(words)


def replicas(role: JSON) -> int:
    """The declared replicas of a role as stored, at most 1000."""
    stated = role.get("replicas", 1)
    return min(max(stated, 0), 1000) if isinstance(stated, int) else 0


def _owned(item: JSON, uid: str) -> bool:
    owners = maps(mapping(item.get("metadata")).get("ownerReferences"))
    return any(owner.get("uid") == uid for owner in owners)


def _seen_at(event: JSON) -> str:
    seen = (event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    return next((moment for moment in map(text, seen) if moment), "")
