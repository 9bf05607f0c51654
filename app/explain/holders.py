"""Who holds the quota that others wait for, by owner and priority, those first whom Kueue would preempt first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from app.explain.answer import Holder
from app.explain.looking import kueue
from app.explain.pool import Pool
from app.explain.subject import DEPLOYMENT, Subject, replicas
from app.kube import names
from app.kube.claims import Claim, Place, claim
from app.kube.pods import mapping, maps, text
from app.kube.quantities import spell
from app.kube.queues import ClusterQueueView, cluster_queue

OURSELVES = "this deployment itself"


@dataclass(frozen=True, slots=True)
class Holding:
    """The Workloads that hold what a pool is asked for, and who they are.

    `who` names each Workload's owner by its (namespace, name); `queues` share that quota, by name.
    """

    claims: tuple[Claim, ...]
    who: Mapping[tuple[str, str], str]
    holders: tuple[Holder, ...]
    queues: Mapping[str, ClusterQueueView]


def holding(subject: Subject, found: Pool) -> Holding:
    """Reads the Workloads, as far as the caller may."""
    places = {(quota.flavor, quota.resource) for quota in found.places}
    queues = _cohort(subject, found.queue)
    claims = [one for one in map(claim, subject.look.workloads(subject.namespace) or []) if one.holds]
    claims = [one for one in claims if one.view.cluster_queue in queues and places & one.held.keys()]
    owners = _owners(subject) if claims else {}
    grouped: dict[tuple[str, str, int, str], list[Claim]] = {}
    who = {(one.namespace, one.view.name): _who(one, owners, subject) for one in claims}
    for one in claims:
        key = (who[one.namespace, one.view.name], one.view.cluster_queue, one.priority, one.priority_class)
        grouped.setdefault(key, []).append(one)
    holders = [_holder(key, members, places) for key, members in grouped.items()]
    holders.sort(key=lambda one: (one.priority, one.cluster_queue, one.who))
    return Holding(tuple(claims), who, tuple(holders), queues)


def _cohort(subject: Subject, queue: ClusterQueueView) -> dict[str, ClusterQueueView]:
    """The queue, and those that share its quota."""
    if not queue.cohort:
        return {queue.name: queue}
    listed = map(cluster_queue, subject.look.all(kueue("ClusterQueue")) or [])
    return {queue.name: queue} | {one.name: one for one in listed if one.cohort == queue.cohort}


def _owners(subject: Subject) -> dict[tuple[str, str], str]:
    """ModelDeployments by the (namespace, name) of the Workloads of their seats."""
    found: dict[tuple[str, str], str] = {}
    for item in subject.look.all(DEPLOYMENT) or []:
        metadata = mapping(item.get("metadata"))
        name, namespace = text(metadata.get("name")), text(metadata.get("namespace"))
        for role in maps(mapping(item.get("spec")).get("roles")):
            prefix = names.seat_prefix(name, text(role.get("name")))
            for ordinal in range(replicas(role)):
                found[namespace, names.group_of(f"{prefix}-{ordinal}")] = f"ModelDeployment {namespace}/{name}"
    return found


def _who(one: Claim, owners: Mapping[tuple[str, str], str], subject: Subject) -> str:
    if one.namespace == subject.namespace and one.view.name in subject.seats:
        return OURSELVES
    kind, name = one.owner
    by_itself = f"{kind} {one.namespace}/{name}" if kind else f"Workload {one.namespace}/{one.view.name}"
    return owners.get((one.namespace, one.view.name), by_itself)


def _holder(key: tuple[str, str, int, str], members: list[Claim], places: Iterable[Place]) -> Holder:
    who, queue, priority, priority_class = key
    amounts: dict[str, Fraction] = {}
    for one in members:
        for place in places:
            if place in one.held:
                amounts[place[1]] = amounts.get(place[1], Fraction(0)) + one.held[place]
    spellings = {name: spelling for one in members for name, spelling in one.spellings.items()}
    return Holder(
        who=who,
        namespace=members[0].namespace,
        cluster_queue=queue,
        priority=priority,
        priority_class=priority_class,
        workloads=len(members),
        amounts={name: spell(value, spellings.get(name, "1")) for name, value in sorted(amounts.items())},
    )
