"""Durations as people and Kubernetes write them: 90s, 2m, 1h30m, or a number of seconds."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_FORM = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_EXAMPLES = "90s, 2m or 1h30m"


def seconds(value: Any) -> float:
    """The seconds in a duration; a bare number counts seconds. Raises ValueError that says how one is written."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return float(text)
    if not _FORM.fullmatch(text):
        raise ValueError(f"{value!r} is no duration: write for example {_EXAMPLES}")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def signed_seconds(value: Any) -> float:
    """Like `seconds`, forwards or, with a minus in front, backwards."""
    text = str(value).strip() if isinstance(value, int | float | str) and not isinstance(value, bool) else ""
    if text[:1] in {"+", "-"}:
        return seconds(text[1:]) * (-1 if text[0] == "-" else 1)
    return seconds(value)


def problem(words: str) -> PydanticCustomError:
    """A validation error of exactly these words."""
    return PydanticCustomError("said", "{words}", {"words": words})


def _told(read: Callable[[Any], float]) -> Callable[[Any], float]:
    def validate(value: Any) -> float:
        try:
            return read(value)
        except ValueError as error:
            raise problem(str(error)) from None

    return validate


Duration = Annotated[float, BeforeValidator(_told(seconds))]
SignedDuration = Annotated[float, BeforeValidator(_told(signed_seconds))]
