"""Validation errors as sentences that name the field, for people."""

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.api.modeldeployment import VERSION
from app.api.role import LABEL

_MOST = 3
# What each kind of pydantic problem reads as; the parts in braces are its context.
_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is no field of this kind; remove it or correct its spelling",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "int_type": "must be a whole number, without quotes",
    "string_type": "must be a string: put it in quotes",
    "bool_type": "must be true or false, without quotes",
    "literal_error": "must be {expected}, not {found}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
}
_PATTERNS = {
    LABEL: "must be lower-case letters, digits and inner dashes",
    VERSION: "must be letters, digits, dots, dashes and underscores, as in the tag of an image",
}
_QUANTITY = "must be a quantity such as 4, 500m or 16Gi"


def _is_branch(part: int | str) -> bool:
    """pydantic puts the branch of a union into the path (`int`, `constrained-str`); no field is called so."""
    return isinstance(part, str) and (part in {"int", "str"} or "constrained-" in part)


def _path(root: str, location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if not _is_branch(part)]
    return (root + "".join(parts)).lstrip(".")


def _text(problem: ErrorDetails) -> str:
    if any(_is_branch(part) for part in problem["loc"]):
        return _QUANTITY  # the only union among the kinds
    context: dict[str, Any] = {**problem.get("ctx", {}), "found": _found(problem["input"])}
    if context.get("pattern") in _PATTERNS:
        return _PATTERNS[context["pattern"]]
    words = _WORDS.get(problem["type"])
    return words.format(**context) if words else problem["msg"].removeprefix("Value error, ")


def _found(value: Any) -> str:
    """A short spelling of a wrong word. Only where words of a fixed list are expected, so no secret is quoted."""
    return repr(value) if isinstance(value, str) and len(value) <= 40 else "what is there"


def sentence(error: ValidationError, root: str) -> str:
    """The first problems of `error`, each with its path below `root`, for example `spec.roles[0].size must be …`."""
    found: dict[str, str] = {}
    for problem in error.errors(include_url=False):
        found.setdefault(_path(root, problem["loc"]), _text(problem))
    listed = [f"{path} {text}" for path, text in found.items()]
    more = len(listed) - _MOST
    return "; ".join(listed[:_MOST]) + (f"; and {more} more" if more > 0 else "")
