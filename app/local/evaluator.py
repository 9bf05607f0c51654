"""CEL: what one rule says of one value, with the functions of Kubernetes that the library lacks.

The library is loaded with the first rule: its package brings a terminal toolkit that no other command should pay for.
"""

import logging
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

from app.kube import quantities

_LOG = logging.getLogger(__name__)
_UNKNOWN = "Undefined variable or function"


def _is_quantity(text: str) -> bool:
    try:
        quantities.parse(text)
    except ValueError:
        return False
    return True


def _substring(text: str, start: int, end: int | None = None) -> str:
    return text[start:end]


def _index(items: Sequence[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if item == wanted), -1)


# A method's receiver comes first.
_FUNCTIONS: dict[str, Any] = {
    "sum": sum,
    "min": min,
    "max": max,
    "isSorted": lambda items: list(items) == sorted(items),
    "indexOf": lambda where, what: where.find(what) if isinstance(where, str) else _index(where, what),
    "isQuantity": _is_quantity,
    "quantity": lambda text: float(quantities.parse(text)),
    "isGreaterThan": lambda left, right: left > right,
    "isLessThan": lambda left, right: left < right,
    "compareTo": lambda left, right: (left > right) - (left < right),
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "replace": str.replace,
    "split": str.split,
    "substring": _substring,
    "join": lambda items, separator="": separator.join(items),
}


class Evaluation:
    """Rules about some variables, such as `self` and `oldSelf`."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self._context = _library().Context(variables=variables, functions=_FUNCTIONS)

    def broken(self, rule: str) -> str | None:
        """None where the rule holds; else what went wrong with it, empty where it is plainly not so.

        A rule with a function or a syntax that is not known here holds, and a warning is logged once.
        """
        try:
            answer = self._value(rule)
        except _Unknown as error:
            _pass_over(rule, str(error))
            return None
        except KeyError as error:
            return f"rule evaluation error: no such key: {error.args[0]}"
        except Exception as error:  # the library raises whatever fits: TypeError, ZeroDivisionError
            return f"rule evaluation error: {error}"
        if not isinstance(answer, bool):
            return f"rule evaluation error: it gives {answer!r}, which is no boolean"
        return None if answer else ""

    def text(self, expression: str) -> str:
        """The text that an expression gives, empty where it gives none or fails."""
        try:
            found = self._value(expression)
        except Exception:  # the API server then falls back to a fixed message as well
            return ""
        return found if isinstance(found, str) else ""

    def _value(self, expression: str) -> Any:
        try:
            return _compiled(expression).execute(self._context)
        except RuntimeError as error:
            if _UNKNOWN in str(error):
                raise _Unknown(str(error)) from error
            raise


class _Unknown(Exception):
    """A rule that this evaluator does not understand."""


@cache
def _library() -> ModuleType:
    import cel

    return cel


@cache
def _compiled(expression: str) -> Any:
    try:
        return _library().compile(expression)
    except ValueError as error:
        raise _Unknown(str(error)) from error


@cache
def _pass_over(rule: str, reason: str) -> None:
    _LOG.warning("the rule %r is not evaluated here, so nothing is refused by it: %s", rule, reason.splitlines()[0])
