"""The degrees of parallelism: numbers that the engine can read, and cards enough for them.

Degrees that are stated as fields fill a replica's cards exactly: a card too many idles, one too few fails. Degrees that
are flags alone may leave cards idle. A `$(VARIABLE)` is taken on trust.
"""

from app.api.reasons import Reason
from app.modeldeployment.engines import Key
from app.modeldeployment.render.resources import cards
from app.modeldeployment.render.subject import Subject, shown

# On SGLang data parallel ranks may share the cards of the tensor ranks.
_FACTORS = {
    "vLLM": (Key.TENSOR, Key.PIPELINE, Key.DATA),
    "SGLang": (Key.TENSOR, Key.PIPELINE),
}
_DEGREES = (Key.TENSOR, Key.PIPELINE, Key.DATA, Key.EXPERT)
# As the fields have it: more than 64 cards in each of 64 Pods there cannot be.
_LARGEST = 4096


def check_parallelism(subject: Subject) -> None:
    """Refuses a degree that the engine cannot read, then a product of degrees that does not go with the cards."""
    for key in _DEGREES:
        if key not in subject.engine.switches:
            _check_flag(subject, key)
    _check_variables(subject)
    _check_cards(subject)


def _check_flag(subject: Subject, key: Key) -> None:
    flag = subject.flags.found.get(key)
    if flag is None or "$(" in (flag.value or ""):
        return
    number = _number(flag.value)
    if number is None or not 1 <= number <= _LARGEST:
        found = "has no value" if flag.value is None else f"is {shown(flag.value)!r}, which is no degree"
        problem = (
            f"{shown(flag.spelling)} {found}: write a whole number from 1 to {_LARGEST}, "
            f"or state parallelism.{key.value} instead"
        )
        raise subject.refusal(Reason.SPEC_INVALID, "extraArgs", problem)


def _check_variables(subject: Subject) -> None:
    for variable in subject.role.env:
        if variable.name in subject.engine.numbers and "$(" not in variable.value:
            number = _number(variable.value)
            if number is None or number < 1:
                problem = (
                    f"{variable.name} is {shown(variable.value)!r}, with which {subject.engine.name} would not start: "
                    "write a whole number above 0, or remove it"
                )
                raise subject.refusal(Reason.SPEC_INVALID, "env", problem)


def _check_cards(subject: Subject) -> None:
    per_pod, size, product = cards(subject), subject.role.size, _product(subject)
    asked = per_pod * size
    if not asked or product is None:
        return
    if subject.role.parallelism is not None and subject.role.parallelism.model_fields_set:
        fits, field, way_out = product == asked, "parallelism", "make the two equal"
    else:
        # With an own --nnodes, which only a role of single Pods may have, other roles' Pods belong to the engine too.
        fits, field = product <= asked or "--nnodes" in subject.flags, "extraArgs"
        way_out = "lower the degrees, or make another ModelDeployment with more cards"
    if not fits:
        words = " × ".join(key.value for key in _FACTORS[subject.engine.name])
        problem = f"{words} is {product}, but a replica has {asked} cards ({per_pod} per Pod, size {size}): {way_out}"
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, field, problem)


def _product(subject: Subject) -> int | None:
    """The cards that one replica's ranks need; None where that cannot be told."""
    product = 1
    for key in _FACTORS[subject.engine.name]:
        degree = _degree(subject, key)
        if degree is None:
            return None
        product *= degree
    return product


def _degree(subject: Subject, key: Key) -> int | None:
    """The degree as a field, else as the user's own flag, else 1; None where a variable holds it."""
    if key is Key.DATA and Key.DATA_RANK in subject.flags:
        return 1  # the other ranks are other replicas'
    if key is Key.DATA and Key.DATA_LOCAL in subject.flags:
        return _number(subject.flags.value(Key.DATA_LOCAL))
    typed = subject.typed.get(key)
    if typed is not None:
        return int(typed.value)
    return _number(subject.flags.value(key)) if key in subject.flags else 1


def _number(text: str | None) -> int | None:
    """A whole number, read as the engines do: by Python's own `int`."""
    try:
        return int(text or "")
    except ValueError:
        return None
