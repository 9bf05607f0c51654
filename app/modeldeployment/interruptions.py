"""What Kubernetes forgets, `status.interruptions` remembers: the last interruption of each seat, by reason.

A Pod that failed is soon gone, and with it every trace of why and how often. So an interruption is written when it is
seen, and what depends on it (letting a failed replica go, the delay before it is made again) waits until it is stored.
Entries are kept per seat here and stored grouped, with ranges of seats: one per role, reason, attempts and minute.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Literal, get_args

from app.kube import times
from app.kube.hook import JSON
from app.kube.pods import maps, text
from app.kube.text import clip

InterruptionReason = Literal["Failed", "Evicted", "Preempted", "MemberLost", "Parked"]
REASONS: tuple[InterruptionReason, ...] = get_args(InterruptionReason)
MOST_ENTRIES = 64
_MOST_WORDS = 512
_MOST_SEATS = 1000


@dataclass(frozen=True, slots=True)
class Interruption:
    """One interruption of one seat.

    `attempts` counts the failures of the seat in a row, this one included; 0 where no delay follows from it.
    """

    role: str
    ordinal: int
    reason: InterruptionReason
    at: datetime
    attempts: int = 0
    message: str = ""

    @property
    def key(self) -> "Key":
        """What one entry is remembered under."""
        return self.role, self.ordinal, self.reason


Key = tuple[str, int, InterruptionReason]
Memory = Mapping[Key, Interruption]


def read(status: JSON, now: datetime) -> Memory:
    """The stored interruptions by seat and reason; an entry that cannot be read is passed over.

    One from the future was written by a clock that was ahead: it counts as of now, so that no wait is stretched.
    """
    found: dict[Key, Interruption] = {}
    for entry in maps(status.get("interruptions")):
        reason = next((known for known in REASONS if known == entry.get("reason")), None)
        at, attempts = times.parse(entry.get("at")), entry.get("attempts", 0)
        words = text(entry.get("message"))
        if reason is None or at is None or not isinstance(attempts, int):
            continue
        for ordinal in ordinals_of(text(entry.get("seats"))):
            item = Interruption(text(entry.get("role")), ordinal, reason, min(at, now), attempts, words)
            found[item.key] = item
    return found


def write(memory: Memory) -> list[JSON]:
    """The stored form, oldest first and at most 64 entries: beyond that the oldest of a role and reason are merged."""
    groups = [_group(items) for _, items in groupby(sorted(memory.values(), key=_alike), key=_alike)]
    while len(groups) > MOST_ENTRIES:
        groups = _merge_oldest(groups)
    return [_entry(group) for group in sorted(groups, key=lambda group: (group[0].at, _alike(group[0])))]


# One stored entry: an example of it (the latest) and all its ordinals.
_Group = tuple[Interruption, tuple[int, ...]]


def _alike(item: Interruption) -> tuple[str, str, int, str]:
    return item.role, item.reason, item.attempts, times.render(item.at)[:16]


def _group(items: Iterator[Interruption]) -> _Group:
    listed = sorted(items, key=lambda item: (item.at, item.ordinal))
    return listed[-1], tuple(sorted(item.ordinal for item in listed))


def _merge_oldest(groups: list[_Group]) -> list[_Group]:
    """The two oldest groups of one role and reason made one; the later `at` counts, and the higher attempts."""
    ordered = sorted(groups, key=lambda group: (group[0].at, _alike(group[0])))
    for index, (older, seats) in enumerate(ordered):
        for other in range(index + 1, len(ordered)):
            later, more = ordered[other]
            if (later.role, later.reason) == (older.role, older.reason):
                merged = replace(later, attempts=max(older.attempts, later.attempts))
                rest = ordered[:index] + ordered[index + 1 : other] + ordered[other + 1 :]
                return [*rest, (merged, tuple(sorted({*seats, *more})))]
    return ordered[-MOST_ENTRIES:]  # not reached: there are fewer roles times reasons than entries


def _entry(group: _Group) -> JSON:
    example, seats = group
    entry: JSON = {
        "role": example.role,
        "reason": example.reason,
        "seats": ranges(seats),
        "at": times.render(example.at),
    }
    if example.attempts:
        entry["attempts"] = example.attempts
    if example.message:
        entry["message"] = clip(example.message, _MOST_WORDS)
    return entry


def ranges(ordinals: Iterable[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3, 7."""
    parts: list[list[int]] = []
    for ordinal in ordinals:
        if parts and ordinal == parts[-1][-1] + 1:
            parts[-1].append(ordinal)
        else:
            parts.append([ordinal])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def ordinals_of(seats: str) -> Iterator[int]:
    """What `ranges` wrote, back; what cannot be read is passed over."""
    for part in seats.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            yield from range(int(first), min(int(last or first), _MOST_SEATS) + 1)
