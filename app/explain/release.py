"""What would set quota free: preemption where the queues allow it, a higher priority, or a holder that gives way."""

from collections.abc import Iterable

from app.explain.answer import Holder, Part
from app.explain.holders import OURSELVES, Holding
from app.explain.looking import KUEUE, kueue
from app.explain.pool import Pool
from app.explain.subject import RESOURCE, Subject, command
from app.kube.claims import Claim
from app.kube.pods import mapping, text
from app.kube.reader import Objects

_MOST_HOLDERS = 10
_MOST_NAMES = 4
_MOST_COMMANDS = 3
_DEPLOYMENT = "ModelDeployment "
_NEVER = "Never"


def say_release(subject: Subject, found: Pool, held: Holding, part: Part) -> None:
    """Lists who holds the quota, says whom Kueue may preempt and whom not, and what else helps."""
    part.hold(held.holders[:_MOST_HOLDERS])
    if len(held.holders) > _MOST_HOLDERS:
        part.free(f"And {len(held.holders) - _MOST_HOLDERS} more, of the same or a higher priority.")
    if not held.claims:
        return
    if found.who.claim is not None:
        _say_preemption(subject, found, found.who.claim, held, part)
        _say_reclaim(found, held, part)
    part.free("Quota comes free when one of those that hold it ends or is scaled in, or when quota is added.")
    _look_at(held.holders, part)


def add_quota(found: Pool, part: Part) -> None:
    """The command that raises the quota."""
    line = command("kubectl", "edit", f"clusterqueues.{KUEUE}", found.queue.name)
    part.type(line, "raise nominalQuota, where there are nodes for it and you may")


def _say_preemption(subject: Subject, found: Pool, own: Claim, held: Holding, part: Part) -> None:
    within = [one for one in held.claims if one.view.cluster_queue == found.queue.name]
    below = [one for one in within if one.priority < own.priority]
    if found.queue.within == _NEVER:
        if below:
            part.free(
                f"{_names(below, held)} would give way by priority, but cluster queue {found.queue.name} preempts "
                "nobody (preemption.withinClusterQueue is Never)."
            )
        return
    if found.queue.within == "LowerOrNewerEqualPriority":
        below += [one for one in within if one.priority == own.priority and one.created_at > own.created_at]
    if below:
        part.free(f"Kueue may preempt {_names(below, held)}, by priority or age, where that makes enough room.")
    elif within:
        part.free(f"None of them has a lower priority than {own.priority}, so Kueue preempts none of them.")
        others = [one.priority for one in within if held.who[one.namespace, one.view.name] != OURSELVES]
        if others:
            _say_classes(subject, found, min(others), part)


def _names(claims: Iterable[Claim], held: Holding) -> str:
    """Who those Workloads belong to."""
    found = list(dict.fromkeys(held.who[one.namespace, one.view.name] for one in claims))
    return ", ".join(found[:_MOST_NAMES]) + (
        f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    )


def _say_classes(subject: Subject, found: Pool, lowest: int, part: Part) -> None:
    """Names the priority classes that would outrank somebody."""
    higher = sorted(_above(subject.look.all(kueue("WorkloadPriorityClass")) or [], lowest))
    if not higher:
        return
    part.free(
        f"A workloadPriorityClass above {lowest} would let it: "
        f"{', '.join(f'{name} ({value})' for value, name in higher)}."
    )
    index = next((i for i, role in enumerate(subject.roles) if role.get("name") == found.who.role), None)
    if index is not None:
        change = f'[{{"op":"add","path":"/spec/roles/{index}/workloadPriorityClass","value":"{higher[0][1]}"}}]'
        line = subject.kubectl("patch", RESOURCE, subject.name, "--type=json", "-p", change)
        part.type(line, f"raise the priority of role {found.who.role}; its replicas turn over, waiting ones at once")


def _above(classes: Objects, lowest: int) -> Iterable[tuple[int, str]]:
    for item in classes:
        value = item.get("value")
        if isinstance(value, int) and value > lowest:
            yield value, text(mapping(item.get("metadata")).get("name"))


def _say_reclaim(found: Pool, held: Holding, part: Part) -> None:
    """Who borrows of the cohort what this queue could claim back."""
    places = {(quota.flavor, quota.resource) for quota in found.places}
    borrowers = sorted(
        queue.name
        for queue in held.queues.values()
        if queue.name != found.queue.name
        and any(quota.borrowed for quota in queue.quotas if (quota.flavor, quota.resource) in places)
    )
    if not borrowers:
        return
    policy = found.queue.reclaim
    may = "does not claim it back" if policy == _NEVER else "may claim its own back"
    part.free(
        f"{', '.join(borrowers)} borrows of the cohort, and cluster queue {found.queue.name} {may} "
        f"(preemption.reclaimWithinCohort is {policy})."
    )


def _look_at(holders: Iterable[Holder], part: Part) -> None:
    deployments = [one for one in holders if one.who.startswith(_DEPLOYMENT)]
    for one in deployments[:_MOST_COMMANDS]:
        namespace, _, name = one.who.removeprefix(_DEPLOYMENT).partition("/")
        line = command("kubectl", "-n", namespace, "get", RESOURCE, name, "-o", "wide")
        part.type(line, f"see what {namespace}/{name} does with its quota, and whether it may give some back")
    if not deployments and any(one.who != OURSELVES for one in holders):
        part.type(command("kubectl", "get", f"workloads.{KUEUE}", "-A"), "see all who hold quota or wait for it")
