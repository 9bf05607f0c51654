"""The way of a Workload's quota: from the LocalQueue that a role names to the ClusterQueue behind it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.explain.answer import Part
from app.explain.looking import KUEUE, Gap, Look, kueue
from app.explain.subject import Subject, command
from app.kube.claims import Claim
from app.kube.pods import mapping, text
from app.kube.queues import ClusterQueueView, LocalQueueView, cluster_queue, local_queue


@dataclass(frozen=True, slots=True)
class Waiting:
    """Replicas of one role that wait in one LocalQueue; `claim` is one of theirs, None where none was read."""

    role: str
    ordinals: tuple[int, ...]
    queue: str
    claim: Claim | None


@dataclass(frozen=True, slots=True)
class Chain:
    """A LocalQueue and its ClusterQueue; `cluster` is None where the first does not lead to one."""

    name: str
    local: LocalQueueView | Gap
    cluster: ClusterQueueView | Gap | None

    @property
    def cluster_name(self) -> str:
        """The name of the ClusterQueue, empty where it is not known."""
        return self.local.cluster_queue if isinstance(self.local, LocalQueueView) else ""


def waiting(subject: Subject) -> list[Waiting]:
    """Who waits where: from the Workloads, and for roles of which none was read from what the spec names."""
    found: dict[tuple[str, str, int], list[tuple[int, Claim]]] = {}
    for (role, ordinal), claim in sorted(subject.claims.items()):
        if not claim.view.reserved:
            found.setdefault((role, claim.queue, claim.priority), []).append((ordinal, claim))
    known = [
        Waiting(role, tuple(ordinal for ordinal, _ in members), queue, members[0][1])
        for (role, queue, _), members in found.items()
    ]
    return known + list(_stated(subject, {one.role for one in known}))


def _stated(subject: Subject, known: set[str]) -> Iterator[Waiting]:
    for role in subject.roles:
        name = text(role.get("name"))
        counts = subject.role_status(name)
        reserved, desired = counts.get("quotaReserved", 0), counts.get("desired", 0)
        queue = "" if name in known or reserved >= desired else subject.queue_of(role)
        if queue:
            yield Waiting(name, (), queue, None)


def chain(look: Look, namespace: str, queue: str) -> Chain:
    """Follows a LocalQueue."""
    found = look.one(kueue("LocalQueue"), queue, namespace)
    if isinstance(found, Gap):
        return Chain(queue, found, None)
    local = local_queue(found)
    if not local.cluster_queue:
        return Chain(queue, local, None)
    behind = look.one(kueue("ClusterQueue"), local.cluster_queue)
    return Chain(queue, local, behind if isinstance(behind, Gap) else cluster_queue(behind))


def obstacle(subject: Subject, way: Chain, part: Part) -> bool:
    """Says what is wrong with the queues themselves, and whether anything is: then quota is no question yet."""
    if way.local is Gap.NOT_THERE:
        _missing_local(subject, way.name, part)
    elif isinstance(way.local, LocalQueueView) and way.local.stopped:
        part.say(f"LocalQueue {way.name} is stopped (stopPolicy {way.local.stopped}): it takes nothing on.")
        release = '{"spec":{"stopPolicy":"None"}}'
        line = subject.kubectl("patch", f"localqueues.{KUEUE}", way.name, "--type=merge", "-p", release)
        part.type(line, "let the queue run again, where you may")
    elif way.cluster is Gap.NOT_THERE:
        part.say(f"LocalQueue {way.name} leads to cluster queue {way.cluster_name}, and there is none of that name.")
        part.type(command("kubectl", "get", f"clusterqueues.{KUEUE}"), "see which there are")
    elif isinstance(way.cluster, ClusterQueueView):
        return _obstacle_behind(way.cluster, part)
    else:
        return _inactive(way, part)
    return True


def _obstacle_behind(queue: ClusterQueueView, part: Part) -> bool:
    if queue.stopped:
        part.say(f"Cluster queue {queue.name} is stopped (stopPolicy {queue.stopped}): it takes nothing on.")
        release = '{"spec":{"stopPolicy":"None"}}'
        line = command("kubectl", "patch", f"clusterqueues.{KUEUE}", queue.name, "--type=merge", "-p", release)
        part.type(line, "let the queue run again, where you may")
    elif queue.inactive is not None:
        part.say(f"Cluster queue {queue.name} is not active: {_words(queue.inactive)}.")
        part.type(command("kubectl", "describe", f"clusterqueues.{KUEUE}", queue.name), "see what it lacks")
    else:
        return False
    return True


def _inactive(way: Chain, part: Part) -> bool:
    """A LocalQueue that says itself that it is not active, where the ClusterQueue may not be read."""
    if not isinstance(way.local, LocalQueueView) or way.local.inactive is None:
        return False
    part.say(f"LocalQueue {way.name} is not active: {_words(way.local.inactive)}.")
    return True


def _words(inactive: Sequence[str]) -> str:
    return ": ".join(word for word in inactive if word).rstrip(".")


def _missing_local(subject: Subject, queue: str, part: Part) -> None:
    part.say(f"There is no LocalQueue {queue} in namespace {subject.namespace}.")
    others = subject.look.all(kueue("LocalQueue"), subject.namespace)
    named = sorted(text(mapping(item.get("metadata")).get("name")) for item in others or [])
    if named:
        part.say(f"There is {', '.join(named)}: a role may name another queue (queueName), which turns it over.")
    manifest = (
        f'{{"apiVersion":"{kueue("LocalQueue")[0].api_version}","kind":"LocalQueue",'
        f'"metadata":{{"name":"{queue}","namespace":"{subject.namespace}"}},'
        f'"spec":{{"clusterQueue":"{_only_cluster_queue(subject)}"}}}}'
    )
    part.type(f"echo {command(manifest)} | kubectl apply -f -", "make the queue, where you may")


def _only_cluster_queue(subject: Subject) -> str:
    """The one ClusterQueue there is, else a word to replace."""
    found = subject.look.all(kueue("ClusterQueue")) or []
    return text(mapping(found[0].get("metadata")).get("name")) if len(found) == 1 else "CLUSTER-QUEUE"
