"""Parked: what was deactivated asks for no quota until somebody says so.

Two ways lead here. Kueue deactivated a Workload: **that replica** is parked, its seat stays empty, the others go on. Or
the set did not assemble: some role kind has had no admitted replica for `assembly.timeoutSeconds` since the number of
replicas with quota last changed, while others hold some, and the deployment was never ready; then the **whole set** is.

Nothing is created there until `spec.resumedAt` differs from the value recorded at parking. No clocks are compared.
Kueue forgets a deactivation with the Pods, so it is written first and acted on in the next pass.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.kube import times
from app.kube.hook import JSON
from app.kube.pods import mapping, maps, text
from app.kube.text import clip
from app.modeldeployment.interruptions import ordinals_of, ranges
from app.modeldeployment.observe import Observed
from app.modeldeployment.seats import RoleSeats

# So that two half-admitted sets do not give up in the same moment, each timer is longer by up to so much of itself.
_SPREAD_PERCENT = 20


@dataclass(frozen=True, slots=True)
class Parked:
    """What is parked: single seats by role, or the whole set where `seats` is empty."""

    at: datetime
    message: str
    resumed_at: str
    seats: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether the whole set is parked."""
        return not self.seats

    def holds(self, role: str, ordinal: int) -> bool:
        """Whether a seat is parked."""
        return self.whole or ordinal in self.seats.get(role, frozenset())

    @property
    def count(self) -> int:
        """How many single seats are parked."""
        return sum(len(ordinals) for ordinals in self.seats.values())


@dataclass(frozen=True, slots=True)
class Assembly:
    """The timer of a set that waits: since when nothing changed, and when it was complete for the first time."""

    waiting_since: datetime | None = None
    completed_at: datetime | None = None


def read_parked(status: JSON) -> Parked | None:
    """The stored parking, or None."""
    stored = mapping(status.get("parked"))
    at = times.parse(stored.get("at"))
    if at is None:
        return None
    seats = {
        text(entry.get("role")): frozenset(ordinals_of(text(entry.get("seats")))) for entry in maps(stored.get("seats"))
    }
    return Parked(at, text(stored.get("message")), text(stored.get("resumedAt")), seats)


def write_parked(parked: Parked | None) -> JSON | None:
    """The stored form; `resumedAt` and `seats` are absent where they are empty."""
    if parked is None:
        return None
    entry: JSON = {"at": times.render(parked.at), "message": clip(parked.message)}
    if parked.resumed_at:
        entry["resumedAt"] = parked.resumed_at
    if parked.seats:
        entry["seats"] = [
            {"role": role, "seats": ranges(sorted(ordinals))} for role, ordinals in sorted(parked.seats.items())
        ]
    return entry


def read_assembly(status: JSON, now: datetime) -> Assembly:
    """The stored timer; one from the future was written by a clock that was ahead, and counts as of now."""
    stored = mapping(status.get("assembly"))
    since = times.parse(stored.get("waitingSince"))
    return Assembly(since and min(since, now), times.parse(stored.get("completedAt")))


def write_assembly(assembly: Assembly) -> JSON | None:
    """The stored form, or None where there is nothing to say."""
    found = {"waitingSince": assembly.waiting_since, "completedAt": assembly.completed_at}
    return {key: times.render(moment) for key, moment in found.items() if moment} or None


def resumed(stored: Parked | None, observed: Observed) -> bool:
    """Whether somebody has said that what is parked shall ask for quota again."""
    return stored is not None and _wish(observed) != stored.resumed_at


def park_seats(
    stored: Parked | None,
    found: Mapping[str, Mapping[int, str]],
    seats: Iterable[RoleSeats],
    observed: Observed,
    now: datetime,
) -> Parked | None:
    """The parking after this pass: the stored one without seats that came back, and those newly `found`.

    `found` maps roles to ordinals to Kueue's words.
    """
    if stored is not None and stored.whole:
        return stored
    kept = {role.role.name: _still(stored, role) for role in seats}
    fresh = {role: frozenset(ordinals) for role, ordinals in found.items() if ordinals}
    together = {role: kept.get(role, frozenset()) | fresh.get(role, frozenset()) for role in {*kept, *fresh}}
    together = {role: ordinals for role, ordinals in together.items() if ordinals}
    if not together:
        return None
    new = {role: together[role] - (stored.seats.get(role, frozenset()) if stored else frozenset()) for role in together}
    if stored is not None and not any(new.values()):
        return Parked(stored.at, stored.message, stored.resumed_at, together)
    words = next((text for ordinals in found.values() for text in ordinals.values() if text), "")
    return Parked(now, words or "the workload was deactivated", _wish(observed), together)


def park_set(message: str, observed: Observed, now: datetime) -> Parked:
    """The whole set parked."""
    return Parked(now, message, _wish(observed))


def patience(observed: Observed) -> timedelta | None:
    """How long this deployment waits to assemble, or None for ever."""
    seconds = observed.spec.assembly.timeout_seconds if observed.spec else 0
    if not seconds:
        return None
    share = int(hashlib.sha256(observed.uid.encode()).hexdigest(), 16) % _SPREAD_PERCENT
    return timedelta(seconds=seconds * (100 + share) / 100)


def _wish(observed: Observed) -> str:
    return (observed.spec.resumed_at or "") if observed.spec else ""


def _still(stored: Parked | None, role: RoleSeats) -> frozenset[int]:
    """The parked seats of a role that are declared and have not been activated again in Kueue itself."""
    if stored is None:
        return frozenset()
    return frozenset(
        ordinal
        for ordinal in stored.seats.get(role.role.name, frozenset())
        if ordinal < role.role.replicas and not _came_back(role, ordinal)
    )


def _came_back(role: RoleSeats, ordinal: int) -> bool:
    replica = role.replicas.get(ordinal)
    return (
        replica is not None and bool(replica.members) and replica.workload is not None and not replica.workload.parked
    )
