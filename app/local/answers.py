"""Reading a hook's answer as strictly as Metacontroller does for hook version v2.

An unknown or duplicate field, a value of another type, anything that is not JSON: an error, and nothing changes.
Inside children unknown and duplicate fields are not looked at: they are other people's objects.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.kube.hook import JSON

_NUMBER = (int, float)
_TEXT_MAP = "map[string]*string"
# Field -> the Go type it is decoded into, as error messages name it, and the JSON types that fit.
_Fields = Mapping[str, tuple[str, tuple[type, ...]]]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a hook may answer: the Go type's name, its fields, and the field that holds children."""

    name: str
    fields: _Fields
    children: str = ""


_COMMON: _Fields = {
    "status": ("map[string]interface {}", (dict,)),
    "resyncAfterSeconds": ("float64", _NUMBER),
    "finalized": ("bool", (bool,)),
}
_OBJECTS = ("[]*unstructured.Unstructured", (list,))
COMPOSITE = Shape("CompositeHookResponse", {**_COMMON, "children": _OBJECTS}, "children")
DECORATOR = Shape(
    "DecoratorHookResponse",
    {**_COMMON, "labels": (_TEXT_MAP, (dict,)), "annotations": (_TEXT_MAP, (dict,)), "attachments": _OBJECTS},
    "attachments",
)
CUSTOMIZE = Shape("CustomizeHookResponse", {"relatedResources": ("[]*v1alpha1.RelatedResourceRule", (list,))})
_RELATED_RULE: _Fields = {
    "apiVersion": ("string", (str,)),
    "resource": ("string", (str,)),
    "labelSelector": ("v1.LabelSelector", (dict,)),
    "namespaceSelector": ("v1.LabelSelector", (dict,)),
    "namespace": ("string", (str,)),
    "names": ("[]string", (list,)),
}


class AnswerError(ValueError):
    """An answer that Metacontroller refuses; the message is the one of its event, without the prefix."""


class _Object(dict[str, Any]):
    """A parsed object that remembers which of its keys came twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.twice = [key for index, key in enumerate(keys) if key in keys[:index]] if len(self) < len(keys) else []


def read(body: bytes, shape: Shape, hook: str, *, strict: bool = True) -> JSON:
    """The answer as a dict; null fields are left out. Raises AnswerError."""
    prefix = f"can't unmarshal webhookResponse (version: v2, type: {hook})"
    try:
        answer = _parsed(body)
    except ValueError as error:
        raise AnswerError(f"{prefix}: {error}") from error
    if not isinstance(answer, dict):
        raise AnswerError(f"{prefix}: json: cannot unmarshal {_go_name(answer)} into Go value of type {shape.name}")
    found = _typed(answer, shape.fields, shape.name, prefix)
    unexpected = _unexpected(answer, shape.fields, "")
    for index, rule in enumerate(found.get("relatedResources", [])):
        _typed(_as_object(rule, shape.name, prefix), _RELATED_RULE, shape.name, prefix)
        unexpected += _unexpected(rule, _RELATED_RULE, f"relatedResources[{index}].")
    for child in found.get(shape.children, []):
        if not _as_object(child, shape.name, prefix).get("kind"):
            raise AnswerError(f"{prefix}: Object 'Kind' is missing in '{json.dumps(child)}'")
        _as_object(child.setdefault("metadata", {}), shape.name, prefix)
    _check_texts(found, shape, prefix)
    if unexpected and strict:
        text = unexpected[0] if len(unexpected) == 1 else f"[{', '.join(unexpected)}]"
        raise AnswerError(f"strict validation failed for v2 webhookResponse (type: {hook}, mode: strict): {text}")
    return found


def _parsed(body: bytes) -> Any:
    """The value, in which objects that have a key twice say so. Raises ValueError."""
    value = orjson.loads(body)
    # What comes out as it went in has no key twice; most hooks write compact JSON, and this is the fast way.
    return value if orjson.dumps(value) == body else json.loads(body, object_pairs_hook=_Object)


def _typed(answer: JSON, fields: _Fields, kind: str, prefix: str) -> JSON:
    found = {key: value for key, value in answer.items() if key in fields and value is not None}
    for key, value in found.items():
        go_type, fitting = fields[key]
        if not isinstance(value, fitting) or (isinstance(value, bool) and bool not in fitting):
            words = f"cannot unmarshal {_go_name(value)} into Go struct field {kind}.{key} of type {go_type}"
            raise AnswerError(f"{prefix}: json: {words}")
    return found


def _check_texts(found: JSON, shape: Shape, prefix: str) -> None:
    """Labels and annotations of a decorator are texts, or null for those that go."""
    for field, (go_type, _) in shape.fields.items():
        if go_type != _TEXT_MAP:
            continue
        for value in found.get(field, {}).values():
            if not isinstance(value, str | None):
                words = f"cannot unmarshal {_go_name(value)} into Go struct field {shape.name}.{field} of type string"
                raise AnswerError(f"{prefix}: json: {words}")


def _as_object(value: Any, kind: str, prefix: str) -> JSON:
    if not isinstance(value, dict):
        raise AnswerError(f"{prefix}: json: cannot unmarshal {_go_name(value)} into an object of {kind}")
    return value


def _unexpected(answer: JSON, fields: Mapping[str, Any], path: str) -> list[str]:
    unknown = [f'unknown field "{path}{key}"' for key in answer if key not in fields]
    return unknown + _duplicates(answer, path)


def _duplicates(value: Any, path: str) -> list[str]:
    """Duplicate keys of the answer and of the maps in it, at any depth; not of children."""
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in _duplicates(item, f"{path[:-1]}[{index}].")]
    if not isinstance(value, _Object):
        return []
    found = [f'duplicate field "{path}{key}"' for key in value.twice]
    for key, item in value.items():
        if path or key in {"status", "labels", "annotations"}:
            found += _duplicates(item, f"{path}{key}.")
    return found


def _go_name(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    if isinstance(value, dict):
        return "object"
    return names.get(type(value), "null")
