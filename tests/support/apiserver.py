"""What an API server says to an object of our kinds: defaults, the structural schema, then the CEL rules.

The words are those of kube-apiserver 1.35, so that a refusal here and one of a real cluster read the same. Rules are
evaluated by a CEL library; its few Kubernetes functions are given below. Types and costs of rules are not checked.
"""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from functools import cache
from typing import Any

import cel
import jsonschema

from app.api.crd import object_schema
from app.api.kinds import KINDS

JSON = dict[str, Any]
_ABSENT = object()

_NUMBER = re.compile(r"^\+?[0-9.]+")
_QUANTITY = re.compile(r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": sum,
    "isQuantity": lambda text: _QUANTITY.match(text) is not None,
    "quantity": lambda text: float(Decimal(_NUMBER.findall(text)[0])),  # enough to tell what is above 0
    "isGreaterThan": lambda left, right: left > right,
}

_WORDS: dict[str, str] = {
    "required": "{path}: Required value",
    "enum": "{path}: Unsupported value: {shown}",
    "minimum": "{path} in body should be greater than or equal to {limit}",
    "maximum": "{path} in body should be less than or equal to {limit}",
    "minLength": "{path} in body should be at least {limit} chars long",
    "maxLength": "{path}: Too long: may not be more than {limit} bytes",
    "pattern": "{path} in body should match '{limit}'",
    "minItems": "{path} in body should have at least {limit} items",
    "maxItems": "{path}: Too many: {size}: must have at most {limit} items",
    "maxProperties": "{path}: Too many: {size}: must have at most {limit} items",
    "type": "{path} in body must be of type {limit}",
    "anyOf": "{path} in body must be of type integer,string",  # an amount: the only union among the kinds
}
_LENGTHS = frozenset({"minLength", "maxLength"})


def schema_of(document: JSON) -> JSON:
    """The structural schema of a document's kind."""
    return object_schema(next(kind for kind in KINDS if kind.kind == document["kind"]))


def refusals(new: JSON, old: JSON | None = None) -> list[str]:
    """What a create of `new`, or its update from `old`, is refused with; nothing where it is accepted."""
    schema = schema_of(new)
    new = defaulted(schema, new)
    structural = [*_structural(schema, new), *_duplicates(schema, new, "")]
    if structural:
        return structural
    return list(_rules(schema, new, _ABSENT if old is None else defaulted(schema, old), ""))


def defaulted(schema: JSON, value: Any) -> Any:
    """A copy of `value` with the schema's defaults filled in, as at every depth the API server does."""
    if isinstance(value, dict):
        found = dict(value)
        for name, part in schema.get("properties", {}).items():
            if name not in found and "default" in part:
                found[name] = deepcopy(part["default"])
            if name in found:
                found[name] = defaulted(part, found[name])
        return found
    if isinstance(value, list):
        return [defaulted(schema.get("items", {}), item) for item in value]
    return value


def _structural(schema: JSON, value: JSON) -> Iterator[str]:
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    # A string of the wrong length is not held against its pattern too.
    misfits = [list(error.absolute_path) for error in errors if error.validator in _LENGTHS]
    for error in errors:
        if error.validator == "pattern" and list(error.absolute_path) in misfits:
            continue
        path = ""
        for step in error.absolute_path:
            path = f"{path}[{step}]" if isinstance(step, int) else _join(path, step)
        if error.validator == "required":
            path = _join(path, error.message.split("'")[1])
        yield _WORDS[str(error.validator)].format(
            path=path,
            limit=error.validator_value,
            shown=f'"{error.instance}"',
            size=len(error.instance) if isinstance(error.instance, dict | list) else 0,
        )


def _duplicates(schema: JSON, value: Any, path: str) -> Iterator[str]:
    for part, inner, _, where in _parts(schema, value, _ABSENT, path):
        yield from _duplicates(part, inner, where)
    seen: set[str] = set()
    if isinstance(value, list) and "x-kubernetes-list-map-keys" in schema:
        for number, item in enumerate(value):
            key = _key(schema, item)
            if key in seen:
                yield f"{path}[{number}]: Duplicate value: {key}"
            seen.add(key)


def _rules(schema: JSON, value: Any, old: Any, path: str) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        is_transition = "oldSelf" in rule["rule"]
        if (not is_transition or old is not _ABSENT) and not _holds(rule["rule"], value, old):
            yield f"{path}{rule.get('fieldPath', '')}: Invalid value: {rule['message']}"
    for part, inner, before, where in _parts(schema, value, old, path):
        yield from _rules(part, inner, before, where)


def _holds(expression: str, value: Any, old: Any) -> bool:
    variables = {"self": value} | ({} if old is _ABSENT else {"oldSelf": old})
    answer = _compiled(expression).execute(cel.Context(variables=variables, functions=_FUNCTIONS))
    assert isinstance(answer, bool), f"{expression} gives {answer!r}"
    return answer


@cache
def _compiled(expression: str) -> cel.Program:
    return cel.compile(expression)


def _parts(schema: JSON, value: Any, old: Any, path: str) -> Iterator[tuple[JSON, Any, Any, str]]:
    """The inner values with their schema, their old value and their path."""
    if isinstance(value, dict):
        olds = old if isinstance(old, dict) else {}
        properties = schema.get("properties", {})
        for name, inner in value.items():
            part = properties.get(name, schema.get("additionalProperties"))
            if part is not None:
                yield part, inner, olds.get(name, _ABSENT), _join(path, name)
    elif isinstance(value, list):
        # Only items of a list map are the same item before and after.
        keyed = "x-kubernetes-list-map-keys" in schema and isinstance(old, list)
        olds = {_key(schema, item): item for item in old} if keyed else {}
        for number, item in enumerate(value):
            before = olds.get(_key(schema, item), _ABSENT) if keyed else _ABSENT
            yield schema["items"], item, before, f"{path}[{number}]"


def _key(schema: JSON, item: JSON) -> str:
    return json.dumps({n: item.get(n) for n in schema["x-kubernetes-list-map-keys"]}, separators=(",", ":"))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
