"""What a ClusterQueue has of what a replica asks for, and whether waiting for it can help."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from app.explain.answer import Part
from app.explain.chain import Waiting
from app.kube.quantities import spell
from app.kube.queues import ClusterQueueView, Quota

# Resources that every Pod asks for; the others count accelerators or their credits.
_COMMON = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


@dataclass(frozen=True, slots=True)
class Pool:
    """One question to one ClusterQueue: the replicas that wait, what one of them asks for, and the quotas that matter.

    What is asked is empty where no Workload of theirs was read.
    """

    queue: ClusterQueueView
    who: Waiting
    places: tuple[Quota, ...]
    asked: Mapping[str, Fraction]

    @property
    def priority(self) -> int:
        """The priority of those who wait."""
        return self.who.claim.priority if self.who.claim else 0


def pool(queue: ClusterQueueView, who: Waiting) -> Pool:
    """The quotas of what is short; where nothing is, those of the accelerators."""
    asked = {name: value for name, value in (who.claim.requests if who.claim else {}).items() if value}
    known = {quota.resource for quota in queue.quotas}
    short = {name for name in asked.keys() & known if all(asked[name] > quota.free for quota in of(queue, name))}
    matters = short or (asked.keys() & known) - _COMMON or known - _COMMON or known
    return Pool(queue, who, tuple(quota for quota in queue.quotas if quota.resource in matters), asked)


def of(queue: ClusterQueueView, resource: str) -> list[Quota]:
    """The quotas of one resource, by flavor."""
    return [quota for quota in queue.quotas if quota.resource == resource]


def say_quota(found: Pool, part: Part) -> bool:
    """Says what is in use, and what is asked for that the queue never has; whether waiting can help."""
    part.say(*(_in_use(found.queue, quota) for quota in found.places))
    unknown = [name for name in found.asked if name not in _COMMON and not of(found.queue, name)]
    for name in unknown:
        part.say(f"Cluster queue {found.queue.name} has no quota of {name} at all, so waiting does not help.")
    beyond = [sentence for name in found.asked if (sentence := _beyond(found, name))]
    part.say(*beyond)
    return not unknown and not beyond


def _in_use(queue: ClusterQueueView, quota: Quota) -> str:
    used, nominal, free = (spell(value, quota.spelling) for value in (quota.used, quota.nominal, quota.free))
    borrowed = f" ({spell(quota.borrowed, quota.spelling)} borrowed)" if quota.borrowed else ""
    where = f"cluster queue {queue.name}" + (f" (cohort {queue.cohort})" if queue.cohort else "")
    return f"Flavor {quota.flavor} of {where}: {used} of {nominal} {quota.resource} in use{borrowed}, {free} free."


def _beyond(found: Pool, resource: str) -> str:
    """A sentence where one replica asks for more than any flavor ever has; nothing where borrowing knows no bound."""
    quotas, wanted = of(found.queue, resource), found.asked[resource]
    if not quotas or (found.queue.cohort and any(quota.borrowing_limit is None for quota in quotas)):
        return ""
    most = max(quota.nominal + (quota.borrowing_limit or 0) for quota in quotas)
    if wanted <= most:
        return ""
    asked, has = spell(wanted, quotas[0].spelling), spell(most, quotas[0].spelling)
    return f"One replica asks for {asked} {resource}, and the queue never has more than {has}: waiting does not help."
