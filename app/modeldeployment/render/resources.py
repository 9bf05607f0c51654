"""What a Pod asks of its node: cards, CPU, memory, storage.

`roles[].resources` is taken as it is. Without it, an InstanceType gives each card its share (a Pod without cards gets
one share), as request and limit alike: such Pods are the last to be evicted and can be pinned to cores near their
cards. A role with neither asks for nothing, which is fine for a toy on CPU. `roles[].accelerator` beside inline
resources asks for nothing by itself; it is then the number of cards that `parallelism` has to fill.
"""

from app.api.kubernetes import Quantity, ResourceRequirements
from app.api.reasons import Reason
from app.kube import quantities
from app.kube.hook import JSON
from app.modeldeployment.render.subject import RenderRefused, Subject

NVIDIA = "nvidia.com/gpu"
# The fields that say how many cards there are, are frozen.
_ANOTHER = "make another ModelDeployment"


def resources(subject: Subject) -> JSON:
    """The container's resources; empty where nothing is asked for."""
    stated = subject.role.resources
    if stated is not None:
        found = {"requests": _strings(stated.requests), "limits": _strings(stated.limits)}
        return {key: value for key, value in found.items() if value}
    amounts = _of_type(subject)
    return {"requests": amounts, "limits": amounts} if amounts else {}


def cards(subject: Subject) -> int:
    """Cards per Pod; 0 where none are asked for."""
    if subject.role.accelerator is not None:
        return subject.role.accelerator
    if subject.role.resources is not None:
        return _inline_cards(subject, subject.role.resources) or 0
    return 1 if subject.instance_type and subject.instance_type.accelerator else 0


def asks_nvidia(subject: Subject) -> bool:
    """Whether the role runs on NVIDIA cards, for which upstream's own images are made."""
    accelerator = subject.instance_type.accelerator if subject.instance_type else None
    if accelerator is not None:
        return accelerator.manufacturer.upper() == "NVIDIA"
    stated = subject.role.resources
    return stated is not None and (NVIDIA in stated.limits or NVIDIA in stated.requests)


def check_cards(subject: Subject) -> None:
    """Refuses a number of cards that nothing gives, or that is stated twice and differs."""
    problem = _cards_problem(subject, subject.role.accelerator or 0)
    if problem:
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, "accelerator", problem)


def _cards_problem(subject: Subject, stated: int) -> str | None:
    shape, inline = subject.instance_type, subject.role.resources
    if not stated:
        return None
    if shape is not None and shape.accelerator is None:
        return f"InstanceType {subject.role.instance_type} has no accelerator: {_ANOTHER} without cards"
    if inline is None:
        return None if shape else f"nothing says what a card is: {_ANOTHER} with an instanceType or resources"
    asked = _inline_cards(subject, inline)
    if asked == stated or (asked is None and shape is None):
        return None
    return f"this says {stated} cards, but resources asks for {asked or 0}: {_ANOTHER} in which the two are equal"


def _of_type(subject: Subject) -> dict[str, str]:
    found: dict[str, str] = {}
    shape = subject.instance_type
    if shape is None:
        return found
    count = cards(subject)
    if shape.per_accelerator is not None:
        shares = {"cpu": shape.per_accelerator.cpu, "memory": shape.per_accelerator.memory}
        found |= {
            name: _times(subject, f"perAccelerator.{name}", share, max(count, 1))
            for name, share in shares.items()
            if share is not None
        }
    if shape.ephemeral_storage is not None:
        found["ephemeral-storage"] = _times(subject, "ephemeralStorage", shape.ephemeral_storage, 1)
    if shape.accelerator is not None and count:
        found[shape.accelerator.resource] = str(count)
    return found


def _times(subject: Subject, field: str, quantity: Quantity, factor: int) -> str:
    try:
        return quantities.multiply(quantity, factor)
    except ValueError as problem:
        name = subject.role.instance_type
        message = f"InstanceType {name}: spec.{field}: {problem}; make a corrected InstanceType under another name"
        raise RenderRefused(Reason.INSTANCE_TYPE_INVALID, message) from None


def _inline_cards(subject: Subject, stated: ResourceRequirements) -> int | None:
    """The cards that the role's own resources ask for; None where they name none."""
    accelerator = subject.instance_type.accelerator if subject.instance_type else None
    for name, quantity in {**stated.requests, **stated.limits}.items():
        if name == accelerator.resource if accelerator else name.endswith("/gpu"):
            return _whole(subject, name, quantity)
    return None


def _whole(subject: Subject, name: str, quantity: Quantity) -> int:
    try:
        value = quantities.parse(quantity)
    except ValueError as unread:
        raise subject.refusal(Reason.SPEC_INVALID, "resources", f"{name}: {unread}; {_ANOTHER} with a number") from None
    if value.denominator != 1:
        problem = f"{name}: {quantity} is not a whole number of cards: {_ANOTHER} with one"
        raise subject.refusal(Reason.SPEC_INVALID, "resources", problem)
    return value.numerator


def _strings(amounts: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in amounts.items()}
