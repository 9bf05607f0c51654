"""The conditions of a ModelDeployment and the reasons each may carry, in the order in which status lists them."""

from dataclasses import dataclass
from typing import Literal

from app.api.reasons import Reason

ConditionStatus = Literal["True", "False", "Unknown"]
Row = tuple[ConditionStatus, Reason]


@dataclass(frozen=True, slots=True)
class ConditionType:
    """One condition: what it answers, and its rows of (status, reason)."""

    type: str
    answers: str
    rows: tuple[Row, ...]
    only_when_true: bool = False


_STALLED = (
    Reason.SPEC_INVALID,
    Reason.INSTANCE_TYPE_NOT_FOUND,
    Reason.INSTANCE_TYPE_INVALID,
    Reason.IMAGE_NOT_DERIVABLE,
    Reason.ARGUMENT_OWNED,
    Reason.ARGUMENT_CONFLICT,
    Reason.ENGINE_UNSUPPORTED,
    Reason.QUEUE_UNSUPPORTED,
    Reason.NOT_ALLOWED,
    Reason.NAME_TAKEN,
    Reason.NOT_GATED,
    Reason.CHILD_NOT_CREATED,
)


def _always(kind: str, answers: str, *rows: Row) -> ConditionType:
    """A condition that is never absent: Unknown before the first sync, and while the spec does not validate."""
    return ConditionType(kind, answers, (*rows, ("Unknown", Reason.SPEC_INVALID), ("Unknown", Reason.PENDING)))


MODEL_DEPLOYMENT_CONDITIONS: tuple[ConditionType, ...] = (
    _always(
        "Ready",
        "Does the deployment serve with every replica it declares?",
        ("True", Reason.ALL_REPLICAS_READY),
        ("False", Reason.REPLICAS_NOT_READY),
        ("False", Reason.SCALED_TO_ZERO),
        ("False", Reason.NAME_TAKEN),
        ("False", Reason.DELETING),
    ),
    ConditionType(
        "Reconciling",
        "Is Hangar on its way to what the spec declares?",
        tuple(
            ("True", reason)
            for reason in (
                Reason.CHILD_NOT_OBSERVED,
                Reason.ROLLOUT_IN_PROGRESS,
                Reason.REPLACEMENT_IN_PROGRESS,
                Reason.SCALING_IN,
                Reason.REPLICAS_STARTING,
                Reason.DELETING,
            )
        ),
        only_when_true=True,
    ),
    ConditionType(
        "Stalled",
        "Is something in the way that does not go away by itself?",
        tuple(("True", reason) for reason in _STALLED),
        only_when_true=True,
    ),
    _always(
        "QuotaReserved",
        "Does every replica hold its Kueue quota?",
        ("True", Reason.RESERVED),
        ("True", Reason.NOT_APPLICABLE),
        ("False", Reason.PENDING),
        ("False", Reason.POD_GROUP_INCOMPLETE),
        ("False", Reason.PREEMPTED_IN_PART),
        ("False", Reason.PARKED),
        ("False", Reason.NO_QUEUE_IN_RESERVED_NAMESPACE),
        ("Unknown", Reason.ADMISSION_IN_FLIGHT),
        ("Unknown", Reason.NO_REPLICAS),
        ("Unknown", Reason.ALL_REPLICAS_TERMINATING),
    ),
    _always(
        "ReplicasUpToDate",
        "Do the running replicas match what is rendered for them now?",
        ("True", Reason.UP_TO_DATE),
        ("False", Reason.ROLLOUT_IN_PROGRESS),
        ("False", Reason.REPLACEMENT_IN_PROGRESS),
        ("Unknown", Reason.ROLLOUT_NOT_OBSERVED),
    ),
    _always(
        "RoleKindsReady",
        "Has every role kind at least one ready replica?",
        ("True", Reason.ALL_KINDS_READY),
        ("False", Reason.KINDS_NOT_READY),
        ("Unknown", Reason.NO_ROLE_STATUSES),
    ),
    _always(
        "DomainRegistered",
        "Did the KV cache Binding resolve?",
        ("True", Reason.NOT_APPLICABLE),
    ),
    _always(
        "CacheAttached",
        "Is the KV cache seen in effect?",
        ("True", Reason.NOT_APPLICABLE),
    ),
    _always(
        "WeightsReady",
        "Are the weights there?",
        ("True", Reason.NOT_APPLICABLE),
    ),
    _always(
        "KVEventsPublishing",
        "Is every role that produces cache blocks configured to publish its events?",
        ("True", Reason.NOT_APPLICABLE),
        ("False", Reason.NO_ROUTER),
    ),
    _always(
        "RouterReady",
        "Has the managed router a ready replica?",
        ("True", Reason.NOT_APPLICABLE),
    ),
)
