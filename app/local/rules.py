"""CEL rules of a CRD (`x-kubernetes-validations`), held to on create and update.

A rule that reads `oldSelf` holds between two states: it is looked at where the value existed before and can be found
again, which in a list is an item of the same map keys. Costs and types of rules are not checked.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from app.kube.hook import JSON
from app.local.evaluator import Evaluation
from app.local.schema import Problem, map_key
from app.local.values import mapping

ABSENT = object()


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
    evaluation = Evaluation({"self": value} if old is ABSENT else {"self": value, "oldSelf": old})
    for rule in rules:
        text = str(rule.get("rule", ""))
        if "oldSelf" in text and old is ABSENT:
            continue
        wrong = evaluation.broken(text)
        if wrong is not None:
            shown = "" if isinstance(value, dict | list) else f"{json.dumps(value)}: "
            yield f"{path}{rule.get('fieldPath', '')}", f"Invalid value: {shown}{wrong or _message(rule, evaluation)}"


def _message(rule: JSON, evaluation: Evaluation) -> str:
    made_up = evaluation.text(str(rule["messageExpression"])) if "messageExpression" in rule else ""
    return made_up or str(rule.get("message") or f"failed rule: {rule.get('rule')}")


def _parts(schema: JSON, value: Any, old: Any, path: str) -> Iterator[tuple[JSON, Any, Any, str]]:
    """The inner values with their schema, their old value and their path."""
    if isinstance(value, dict):
        olds = mapping(old)
        fields, extra = mapping(schema.get("properties")), mapping(schema.get("additionalProperties"))
        for key, inner in value.items():
            child = fields.get(key, extra)
            if child:
                yield child, inner, olds.get(key, ABSENT), f"{path}.{key}" if path else key
    elif isinstance(value, list) and "items" in schema:
        keyed = "x-kubernetes-list-map-keys" in schema
        before = {map_key(schema, item): item for item in old} if keyed and isinstance(old, list) else {}
        for index, item in enumerate(value):
            found = before.get(map_key(schema, item), ABSENT) if keyed else ABSENT
            yield schema["items"], item, found, f"{path}[{index}]"
