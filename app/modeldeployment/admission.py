"""`status.admission`: the furthest state that any replica has reached, and the least advanced open question.

Phases without a queue: Pending (not bound to a node), Placed (bound, devices assigned), Running (a replica is ready).
The words of the scheduler and the kubelet are carried, equal ones once with a count; no decision reads them.
"""

from collections import Counter
from collections.abc import Iterable

from app.api.reasons import AdmissionReason
from app.api.status import AdmissionPhase
from app.kube import trouble
from app.kube.hook import JSON
from app.kube.pods import PodView, Progress
from app.kube.text import clip
from app.modeldeployment.plan import Plan
from app.modeldeployment.seats import Replica

_ORDER = {reason: rank for rank, reason in enumerate(AdmissionReason)}
_MOST_TEXTS = 4


def admission(plan: Plan) -> JSON | None:
    """The admission of the replicas that stay, and of those that leave broken: they say why. None where none exists."""
    standing = [replica for role in plan.roles for replica in (*role.stays, *role.extra, *role.broken)]
    if not standing:
        return None
    found: JSON = {"phase": max((_phase(replica) for replica in standing), key=_PHASES.index)}
    waiting = [pod for replica in standing if not replica.serves for pod in replica.members.values()]
    reason, message = open_question(pod for pod in waiting if pod.progress is not Progress.READY)
    if reason is not None:
        found["reason"] = reason.value
    if message:
        found["message"] = message
    return found


_PHASES: tuple[AdmissionPhase, ...] = ("Pending", "Admitted", "Placed", "Running")


def _phase(replica: Replica) -> AdmissionPhase:
    if replica.serves:
        return "Running"
    placed = all(pod.progress >= Progress.BOUND for pod in replica.members.values())
    return "Placed" if placed and replica.whole else "Pending"


def open_question(pods: Iterable[PodView]) -> tuple[AdmissionReason | None, str]:
    """The least advanced reason among Pods that are not ready, and the words of all who have it.

    A Pod with no known reason is quoted only where no Pod has one.
    """
    troubles = [(pod, *trouble.of(pod)) for pod in pods]
    known = [reason for _, reason, _ in troubles if reason is not None]
    least = min(known, key=_ORDER.__getitem__) if known else None
    texts: dict[str, list[str]] = {}
    for pod, reason, words in troubles:
        if reason is least:
            texts.setdefault(words, []).append(pod.name)
    return least, clip(_joined(texts))


def _joined(texts: dict[str, list[str]]) -> str:
    counts = Counter({words: len(pods) for words, pods in texts.items()})
    parts = []
    for words, count in counts.most_common(_MOST_TEXTS):
        who = texts[words][0] if count == 1 else f"{count} Pods, first {texts[words][0]}"
        parts.append(f"{who}: {words}" if words else who)
    left = len(counts) - _MOST_TEXTS
    return "; ".join(parts) + (f"; and {left} more" if left > 0 else "")
