"""Keeping an InPlace child as it is: its last-applied shape, filled with observed values.

Metacontroller deletes what is not returned, re-imposes what differs from the answer, and removes fields that were in
the last answer and are not in this one. So the one answer that changes nothing names exactly the fields of the last
answer, each at the value it has now.
"""

from typing import Any

import orjson

from app.kube.hook import JSON
from app.kube.pods import mapping, text

LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration"
# Lists of objects merge by the first of these that every item has (Metacontroller's guess, in its order).
MERGE_KEYS = ("containerPort", "port", "mountPath", "name", "uid", "ip", "path")


def stub(item: JSON) -> JSON:
    """Only the identity: enough to keep an OnDelete child, and too little to be created anew."""
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {"name": item["metadata"]["name"]},
    }


def kept(item: JSON) -> JSON:
    """The answer under which Metacontroller changes nothing of `item`; the stub where nothing was applied yet.

    The annotation is Metacontroller's, but anybody can edit it: one that cannot have been an answer counts as none.
    """
    annotations = mapping(mapping(item.get("metadata")).get("annotations"))
    try:
        applied = orjson.loads(text(annotations.get(LAST_APPLIED)))
    except orjson.JSONDecodeError:
        return stub(item)
    if not isinstance(applied, dict) or not isinstance(applied.get("metadata"), dict):
        return stub(item)
    identity = stub(item)
    filled = _fill(applied, item)
    metadata = {**filled["metadata"], **identity["metadata"]}
    return {**filled, **identity, "metadata": metadata}


def _fill(shape: Any, value: Any) -> Any:
    if isinstance(shape, dict) and isinstance(value, dict):
        return {key: _fill(part, value[key]) for key, part in shape.items() if key in value}
    if isinstance(shape, list) and isinstance(value, list):
        return _fill_list(shape, value)
    return value


def _fill_list(shape: list[Any], value: list[Any]) -> list[Any]:
    key = merge_key(shape + value)
    if key is None:
        return value
    found = {item[key]: item for item in value}
    return [_fill(item, found[item[key]]) for item in shape if item[key] in found]


def merge_key(items: list[Any]) -> str | None:
    """The key by which Metacontroller merges a list of objects, or None where the list is replaced whole."""
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return next((key for key in MERGE_KEYS if all(isinstance(item.get(key), str | int) for item in items)), None)
