"""The shape that every condition's function returns."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.api.conditions import ConditionStatus
from app.api.reasons import Reason
from app.modeldeployment.observe import Observed


@dataclass(frozen=True, slots=True)
class Condition:
    """One verdict; times and generation are added where the status is folded."""

    type: str
    status: ConditionStatus
    reason: Reason
    message: str


def not_applicable(observed: Observed, kind: str, message: str) -> Condition:
    """True/NotApplicable: the deployment declares nothing that the condition could speak about.

    What a spec that does not validate declares is not known.
    """
    return unreadable(observed, kind) or Condition(kind, "True", Reason.NOT_APPLICABLE, message)


def unreadable(observed: Observed, kind: str) -> Condition | None:
    """Unknown/SpecInvalid where the spec does not validate, else None."""
    if observed.refusal is None:
        return None
    return Condition(kind, "Unknown", Reason.SPEC_INVALID, observed.refusal.message)


def replicas(count: int) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{count} replica" if count == 1 else f"{count} replicas"


def pods(count: int) -> str:
    """`1 Pod`, `2 Pods`."""
    return f"{count} Pod" if count == 1 else f"{count} Pods"


def listed(found: Sequence[object], most: int = 8) -> str:
    """`0, 1, 2 and 5 more`."""
    shown = ", ".join(str(item) for item in found[:most])
    return shown + (f" and {len(found) - most} more" if len(found) > most else "")
