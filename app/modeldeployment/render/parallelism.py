"""The degrees of parallelism against the cards that a replica asks for: a card too many idles, one too few fails."""

from app.api.reasons import Reason
from app.modeldeployment.engines import Key
from app.modeldeployment.render.resources import cards
from app.modeldeployment.render.subject import Subject

# On SGLang data parallel ranks may share the cards of the tensor ranks.
_FACTORS = {
    "vLLM": (Key.TENSOR, Key.PIPELINE, Key.DATA),
    "SGLang": (Key.TENSOR, Key.PIPELINE),
}


def check_parallelism(subject: Subject) -> None:
    """Refuses a product of degrees that is not the number of cards, where both are stated."""
    degrees = subject.role.parallelism
    asked = cards(subject) * subject.role.size
    if degrees is None or not degrees.model_fields_set or not asked:
        return
    factors = _FACTORS[subject.engine.name]
    product = 1
    for key in factors:
        product *= _degree(subject, key)
    if product != asked:
        words = " × ".join(key.value for key in factors)
        problem = (
            f"{words} is {product}, but a replica has {asked} cards ({cards(subject)} per Pod, size "
            f"{subject.role.size}): make the two equal"
        )
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, "parallelism", problem)


def _degree(subject: Subject, key: Key) -> int:
    """The degree as a field, else as the user's own flag, else 1."""
    typed = subject.typed.get(key)
    stated = str(typed.value) if typed else subject.flags.value(key)
    return int(stated) if stated and stated.isascii() and stated.isdecimal() and len(stated) <= 9 else 1
