"""What an API server does with a CRD's structural schema: prune unknown fields, fill defaults, refuse the rest.

CEL rules (`x-kubernetes-validations`) and formats are not evaluated here.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from app.kube.hook import JSON
from app.local.values import clone, mapping

Problem = tuple[str, str]

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def _child(schema: JSON, key: str) -> JSON | None:
    """The schema of a field, or None where the schema knows none."""
    properties = mapping(schema.get("properties"))
    if key in properties:
        return mapping(properties[key])
    additional = schema.get("additionalProperties")
    return mapping(additional) if isinstance(additional, dict) else None


def prune(schema: JSON, value: Any) -> Any:
    """`value` without the fields that `schema` does not name, as an API server stores it."""
    if isinstance(value, list):
        return [prune(mapping(schema.get("items")), item) for item in value]
    if not isinstance(value, dict):
        return value
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True or schema.get("additionalProperties") is True
    kept: JSON = {}
    for key, item in value.items():
        child = _child(schema, key)
        if child is not None:
            kept[key] = prune(child, item)
        elif keeps:
            kept[key] = item
    return kept


def apply_defaults(schema: JSON, value: Any) -> Any:
    """`value` with the defaults of `schema` where a field is absent, down to every level that is present.

    A null is treated as absent where a default exists and null is not allowed, as the API server does.
    """
    if isinstance(value, list):
        return [apply_defaults(mapping(schema.get("items")), item) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {key: apply_defaults(_child(schema, key) or {}, item) for key, item in value.items()}
    for key, child in mapping(schema.get("properties")).items():
        missing = key not in filled or (filled[key] is None and not mapping(child).get("nullable"))
        if missing and "default" in mapping(child):
            filled[key] = apply_defaults(child, clone(child["default"]))
    return filled


def problems(schema: JSON, value: Any, path: str = "") -> Iterator[Problem]:
    """Each place where `value` breaks `schema`, as `(path, what is wrong)`."""
    if value is None and (schema.get("nullable") or not schema):
        return
    wrong = _wrong_type(schema, value)
    if wrong:
        yield path, wrong
        return
    yield from ((path, problem) for problem in _bounds(schema, value))
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{path}.{key}".lstrip("."), "Required value"
        for key, item in value.items():
            child = _child(schema, key)
            if child is not None:
                yield from problems(child, item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(mapping(schema.get("items")), item, f"{path}[{index}]")


def _wrong_type(schema: JSON, value: Any) -> str | None:
    if schema.get("x-kubernetes-int-or-string"):
        fits = _TYPES["integer"](value) or _TYPES["string"](value)
        return None if fits else f"Invalid value: must be an integer or a string, not {_say(value)}"
    wanted = schema.get("type")
    if wanted is None or _TYPES[wanted](value):
        return None
    return f"Invalid value: must be of type {wanted}, not {_say(value)}"


def _say(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _bounds(schema: JSON, value: Any) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(f'"{item}"' for item in schema["enum"])
        yield f'Unsupported value: "{value}": supported values: {supported}'
    if isinstance(value, str):
        yield from _size(schema, "Length", len(value), "characters")
        pattern = schema.get("pattern")
        if pattern is not None and not re.search(pattern, value):
            yield f"Invalid value: \"{value}\" should match '{pattern}'"
    elif isinstance(value, list):
        yield from _size(schema, "Items", len(value), "items")
    elif isinstance(value, dict):
        yield from _size(schema, "Properties", len(value), "entries")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            yield f"Invalid value: {value} should be at least {schema['minimum']}"
        if value > schema.get("maximum", value):
            yield f"Invalid value: {value} should be at most {schema['maximum']}"


def _size(schema: JSON, suffix: str, found: int, unit: str) -> Iterator[str]:
    if found < schema.get(f"min{suffix}", found):
        yield f"Invalid value: has {found} {unit}, at least {schema[f'min{suffix}']} are needed"
    if found > schema.get(f"max{suffix}", found):
        yield f"Too long: has {found} {unit}, at most {schema[f'max{suffix}']} are allowed"
