"""`status.admission`: the furthest state that any replica has reached, and the least advanced open question.

Phases: Pending (waits for quota or, without a queue, for a node), Admitted (holds quota), Placed (bound, devices
assigned), Running (a replica is ready). The words of Kueue, the scheduler and the kubelet are carried, equal ones once
with a count; no decision reads them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from app.api.reasons import AdmissionReason
from app.api.status import AdmissionPhase
from app.kube import trouble
from app.kube.hook import JSON
from app.kube.kueue import Wait
from app.kube.pods import Progress
from app.kube.text import clip
from app.modeldeployment.plan import Plan
from app.modeldeployment.seats import Replica

_ORDER = {reason: rank for rank, reason in enumerate(AdmissionReason)}
_PHASES: tuple[AdmissionPhase, ...] = ("Pending", "Admitted", "Placed", "Running")
_MOST_TEXTS = 4
_WAITS: Mapping[Wait, AdmissionReason | None] = MappingProxyType(
    {
        Wait.PENDING: None,
        Wait.QUOTA: AdmissionReason.INSUFFICIENT_QUOTA,
        Wait.CAPACITY: AdmissionReason.INSUFFICIENT_CAPACITY,
        Wait.QUEUE_MISSING: AdmissionReason.QUEUE_MISSING,
        Wait.QUEUE_STOPPED: AdmissionReason.QUEUE_STOPPED,
        Wait.CHECKS: AdmissionReason.WAITING_FOR_CHECKS,
    }
)

# Who asks (a Pod's name), what is asked, and in whose words.
Question = tuple[str, AdmissionReason | None, str]


def admission(plan: Plan) -> JSON | None:
    """The admission of the replicas that stay and of those that leave broken, who say why; None where none exists."""
    standing = [replica for role in plan.roles for replica in (*role.stays, *role.extra, *role.broken)]
    questions = [question for replica in standing if not replica.serves for question in _questions(replica)]
    if plan.parked is not None and all(reason is not AdmissionReason.PARKED for _, reason, _ in questions):
        questions.append(("", AdmissionReason.PARKED, plan.parked.message))
    if not standing and not questions:
        return None
    furthest = max((_phase(replica) for replica in standing), key=_PHASES.index, default="Pending")
    found: JSON = {"phase": furthest}
    reason, message = least_advanced(questions)
    if reason is not None:
        found["reason"] = reason.value
    if message:
        found["message"] = message
    return found


def _phase(replica: Replica) -> AdmissionPhase:
    if replica.serves:
        return "Running"
    if replica.whole and all(pod.progress >= Progress.BOUND for pod in replica.members.values()):
        return "Placed"
    return "Admitted" if replica.queued and replica.admitted else "Pending"


def _questions(replica: Replica) -> Iterator[Question]:
    """What one replica that does not serve waits for: Kueue's verdict while it is gated, else each Pod's own."""
    if not replica.gated:
        for pod in replica.members.values():
            if pod.progress is not Progress.READY:
                yield pod.name, *trouble.of(pod)
        return
    named = replica.leader or next(iter(replica.members.values()))
    view = replica.workload
    if view is None:
        yield named.name, None, "it waits for Kueue to make its Workload"
    elif view.parked:
        yield named.name, AdmissionReason.PARKED, view.words
    else:
        waits = AdmissionReason.PREEMPTED if view.preempted else _WAITS[view.wait]
        yield named.name, waits, view.words or "it waits for Kueue"


def least_advanced(questions: Sequence[Question]) -> tuple[AdmissionReason | None, str]:
    """The least advanced reason, and the words of all who have it.

    A question with no known reason is quoted only where none has one.
    """
    known = [reason for _, reason, _ in questions if reason is not None]
    least = min(known, key=_ORDER.__getitem__) if known else None
    texts: dict[str, list[str]] = {}
    for who, reason, words in questions:
        if reason is least:
            texts.setdefault(words, []).append(who)
    return least, clip(_joined(texts))


def _joined(texts: dict[str, list[str]]) -> str:
    counts = Counter({words: len(who) for words, who in texts.items()})
    parts = []
    for words, count in counts.most_common(_MOST_TEXTS):
        who = texts[words][0] if count == 1 else f"{count} Pods, first {texts[words][0]}"
        parts.append(": ".join(part for part in (who, words) if part))
    left = len(counts) - _MOST_TEXTS
    return "; ".join(parts) + (f"; and {left} more" if left > 0 else "")
