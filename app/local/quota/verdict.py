"""How well a Workload fits its ClusterQueue, and Kueue's words where it does not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction

from app.local.quota.amounts import spelled
from app.local.quota.queues import Cell


class Mode(IntEnum):
    """How well something fits; the worst of several counts."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2


class Severity(IntEnum):
    """The granular reasons of a Workload that does not fit; of several the highest is told."""

    NONE = 0
    TopologyPlacementFailed = 1
    WaitingForQuota = 2
    ExceedsMaxQuota = 3
    NoMatchingFlavor = 4


@dataclass(slots=True)
class Assignment:
    """Flavors by Pod set and resource, and how well they fit; where they do not, the words and the granular reason.

    `short` are the cells that preemption must free.
    """

    flavors: dict[str, dict[str, str]] = field(default_factory=dict)
    mode: Mode = Mode.FIT
    usage: dict[Cell, Fraction] = field(default_factory=dict)
    short: set[Cell] = field(default_factory=set)
    objections: list[str] = field(default_factory=list)
    severity: Severity = Severity.NONE

    @property
    def words(self) -> str:
        """Why it does not fit, as Kueue says it."""
        return "; ".join(self.objections)

    def refuse(self, title: str, words: Iterable[str], severity: Severity) -> None:
        """Adds why a Pod set did not get its flavors."""
        self.objections.append(f"couldn't assign flavors to pod set {title}: {', '.join(words)}")
        self.severity = max(self.severity, severity)


def later(cell: Cell, more: Fraction) -> str:
    """So much more is needed than is free now."""
    flavor, resource = cell
    return f"insufficient unused quota for {resource} in flavor {flavor}, {spelled(resource, more)} more needed"


def never(cell: Cell, before: Fraction, amount: Fraction, most: Fraction) -> str:
    """What is asked is more than there will ever be."""
    flavor, resource = cell
    return (
        f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
        f"({spelled(resource, before)}) + current podset request ({spelled(resource, amount)}) > maximum capacity "
        f"({spelled(resource, most)})"
    )


def spelled_taint(taint: Mapping[str, str]) -> str:
    """A taint as Go prints one that was never timed."""
    return f"{{{taint['key']} {taint.get('value', '')} {taint['effect']} <nil>}}"
