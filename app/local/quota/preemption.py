"""Whom a Workload of higher priority displaces within its ClusterQueue: as few as Kueue finds. Pure arithmetic."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from app.local.quota.ledger import Entry, total
from app.local.quota.queues import Cell, ClusterQueue


def candidates(entry: Entry, queue: ClusterQueue, holders: Sequence[Entry], cells: Iterable[Cell]) -> list[Entry]:
    """Those that may be displaced for it and hold of these cells, in the order in which they are taken.

    Who is on the way out already comes first, then the lower priority, then who was given quota last.
    """
    wanted = set(cells)
    found = [
        one
        for one in holders
        if _yields(one, entry, queue.preempts) and one.holding and wanted & one.holding.usage.keys()
    ]
    found.sort(key=lambda one: -one.serial)
    found.sort(key=lambda one: one.holding.since if one.holding else "", reverse=True)
    return sorted(found, key=lambda one: (not one.evicted, one.priority))


def _yields(one: Entry, entry: Entry, policy: str) -> bool:
    if one.priority < entry.priority:
        return policy in {"LowerPriority", "LowerOrNewerEqualPriority"}
    newer = one.priority == entry.priority and one.serial > entry.serial
    return newer and policy == "LowerOrNewerEqualPriority"


def could_free(entry: Entry, queue: ClusterQueue, holders: Sequence[Entry], cell: Cell, amount: Fraction) -> bool:
    """Whether all candidates together hold so much of a cell."""
    held = total(one.holding.usage for one in candidates(entry, queue, holders, [cell]) if one.holding)
    return held.get(cell, Fraction(0)) >= amount


def targets(
    entry: Entry,
    queue: ClusterQueue,
    holders: Sequence[Entry],
    asked: Mapping[Cell, Fraction],
    short: Iterable[Cell],
) -> list[Entry]:
    """Those that must go for `asked` to fit, where `could_free` has said that they can make it fit."""
    chosen: list[Entry] = []
    for one in candidates(entry, queue, holders, short):
        chosen.append(one)
        if _fits(queue, holders, chosen, asked):
            break
    for one in reversed(chosen[:-1]):
        without = [other for other in chosen if other is not one]
        if _fits(queue, holders, without, asked):
            chosen = without
    return chosen


def _fits(queue: ClusterQueue, holders: Sequence[Entry], gone: Sequence[Entry], asked: Mapping[Cell, Fraction]) -> bool:
    used = total(one.holding.usage for one in holders if one.holding and one not in gone)
    return all(used.get(cell, Fraction(0)) + amount <= queue.quota[cell] for cell, amount in asked.items())
