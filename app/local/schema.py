"""What an API server does with a CRD's structural schema: prune unknown fields, fill defaults, refuse the rest.

The words are those of kube-apiserver 1.35, so that a refusal here and one of a real cluster read the same. CEL rules
are in `app.local.rules`. Formats other than durations, and `allOf`, `anyOf`, `oneOf` and `not`, are not looked at.
"""

from typing import Any

import orjson

from app.kube.hook import JSON
from app.local.bounds import BOUNDS, bounds
from app.local.values import clone, mapping

Problem = tuple[str, str]
# Where a value stands: a path, or the holder's place and the field or index in it.
Place = str | tuple[Any, str | int]

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


class Structural:
    """A schema, made ready to be held against many values."""

    def __init__(self, schema: JSON) -> None:
        self.schema = schema
        self.fields = {key: Structural(mapping(one)) for key, one in mapping(schema.get("properties")).items()}
        additional, items = schema.get("additionalProperties"), schema.get("items")
        self.extra = Structural(additional) if isinstance(additional, dict) else None
        self.items = Structural(items) if isinstance(items, dict) else None
        self.keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True or additional is True
        self.defaults = [(key, one.schema["default"]) for key, one in self.fields.items() if "default" in one.schema]
        self.required: list[str] = schema.get("required", [])
        self.nullable = schema.get("nullable") is True
        self.keys = "x-kubernetes-list-map-keys" in schema or schema.get("x-kubernetes-list-type") == "set"
        self.types = _INT_OR_STRING if schema.get("x-kubernetes-int-or-string") else _TYPES.get(schema.get("type", ""))
        # The types of a value that is taken as it is, without a further look.
        scalars = (self.types or frozenset()) - {dict, list}
        self.plain = frozenset() if not BOUNDS.isdisjoint(schema) else scalars

    def take(self, value: Any, path: str = "", aside: JSON | None = None) -> tuple[Any, list[Problem]]:
        """`value` as the API server stores it, and each place where it breaks the schema, with what is wrong.

        Unknown fields are pruned; defaults are filled at every level that is present; a null that is not allowed counts
        as absent. `aside` are fields of the value that are not looked at again, and part of the result.
        """
        found: list[Problem] = []
        if isinstance(value, dict):
            taken = {**(aside or {}), **self._object(value, path, found, aside or {})}
            return taken, found
        return self._take(value, path, found), found

    def _take(self, value: Any, place: Place, found: list[Problem]) -> Any:
        if value is None and (self.nullable or not self.schema):
            return None
        if self.types is not None and type(value) not in self.types:
            found.append((path_of(place), self._mistaken(value, path_of(place))))
            return value
        if not BOUNDS.isdisjoint(self.schema):
            found += [(path_of(place), path_of(place).join(words)) for words in bounds(self.schema, value)]
        if isinstance(value, dict):
            return self._object(value, place, found, {})
        return self._array(value, place, found) if isinstance(value, list) else value

    def _mistaken(self, value: Any, path: str) -> str:
        name = _NAMES.get(type(value), "null")
        wanted = "integer,string" if self.types is _INT_OR_STRING else self.schema["type"]
        return f'Invalid value: "{name}": {path} in body must be of type {wanted}: "{name}"'

    def _object(self, value: JSON, place: Place, found: list[Problem], aside: JSON) -> JSON:
        kept: JSON = {}
        for key, item in value.items():
            child = self.fields.get(key, self.extra)
            if child is None:
                if self.keeps:
                    kept[key] = item
            elif type(item) in child.plain:
                kept[key] = item
            elif item is not None or child.nullable:
                kept[key] = child._take(item, (place, key), found)
        for key, default in self.defaults:
            if key not in kept and key not in aside:
                kept[key] = self.fields[key]._take(clone(default), (place, key), found)
        missing = [key for key in self.required if key not in kept and key not in aside]
        found += [(path_of((place, key)), "Required value") for key in missing]
        return kept

    def _array(self, value: list[Any], place: Place, found: list[Problem]) -> list[Any]:
        items = self.items
        if items is None:
            return value
        plain = items.plain
        kept = [
            item if type(item) in plain else items._take(item, (place, index), found)
            for index, item in enumerate(value)
        ]
        if self.keys:
            seen: set[bytes] = set()
            for index, item in enumerate(kept):
                key = map_key(self.schema, item)
                if key in seen:
                    found.append((path_of((place, index)), f"Duplicate value: {key.decode()}"))
                seen.add(key)
        return kept


def path_of(place: Place) -> str:
    """A place as messages name it: `spec.roles[0].name`."""
    if isinstance(place, str):
        return place
    holder, step = path_of(place[0]), place[1]
    if isinstance(step, int):
        return f"{holder}[{step}]"
    return f"{holder}.{step}" if holder else step


def map_key(schema: JSON, item: Any) -> bytes:
    """What tells an item of a list map (or a set) from the others, as JSON."""
    keys = schema.get("x-kubernetes-list-map-keys")
    return orjson.dumps({key: mapping(item).get(key) for key in keys} if keys else item)
