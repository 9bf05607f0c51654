"""CEL rules of a CRD (`x-kubernetes-validations`), evaluated on create and update.

A rule that reads `oldSelf` holds between two states: it is looked at where the value existed before and can be found
again, which in a list is an item of the same map keys. Costs and types of rules are not checked. A rule that uses a
function or a syntax that is not known here is passed over, and a warning is logged once.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import cel

from app.kube import quantities
from app.kube.hook import JSON
from app.local.schema import Problem, join, map_key, part
from app.local.values import mapping

ABSENT = object()
_LOG = logging.getLogger(__name__)


def _is_quantity(text: str) -> bool:
    try:
        quantities.parse(text)
    except ValueError:
        return False
    return True


def _substring(text: str, start: int, end: int | None = None) -> str:
    return text[start:end]


# Functions of Kubernetes and of CEL's extensions that the evaluator lacks. A method's receiver comes first.
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


def _index(items: Sequence[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if item == wanted), -1)


def ruled(schema: JSON) -> JSON:
    """The part of a schema that leads to rules, empty where there is none: what has no rules need not be walked."""
    inner = {key: kept for key, child in mapping(schema.get("properties")).items() if (kept := ruled(mapping(child)))}
    found: JSON = {"properties": inner} if inner else {}
    for key in ("items", "additionalProperties"):
        kept = ruled(schema[key]) if isinstance(schema.get(key), dict) else {}
        found |= {key: kept} if kept else {}
    if "x-kubernetes-validations" in schema:
        found["x-kubernetes-validations"] = schema["x-kubernetes-validations"]
    if found and "x-kubernetes-list-map-keys" in schema:
        found["x-kubernetes-list-map-keys"] = schema["x-kubernetes-list-map-keys"]
    return found


def problems(schema: JSON, value: Any, old: Any = ABSENT, path: str = "") -> Iterator[Problem]:
    """Each rule of `schema` that `value` breaks, as `(path, what is wrong)`. `old` is the value before the update."""
    rules = schema.get("x-kubernetes-validations", ())
    if rules:
        yield from _broken(rules, value, old, path)
    for child, inner, before, where in _parts(schema, value, old, path):
        yield from problems(child, inner, before, where)


def _broken(rules: Sequence[JSON], value: Any, old: Any, path: str) -> Iterator[Problem]:
    variables = {"self": value} if old is ABSENT else {"self": value, "oldSelf": old}
    context = cel.Context(variables=variables, functions=_FUNCTIONS)
    for rule in rules:
        text = str(rule.get("rule", ""))
        if "oldSelf" in text and old is ABSENT:
            continue
        holds = _holds(text, context)
        if holds is not True:
            shown = "" if isinstance(value, dict | list) else f"{json.dumps(value)}: "
            yield f"{path}{rule.get('fieldPath', '')}", f"Invalid value: {shown}{holds or _message(rule, context)}"


def _holds(text: str, context: cel.Context) -> bool | str:
    """Whether a rule holds, or what went wrong with it."""
    try:
        answer = _compiled(text).execute(context)
    except RuntimeError as error:  # what the evaluator says of a function that it does not know
        _pass_over(text, str(error))
        return True
    except KeyError as error:
        return f"rule evaluation error: no such key: {error.args[0]}"
    except Exception as error:  # the evaluator raises whatever fits: TypeError, ZeroDivisionError
        return f"rule evaluation error: {error}"
    return answer if isinstance(answer, bool) else f"rule evaluation error: it gives {answer!r}, which is no boolean"


@cache
def _pass_over(text: str, reason: str) -> None:
    """Says so, once per rule."""
    _LOG.warning("the rule %r is not evaluated here, so nothing is refused by it: %s", text, reason.splitlines()[0])


def _message(rule: JSON, context: cel.Context) -> str:
    if "messageExpression" in rule:
        try:
            found = _compiled(str(rule["messageExpression"])).execute(context)
        except Exception:  # the API server then falls back to the message as well
            found = None
        if isinstance(found, str) and found:
            return found
    return str(rule.get("message") or f"failed rule: {rule.get('rule')}")


class _Unreadable:
    """A rule that cannot be parsed here; it runs into what a rule with an unknown function runs into."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def execute(self, _: cel.Context) -> Any:
        """Says that the rule is not known."""
        raise RuntimeError(self._reason)


@cache
def _compiled(text: str) -> cel.Program | _Unreadable:
    try:
        return cel.compile(text)
    except ValueError as error:
        return _Unreadable(str(error))


def _parts(schema: JSON, value: Any, old: Any, path: str) -> Iterator[tuple[JSON, Any, Any, str]]:
    """The inner values with their schema, their old value and their path."""
    if isinstance(value, dict):
        olds = mapping(old)
        for key, inner in value.items():
            child = part(schema, key)
            if child:
                yield child, inner, olds.get(key, ABSENT), join(path, key)
    elif isinstance(value, list) and "items" in schema:
        keyed = "x-kubernetes-list-map-keys" in schema
        before = {map_key(schema, item): item for item in old} if keyed and isinstance(old, list) else {}
        for index, item in enumerate(value):
            found = before.get(map_key(schema, item), ABSENT) if keyed else ABSENT
            yield schema["items"], item, found, f"{path}[{index}]"
