"""Reading a hook's answer as strictly as Metacontroller does for hook version v2.

An unknown or duplicate field, a value of another type, anything that is not JSON: an error, and nothing changes.
Inside children unknown and duplicate fields are not looked at: they are other people's objects.
"""

import json
from collections.abc import Mapping
from typing import Any

from app.kube.hook import JSON

_NUMBER = (int, float)
# Field -> the Go type it is decoded into, as error messages name it, and the JSON types that fit.
COMPOSITE: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "status": ("map[string]interface {}", (dict,)),
    "children": ("[]*unstructured.Unstructured", (list,)),
    "resyncAfterSeconds": ("float64", _NUMBER),
    "finalized": ("bool", (bool,)),
}
CUSTOMIZE: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "relatedResources": ("[]*v1alpha1.RelatedResourceRule", (list,)),
}
RELATED_RULE: Mapping[str, tuple[str, tuple[type, ...]]] = {
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
        seen: set[str] = set()
        self.twice = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]


def read(body: bytes, fields: Mapping[str, tuple[str, tuple[type, ...]]], kind: str, hook: str) -> JSON:
    """The answer as a dict; null fields are left out. Raises AnswerError."""
    prefix = f"can't unmarshal webhookResponse (version: v2, type: {hook})"
    try:
        answer = json.loads(body, object_pairs_hook=_Object)
    except ValueError as error:
        raise AnswerError(f"{prefix}: {error}") from error
    if not isinstance(answer, _Object):
        raise AnswerError(f"{prefix}: json: cannot unmarshal {_go_name(answer)} into Go value of type {kind}")
    found = _typed(answer, fields, kind, prefix)
    strict = _strict(answer, fields, "")
    for index, rule in enumerate(found.get("relatedResources", [])):
        _typed(_as_object(rule, kind, prefix), RELATED_RULE, kind, prefix)
        strict += _strict(rule, RELATED_RULE, f"relatedResources[{index}].")
    for child in found.get("children", []):
        if not _as_object(child, kind, prefix).get("kind"):
            raise AnswerError(f"{prefix}: Object 'Kind' is missing in '{json.dumps(child)}'")
    if strict:
        text = strict[0] if len(strict) == 1 else f"[{', '.join(strict)}]"
        raise AnswerError(f"strict validation failed for v2 webhookResponse (type: {hook}, mode: strict): {text}")
    return found


def _typed(answer: JSON, fields: Mapping[str, tuple[str, tuple[type, ...]]], kind: str, prefix: str) -> JSON:
    found = {key: value for key, value in answer.items() if key in fields and value is not None}
    for key, value in found.items():
        go_type, fitting = fields[key]
        if not isinstance(value, fitting) or (isinstance(value, bool) and bool not in fitting):
            words = f"cannot unmarshal {_go_name(value)} into Go struct field {kind}.{key} of type {go_type}"
            raise AnswerError(f"{prefix}: json: {words}")
    return found


def _as_object(value: Any, kind: str, prefix: str) -> JSON:
    if not isinstance(value, dict):
        raise AnswerError(f"{prefix}: json: cannot unmarshal {_go_name(value)} into an object of {kind}")
    return value


def _strict(answer: JSON, fields: Mapping[str, Any], path: str) -> list[str]:
    unknown = [f'unknown field "{path}{key}"' for key in answer if key not in fields]
    return unknown + _duplicates(answer, path)


def _duplicates(value: Any, path: str) -> list[str]:
    """Duplicate keys of the answer and of the status in it, at any depth; not of children."""
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in _duplicates(item, f"{path[:-1]}[{index}].")]
    if not isinstance(value, _Object):
        return []
    found = [f'duplicate field "{path}{key}"' for key in value.twice]
    for key, item in value.items():
        if path or key == "status":
            found += _duplicates(item, f"{path}{key}.")
    return found


def _go_name(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", _Object: "object"}
    return names.get(type(value), "null")
