"""What an API server does with a CRD's structural schema: prune unknown fields, fill defaults, refuse the rest.

The words are those of kube-apiserver 1.35, so that a refusal here and one of a real cluster read the same. CEL rules
are in `app.local.rules`. Formats other than durations, and `allOf`, `anyOf`, `oneOf` and `not`, are not looked at.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from app.kube.hook import JSON
from app.local.values import clone, mapping

Problem = tuple[str, str]
# Where a value stands: a path, then the fields and indexes that lead on from there.
Steps = tuple[str | int, ...]

_TYPES: dict[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
}
_INT_OR_STRING = frozenset({int, str})
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
# What a value is measured by; most fields have none of it.
_BOUNDED = frozenset(
    {"enum", "minLength", "maxLength", "pattern", "format", "minimum", "maximum"}
    | {f"{bound}{what}" for bound in ("min", "max") for what in ("Items", "Properties")}
)
_DURATION = re.compile(r"([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+|0")


def part(schema: JSON, key: str) -> JSON | None:
    """The schema of a field, or None where the schema knows none."""
    properties = schema.get("properties")
    if properties and key in properties:
        return mapping(properties[key])
    additional = schema.get("additionalProperties")
    return mapping(additional) if isinstance(additional, dict) else None


def join(path: str, key: str) -> str:
    """The path of a field of the value at `path`."""
    return f"{path}.{key}" if path else key


def prune(schema: JSON, value: Any) -> Any:
    """`value` without the fields that `schema` does not name, as an API server stores it."""
    if isinstance(value, list):
        return [prune(mapping(schema.get("items")), item) for item in value]
    if not isinstance(value, dict):
        return value
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True or schema.get("additionalProperties") is True
    kept: JSON = {}
    for key, item in value.items():
        child = part(schema, key)
        if child is not None:
            kept[key] = prune(child, item)
        elif keeps:
            kept[key] = item
    return kept


def apply_defaults(schema: JSON, value: Any) -> Any:
    """`value` with the defaults of `schema` where a field is absent, down to every level that is present.

    A null that is not allowed counts as absent, as the API server has it: it is filled, or dropped.
    """
    if isinstance(value, list):
        return [apply_defaults(mapping(schema.get("items")), item) for item in value]
    if not isinstance(value, dict):
        return value
    filled: JSON = {}
    for key, item in value.items():
        child = part(schema, key)
        if item is not None or child is None or child.get("nullable"):
            filled[key] = apply_defaults(child or {}, item)
    for key, child in mapping(schema.get("properties")).items():
        if key not in filled and "default" in mapping(child):
            filled[key] = apply_defaults(child, clone(child["default"]))
    return filled


def problems(schema: JSON, value: Any, path: str = "") -> list[Problem]:
    """Each place where `value` breaks `schema`, as `(path, what is wrong)`."""
    found: list[Problem] = []
    _look(schema, value, (path,), found)
    return found


def _look(schema: JSON, value: Any, where: Steps, found: list[Problem]) -> None:
    if value is None and (schema.get("nullable") or not schema):
        return
    wanted = _unmet_type(schema, type(value))
    if wanted:
        path, name = _path(where), _NAMES.get(type(value), "null")
        found.append((path, f'Invalid value: "{name}": {path} in body must be of type {wanted}: "{name}"'))
        return
    if not _BOUNDED.isdisjoint(schema):
        found += [(_path(where), _path(where).join(words)) for words in _bounds(schema, value)]
    _look_inside(schema, value, where, found)


def _look_inside(schema: JSON, value: Any, where: Steps, found: list[Problem]) -> None:
    if isinstance(value, dict):
        found += [(_path((*where, key)), "Required value") for key in schema.get("required", ()) if key not in value]
        for key, item in value.items():
            child = part(schema, key)
            if child:
                _look(child, item, (*where, key), found)
    elif isinstance(value, list):
        items = schema.get("items")
        if items:
            for index, item in enumerate(value):
                _look(items, item, (*where, index), found)
        found += _duplicates(schema, value, where)


def _path(where: Steps) -> str:
    """The path of some steps, the first of which is a path already."""
    path = str(where[0])
    for step in where[1:]:
        path = f"{path}[{step}]" if isinstance(step, int) else join(path, step)
    return path


def _unmet_type(schema: JSON, found: type) -> str | None:
    wanted = schema.get("type")
    if wanted is not None:
        return None if found in _TYPES[wanted] else str(wanted)
    if schema.get("x-kubernetes-int-or-string"):
        return None if found in _INT_OR_STRING else "integer,string"
    return None


def _bounds(schema: JSON, value: Any) -> Iterator[tuple[str, ...]]:
    """What is wrong, in pieces between which the path stands."""
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(json.dumps(item) for item in schema["enum"])
        yield (f"Unsupported value: {json.dumps(value)}: supported values: {supported}",)
    if isinstance(value, str):
        yield from _string_bounds(schema, value)
    elif isinstance(value, list):
        yield from _size_bounds(schema, "Items", "items", len(value))
    elif isinstance(value, dict):
        yield from _size_bounds(schema, "Properties", "properties", len(value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        for bound, words, broken in (
            ("minimum", "greater", value < schema.get("minimum", value)),
            ("maximum", "less", value > schema.get("maximum", value)),
        ):
            if broken:
                yield f"Invalid value: {value}: ", f" in body should be {words} than or equal to {schema[bound]}"


def _string_bounds(schema: JSON, value: str) -> Iterator[tuple[str, ...]]:
    """A string of the wrong length is not held against its pattern too."""
    if len(value) > schema.get("maxLength", len(value)):
        yield (f"Too long: may not be more than {schema['maxLength']} bytes",)
    elif len(value) < schema.get("minLength", 0):
        yield f"Invalid value: {json.dumps(value)}: ", f" in body should be at least {schema['minLength']} chars long"
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"Invalid value: {json.dumps(value)}: ", f" in body should match '{schema['pattern']}'"
    if schema.get("format") == "duration" and not _DURATION.fullmatch(value):
        yield f"Invalid value: {json.dumps(value)}: ", f" in body must be of type duration: {json.dumps(value)}"


def _size_bounds(schema: JSON, suffix: str, unit: str, found: int) -> Iterator[tuple[str, ...]]:
    if found < schema.get(f"min{suffix}", 0):
        yield f"Invalid value: {found}: ", f" in body should have at least {schema[f'min{suffix}']} {unit}"
    if found > schema.get(f"max{suffix}", found):
        yield (f"Too many: {found}: must have at most {schema[f'max{suffix}']} items",)


def _duplicates(schema: JSON, items: list[Any], where: Steps) -> Iterator[Problem]:
    if "x-kubernetes-list-map-keys" not in schema and schema.get("x-kubernetes-list-type") != "set":
        return
    seen: set[bytes] = set()
    for index, item in enumerate(items):
        key = map_key(schema, item)
        if key in seen:
            yield _path((*where, index)), f"Duplicate value: {key.decode()}"
        seen.add(key)


def map_key(schema: JSON, item: Any) -> bytes:
    """What tells an item of a list map (or a set) from the others, as JSON."""
    keys = schema.get("x-kubernetes-list-map-keys")
    return orjson.dumps({key: mapping(item).get(key) for key in keys} if keys else item)
