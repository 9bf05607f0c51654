"""Seeing interruptions: what a pass observes of failed, evicted, preempted and lost Pods, added to what is stored.

An interruption is new where the stored one of its seat and reason is older than the Pod that shows it. All of a seat's
are forgotten once its replica has served for ten minutes, or the seat is no longer declared; a lost member already when
the replica serves again.
"""

from datetime import datetime, timedelta

from app.kube import kueue, names, times
from app.kube.pods import PodView, condition, mapping, text
from app.modeldeployment.interruptions import REASONS, Interruption, InterruptionReason, Key, Memory
from app.modeldeployment.seats import Replica, RoleSeats

FORGET = timedelta(minutes=10)
# Metacontroller's cache may show the first Pod of a set before the second: for so long after the youngest member's
# birth a missing one is late, not lost.
ASSEMBLY = timedelta(seconds=60)
# https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
_PREEMPTED = "PreemptionByScheduler"


def witness(memory: Memory, seats: RoleSeats, now: datetime) -> dict[Key, Interruption]:
    """The memory of one role after this pass."""
    role = seats.role.name
    kept = {key: item for key, item in memory.items() if key[0] == role and key[1] < seats.role.replicas}
    for ordinal in range(seats.role.replicas):
        replica = seats.replicas.get(ordinal)
        if replica is None:
            kept.pop((role, ordinal, "MemberLost"), None)
            left = _left_behind(kept, seats, ordinal, now)
            if left is not None:
                kept[left.key] = left
        elif replica.serves:
            if kept:
                _recovered(kept, replica, now)
        else:
            for seen in _seen(kept, replica, now):
                kept[seen.key] = seen
    return kept


def failures(memory: Memory, role: str, ordinal: int) -> Interruption | None:
    """The latest failure or eviction of a seat that delays its replacement."""
    found = [memory.get((role, ordinal, "Failed")), memory.get((role, ordinal, "Evicted"))]
    delaying = [item for item in found if item and item.attempts]
    return max(delaying, key=lambda item: item.at, default=None)


def _recovered(kept: dict[Key, Interruption], replica: Replica, now: datetime) -> None:
    keys: list[Key] = [(replica.role, replica.ordinal, reason) for reason in REASONS]
    keys = [key for key in keys if key in kept]
    if not keys:
        return
    since = max((_ready_since(pod) or now) for pod in replica.members.values())
    for key in keys:
        if key[2] == "MemberLost" or now - since >= FORGET:
            del kept[key]


def _ready_since(pod: PodView) -> datetime | None:
    return times.parse(condition(mapping(pod.raw.get("status")), "Ready").get("lastTransitionTime"))


def _seen(kept: Memory, replica: Replica, now: datetime) -> list[Interruption]:
    found = [_failure(kept, replica, pod, now) for pod in replica.members.values() if pod.ended]
    found += [_disruption(kept, replica, pod, now) for pod in replica.terminating]
    found.append(_verdict(kept, replica, now))
    if not replica.ended:
        found.append(_loss(kept, replica, now))
    return [item for item in found if item is not None]


def _is_new(kept: Memory, key: Key, created_at: str) -> bool:
    """Whether what was made at that time shows more than what is stored."""
    stored = kept.get(key)
    birth = times.parse(created_at)
    return stored is None or (birth is not None and stored.at < birth)


def _failure(kept: Memory, replica: Replica, pod: PodView, now: datetime) -> Interruption | None:
    """A Pod that ended. Failures and evictions of a seat count together, for one growing delay."""
    status = mapping(pod.raw.get("status"))
    reason: InterruptionReason = "Evicted" if status.get("reason") == "Evicted" else "Failed"
    if not _is_new(kept, (replica.role, replica.ordinal, reason), pod.created_at):
        return None
    before = failures(kept, replica.role, replica.ordinal)
    words = ": ".join(part for part in (text(status.get("reason")), text(status.get("message"))) if part)
    return Interruption(
        replica.role, replica.ordinal, reason, now, (before.attempts if before else 0) + 1, words or "the Pod ended"
    )


def _disruption(kept: Memory, replica: Replica, pod: PodView, now: datetime) -> Interruption | None:
    """A Pod that somebody else is taking away, and says so."""
    taken = kueue.taken_away(pod.raw) or _disrupted(pod)
    if taken is None:
        return None
    reason, words = taken
    key: Key = (replica.role, replica.ordinal, reason)
    stored = kept.get(key)
    if not _is_new(kept, key, pod.created_at) or (stored and stored.attempts):
        return None  # a failure of the seat that still counts is not forgotten for it
    return Interruption(replica.role, replica.ordinal, reason, now, 0, words)


def _disrupted(pod: PodView) -> tuple[InterruptionReason, str] | None:
    """What Kubernetes says of a Pod that it takes away."""
    target = condition(mapping(pod.raw.get("status")), "DisruptionTarget")
    if target.get("status") != "True":
        return None
    return "Preempted" if target.get("reason") == _PREEMPTED else "Evicted", text(target.get("message"))


def _verdict(kept: Memory, replica: Replica, now: datetime) -> Interruption | None:
    """What Kueue decided about a replica whose Pods are still there."""
    view = replica.workload
    if view is None or not replica.members or not (view.parked or view.preempted):
        return None
    reason: InterruptionReason = "Parked" if view.parked else "Preempted"
    oldest = min(pod.created_at for pod in replica.members.values())
    if not _is_new(kept, (replica.role, replica.ordinal, reason), oldest):
        return None
    return Interruption(replica.role, replica.ordinal, reason, now, 0, view.words)


def _left_behind(kept: Memory, seats: RoleSeats, ordinal: int, now: datetime) -> Interruption | None:
    """What Kueue decided about a replica whose Pods went at once, for no node had them: its Workload still says it."""
    view = seats.workloads.get(ordinal)
    if view is None or not view.is_group or not (view.parked or view.preempted):
        return None
    if not any(names.is_in_group(owner, view.name) for owner in view.owner_names):
        return None  # somebody else's of that name
    reason: InterruptionReason = "Parked" if view.parked else "Preempted"
    role = seats.role.name
    if not _is_new(kept, (role, ordinal, reason), view.created_at):
        return None
    return Interruption(role, ordinal, reason, now, 0, view.words)


def _loss(kept: Memory, replica: Replica, now: datetime) -> Interruption | None:
    """A replica that lacks a member which it had; a further loss of the same replica moves the time."""
    if replica.whole or not replica.members:
        return None
    key: Key = (replica.role, replica.ordinal, "MemberLost")
    stored = kept.get(key)
    if stored is None:
        return None if _assembling(replica, now) else _lost(replica, now)
    return _lost(replica, now) if any(_asked(pod, now) > stored.at for pod in replica.terminating) else None


def _lost(replica: Replica, now: datetime) -> Interruption:
    left = len(replica.members)
    message = f"{left} of its Pods left" if left != 1 else "1 of its Pods left"
    return Interruption(replica.role, replica.ordinal, "MemberLost", now, 0, message)


def _asked(pod: PodView, now: datetime) -> datetime:
    """When a Pod's deletion was asked for: its deletionTimestamp lies a grace period later."""
    metadata = mapping(pod.raw.get("metadata"))
    end, grace = times.parse(metadata.get("deletionTimestamp")), metadata.get("deletionGracePeriodSeconds")
    return (end or now) - timedelta(seconds=grace if isinstance(grace, int) else 0)


def _assembling(replica: Replica, now: datetime) -> bool:
    """Whether the youngest member is so young that the missing ones may merely not be in the cache yet."""
    if replica.terminating:
        return False
    births = [times.parse(pod.created_at) for pod in replica.members.values()]
    return any(birth is not None and now - birth < ASSEMBLY for birth in births)
