"""The bounds of a structural schema: enumerations, sizes, patterns, numbers, durations."""

import json
import re
from collections.abc import Iterator
from typing import Any

from app.kube.hook import JSON

# What a value is measured by; most fields have none of it.
BOUNDS = frozenset(
    {"enum", "minLength", "maxLength", "pattern", "format", "minimum", "maximum"}
    | {f"{bound}{what}" for bound in ("min", "max") for what in ("Items", "Properties")}
)
_DURATION = re.compile(r"([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+|0")


def bounds(schema: JSON, value: Any) -> Iterator[tuple[str, ...]]:
    """What is wrong with a value of the right type, in pieces between which the path stands."""
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
