"""What stands in the way of everything else: no sync, a deletion, reconciling switched off, and Stalled."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from app.api.kinds import INSTANCE_TYPE
from app.api.reasons import Reason
from app.explain.answer import Finding, Part, action_of, sentence
from app.explain.looking import Gap
from app.explain.subject import RESOURCE, TYPE, Subject, command
from app.kube import names
from app.kube.kueue import gated, queued
from app.kube.pods import mapping, maps, text
from app.kube.reader import ObjectKind

_MOST = 4
_SERVICE = (ObjectKind("v1", "Service"),)


def unanswered(subject: Subject) -> Iterator[Finding]:
    """A spec that no sync has answered for: then the rest of the status is about another one, or not there."""
    answered, generation = subject.status.get("observedGeneration"), subject.metadata.get("generation")
    if answered is not None and answered == generation:
        return
    part = Part()
    if answered is None:
        part.say("No sync has written a status yet: Metacontroller does not call Hangar, or its calls fail.")
    else:
        part.say(f"The spec is at generation {generation}, and the status answers for generation {answered}.")
    _say_events(subject, part)
    part.type(subject.kubectl("describe", RESOURCE, subject.name), "see the events of the object")
    part.type(
        command("kubectl", "-n", "metacontroller", "logs", "-l", "app.kubernetes.io/name=metacontroller", "--tail=50"),
        "see whether Metacontroller calls the hook, and what it gets",
    )
    yield part.finding("observedGeneration", "", "Wait a moment; where it stays, look at Metacontroller.")


def deleting(subject: Subject) -> Iterator[Finding]:
    """A deletion that is under way."""
    if not subject.metadata.get("deletionTimestamp"):
        return
    part = Part()
    part.say(f"It is being deleted since {text(subject.metadata.get('deletionTimestamp'))}.")
    for pod in subject.pods[:_MOST]:
        where = f" on node {pod.node_name}" if pod.node_name else ""
        state = "is terminating" if pod.terminating else "is still there"
        part.say(f"Pod {pod.name} {state}{where}.")
    left = len(subject.pods) - _MOST
    part.say(f"And {left} more." if left > 0 else "")
    held = subject.metadata.get("finalizers")
    part.say(f"Its finalizers: {', '.join(map(str, held))}." if isinstance(held, list) and held else "")
    yield part.finding("phase", Reason.DELETING, Reason.DELETING.action)


def switched_off(subject: Subject) -> Iterator[Finding]:
    """Reconciling that somebody switched off."""
    if subject.spec.get("enabled") is not False:
        return
    part = Part()
    part.say("Reconciling is off (spec.enabled is false): nothing is made, turned over or let go.")
    change = '{"spec":{"enabled":true}}'
    part.type(subject.kubectl("patch", RESOURCE, subject.name, "--type=merge", "-p", change), "switch it on again")
    yield part.finding("spec.enabled", "", "")


def stalled(subject: Subject) -> Iterator[Finding]:
    """Stalled: the field or object that is in the way."""
    status, reason, message = subject.condition("Stalled")
    if status != "True":
        return
    part = Part()
    part.say(sentence(message))
    _BEHIND.get(reason, _edit)(subject, part)
    yield part.finding("Stalled", reason, action_of(Reason, reason))


def _edit(subject: Subject, part: Part) -> None:
    part.say("What runs keeps running; replicas are made and turned over again once this is corrected.")
    part.type(subject.kubectl("edit", RESOURCE, subject.name), "correct the field that is named")


def _instance_type(subject: Subject, part: Part) -> None:
    found = subject.look.all(TYPE)
    named = sorted(text(mapping(item.get("metadata")).get("name")) for item in found or [])
    part.say(f"InstanceTypes there are: {', '.join(named) or 'none'}." if found is not None else "")
    part.type(command("kubectl", "get", f"{INSTANCE_TYPE.plural}.{names.GROUP}"), "see the InstanceTypes")


def _taken(subject: Subject, part: Part) -> None:
    """Who has the Services' names."""
    roles = [text(role.get("name")) for role in subject.roles]
    wanted = [subject.name, *(names.role_service(subject.name, role) for role in roles)]
    wanted += [
        names.headless_service(subject.name, text(r.get("name"))) for r in subject.roles if r.get("size", 1) != 1
    ]
    for name in wanted:
        found = subject.look.one(_SERVICE, name, subject.namespace)
        if isinstance(found, Gap):
            continue
        owners = maps(mapping(found.get("metadata")).get("ownerReferences"))
        if any(owner.get("uid") == subject.uid for owner in owners):
            continue
        whose = ", ".join(f"{text(owner.get('kind'))} {text(owner.get('name'))}" for owner in owners)
        part.say(f"Service {name} belongs to {whose or 'nobody: it was made by hand, or its owner is gone'}.")
        part.type(subject.kubectl("get", "service", name, "-o", "yaml"), "see whose it is, before you delete it")


def _outside(subject: Subject, part: Part) -> None:
    running = [pod for pod in subject.pods if queued(pod.raw) and not gated(pod.raw)]
    outside = [pod for pod in running if (pod.role, pod.ordinal) not in subject.workloads]
    for pod in outside[:_MOST]:
        part.say(f"Pod {pod.name} has no Workload and is free to run{f' on {pod.node_name}' * bool(pod.node_name)}.")
    part.type(
        command("kubectl", "-n", "kueue-system", "get", "configmap", "kueue-manager-config", "-o", "yaml"),
        "see whether the pod integration is on and managedJobsNamespaceSelector takes this namespace in",
    )
    if outside:
        line = subject.kubectl("delete", "pod", *(pod.name for pod in outside[:_MOST]))
        part.type(line, "once Kueue is right: let them be made again, with quota")


def _not_created(subject: Subject, part: Part) -> None:
    _say_events(subject, part)
    part.type(subject.kubectl("describe", RESOURCE, subject.name), "see all events of the object")


def _say_events(subject: Subject, part: Part) -> None:
    """The last warnings about the deployment, the newest first."""
    for event in list(reversed(subject.events))[:_MOST]:
        part.say(f"Event {text(event.get('reason'))}: {sentence(text(event.get('message')))}")


_BEHIND: Mapping[str, Callable[[Subject, Part], None]] = MappingProxyType(
    {
        Reason.INSTANCE_TYPE_NOT_FOUND: _instance_type,
        Reason.INSTANCE_TYPE_INVALID: _instance_type,
        Reason.NAME_TAKEN: _taken,
        Reason.NOT_GATED: _outside,
        Reason.CHILD_NOT_CREATED: _not_created,
    }
)
