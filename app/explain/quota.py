"""QuotaReserved: what each of its reasons means for this deployment, and what is behind it in Kueue."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from app.api.reasons import AdmissionReason, Reason
from app.explain.answer import Finding, Part, action_of, numbered, sentence
from app.explain.chain import Chain, Waiting, chain, obstacle, waiting
from app.explain.holders import holding
from app.explain.looking import KUEUE
from app.explain.pool import pool, say_quota
from app.explain.release import add_quota, say_release
from app.explain.subject import EVENT, RESOURCE, Subject, command
from app.kube.claims import Claim
from app.kube.kueue import Wait, gated
from app.kube.pods import PodView, mapping, maps, text
from app.kube.quantities import spell
from app.kube.queues import ClusterQueueView
from app.modeldeployment.interruptions import ranges

ABOUT = "QuotaReserved"
_MOST = 4


def quota(subject: Subject) -> Iterator[Finding]:
    """What QuotaReserved says is missing, and an admission check that quota waits behind."""
    status, reason, message = subject.condition(ABOUT)
    if status == "True" and subject.admission[0] == AdmissionReason.WAITING_FOR_CHECKS:
        yield _checks(subject)
    answer = _ANSWERS.get(reason)
    if status == "True" or answer is None:
        return
    part = Part()
    part.say(sentence(message))
    answer(subject, part)
    asked = subject.admission[0] if reason == Reason.PENDING else ""
    yield part.finding(ABOUT, reason, action_of(AdmissionReason, asked) or action_of(Reason, reason))


def _pending(subject: Subject, part: Part) -> None:
    """Each role's way to its quota: the queues first, then what is in them."""
    for one in waiting(subject):
        way = chain(subject.look, subject.namespace, one.queue)
        part.say(_asks(one, way))
        if not obstacle(subject, way, part) and isinstance(way.cluster, ClusterQueueView):
            _ask_queue(subject, one, way.cluster, part)


def _ask_queue(subject: Subject, one: Waiting, queue: ClusterQueueView, part: Part) -> None:
    if one.claim is not None and one.claim.view.wait is Wait.CAPACITY:
        part.say("Quota is not what is short: Kueue finds no nodes for the shape that a replica has (see its words).")
        part.type(command("kubectl", "get", "nodes", "-o", "wide"), "see which nodes there are, and their labels")
        return
    found = pool(queue, one)
    waits = say_quota(found, part)
    if waits:
        say_release(subject, found, holding(subject, found), part)
    if queue.pending:
        part.say(f"{_workloads(queue.pending)} in cluster queue {queue.name}, this deployment's among them.")
    add_quota(found, part)


def _workloads(count: int) -> str:
    return "1 Workload waits" if count == 1 else f"{count} Workloads wait"


def _asks(one: Waiting, way: Chain) -> str:
    who = f"Role {one.role}" + (f", {numbered(ranges(one.ordinals))}" if one.ordinals else "")
    behind = f" of cluster queue {way.cluster_name}" if way.cluster_name else ""
    if one.claim is None:
        return f"{who}: waits for LocalQueue {one.queue}{behind}."
    each = " each" if len(one.ordinals) > 1 else ""
    return f"{who}: asks LocalQueue {one.queue}{behind} for {_amounts(one.claim)}{each}, with {_priority(one.claim)}."


def _amounts(claim: Claim) -> str:
    found = [f"{spell(value, claim.spellings.get(name, '1'))} {name}" for name, value in sorted(claim.requests.items())]
    return ", ".join(found) or "what its Pods request"


def _priority(claim: Claim) -> str:
    return f"priority {claim.priority}" + (f" ({claim.priority_class})" if claim.priority_class else "")


def _preempted(subject: Subject, part: Part) -> None:
    part.say("The replicas that kept their quota hold it while the others wait; no timer ends that.")
    _pending(subject, part)


def _parked(subject: Subject, part: Part) -> None:
    parked = mapping(subject.status.get("parked"))
    seats = ", ".join(f"{text(one.get('role'))} {text(one.get('seats'))}" for one in maps(parked.get("seats")))
    part.say(f"Parked since {text(parked.get('at'))}: {seats or 'the whole set'}. What is parked asks for nothing.")
    part.type(subject.hangar("resume"), "ask for quota again, each replica at the end of its queue")
    for role in subject.roles:
        queue = subject.queue_of(role)
        way = chain(subject.look, subject.namespace, queue) if queue else None
        if way and not obstacle(subject, way, part) and isinstance(way.cluster, ClusterQueueView):
            say_quota(pool(way.cluster, Waiting(text(role.get("name")), (), queue, None)), part)


def _incomplete(subject: Subject, part: Part) -> None:
    _, reconciling, words = subject.condition("Reconciling")
    if reconciling:
        part.say(f"Reconciling, {reconciling}: {words}.")
    part.say("Kueue counts a replica only when all its Pods exist; those that wait keep their place meanwhile.")
    part.type(subject.kubectl("describe", RESOURCE, subject.name), "see the events: the API server may refuse a Pod")


def _reserved_namespace(subject: Subject, part: Part) -> None:
    part.say("Its Pods are held back by Kueue's webhook, and nobody will ever let them go here.")
    part.type(subject.kubectl("delete", RESOURCE, subject.name), "take it away, and make it in another namespace")


def _in_flight(subject: Subject, part: Part) -> None:
    lacking = [pod for pod in subject.pods if gated(pod.raw) and (pod.role, pod.ordinal) not in subject.workloads]
    for pod in lacking[:_MOST]:
        part.say(*_composing(subject, pod))
    part.type(
        subject.kubectl("get", "events", "--field-selector", "involvedObject.kind=Pod", "--sort-by=.lastTimestamp"),
        "see what Kueue says of the Pods",
    )
    part.type(
        command("kubectl", "-n", "kueue-system", "get", "configmap", "kueue-manager-config", "-o", "yaml"),
        "see whether managedJobsNamespaceSelector takes this namespace in, and the pod integration is on",
    )


def _composing(subject: Subject, pod: PodView) -> Iterator[str]:
    """Kueue's own warnings about a Pod whose Workload it does not make."""
    for event in subject.look.all(EVENT, subject.namespace, fields={"involvedObject.uid": pod.uid}) or []:
        if event.get("type") == "Warning":
            yield f"Pod {pod.name}, {text(event.get('reason'))}: {text(event.get('message'))}."


def _none(subject: Subject, part: Part) -> None:
    if subject.status.get("desiredReplicas") == 0:
        part.say("All roles are scaled to zero, so none asks for quota.")
    else:
        part.say("Pods are asked for in every pass; where none comes, the events say why.")
        part.type(subject.kubectl("describe", RESOURCE, subject.name), "see the events")


def _leaving(subject: Subject, part: Part) -> None:
    for pod in [pod for pod in subject.pods if pod.terminating][:_MOST]:
        where = f" on node {pod.node_name}" if pod.node_name else ""
        part.say(f"Pod {pod.name} is terminating{where}.")
    part.say("Each seat is filled again once its last Pod is gone, and its quota is free only then.")


def _checks(subject: Subject) -> Finding:
    """Quota is reserved, and something else must say yes first."""
    part = Part()
    for (role, ordinal), item in sorted(subject.workloads.items()):
        for check in maps(mapping(item.get("status")).get("admissionChecks")):
            state, name = text(check.get("state")), text(check.get("name"))
            if state != "Ready" and len(part.sentences) < _MOST:
                words = sentence(text(check.get("message"))) or "it says nothing more."
                part.say(f"Role {role}, replica {ordinal}: admission check {name} is {state}: {words}")
                part.type(command("kubectl", "describe", f"admissionchecks.{KUEUE}", name), "see who answers for it")
    part.say("Its quota is held meanwhile, so nobody else gets it.")
    return part.finding("admission", AdmissionReason.WAITING_FOR_CHECKS, AdmissionReason.WAITING_FOR_CHECKS.action)


_ANSWERS: Mapping[str, Callable[[Subject, Part], None]] = MappingProxyType(
    {
        Reason.PENDING: _pending,
        Reason.PREEMPTED_IN_PART: _preempted,
        Reason.PARKED: _parked,
        Reason.POD_GROUP_INCOMPLETE: _incomplete,
        Reason.NO_QUEUE_IN_RESERVED_NAMESPACE: _reserved_namespace,
        Reason.ADMISSION_IN_FLIGHT: _in_flight,
        Reason.NO_REPLICAS: _none,
        Reason.ALL_REPLICAS_TERMINATING: _leaving,
    }
)
