"""Metacontroller's dynamic apply: the three-way merge that decides what an InPlace update writes.

Ported from the documented behaviour of 4.17.2 (`pkg/dynamic/apply`, `pkg/controller/common/manage_children.go`):
maps merge; a list merges by key where all its objects (observed, last applied and desired) share one of
`MERGE_KEYS`; any other list is replaced; what was applied last time and is desired no more is removed. What is desired
in place of an observed map or list and is none counts as empty: the real one means to refuse it, and never does.
"""

from typing import Any

import orjson

from app.kube.hook import JSON
from app.local.values import clone, listed, mapping

LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration"
# The order is the precedence where several would do.
MERGE_KEYS = ("containerPort", "port", "mountPath", "name", "uid", "ip", "path")
# Read-only for clients: a desired object that states them changes nothing.
_SYSTEM_FIELDS = (
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
)


class MergeError(ValueError):
    """What was applied last time cannot be read."""


def get_last_applied(obj: JSON) -> JSON | None:
    """What was applied last time, or None where nothing was recorded."""
    text = mapping(mapping(obj.get("metadata")).get("annotations")).get(LAST_APPLIED)
    if not text:
        return None
    try:
        found = orjson.loads(text)
    except ValueError as error:
        raise MergeError(f'can\'t unmarshal "{LAST_APPLIED}" annotation: {error}') from error
    if not isinstance(found, dict):
        raise MergeError(f'can\'t unmarshal "{LAST_APPLIED}" annotation: it is not an object')
    return found


def set_last_applied(obj: JSON, applied: JSON) -> None:
    """Records `applied` on `obj`, in place."""
    text = orjson.dumps(applied, option=orjson.OPT_SORT_KEYS).decode()
    metadata = obj.setdefault("metadata", {})
    metadata["annotations"] = {**mapping(metadata.get("annotations")), LAST_APPLIED: text}


def apply_update(observed: JSON, desired: JSON) -> JSON:
    """The object that an update writes: `observed` with the difference from last applied to `desired`.

    System metadata and `status` stay as observed. Raises MergeError.
    """
    desired = clone(desired)
    annotations = mapping(mapping(desired.get("metadata")).get("annotations"))
    annotations.pop(LAST_APPLIED, None)
    merged = merge(observed, get_last_applied(observed), desired)
    for field in _SYSTEM_FIELDS:
        _revert(merged["metadata"], observed["metadata"], field)
    _revert(merged, observed, "status")
    set_last_applied(merged, desired)
    return merged


def _revert(target: JSON, source: JSON, field: str) -> None:
    if field in source:
        target[field] = clone(source[field])
    else:
        target.pop(field, None)


def merge(observed: JSON, last_applied: JSON | None, desired: JSON) -> JSON:
    """`observed` with the changes from `last_applied` to `desired`; the arguments stay untouched."""
    return _merge_object(clone(observed), last_applied or {}, clone(desired))


def _merge(target: Any, last: Any, desired: Any) -> Any:
    if isinstance(target, dict):
        return _merge_object(target, mapping(last), mapping(desired))
    if isinstance(target, list):
        return _merge_list(target, listed(last), desired)
    return desired


def _merge_object(target: JSON, last: JSON, desired: JSON) -> JSON:
    for key in last:
        if key not in desired:
            target.pop(key, None)
    for key, value in desired.items():
        target[key] = _merge(target.get(key), last.get(key), value)
    return target


def _merge_list(target: list[Any], last: list[Any], desired: Any) -> list[Any] | None:
    wanted = listed(desired)
    key = merge_key(target, last, wanted)
    if key is None:
        return wanted if isinstance(desired, list) else None
    before = [str(item[key]) for item in target]
    merged = _merge_object(_keyed(target, key), _keyed(last, key), _keyed(wanted, key))
    # The order of what was there stays, what is new follows in the desired order. Two observed items of one key
    # both become the later one: Metacontroller's own trap for one port number under two protocols.
    kept = [merged[item] for item in before if item in merged]
    return kept + [merged[item] for item in _keyed(wanted, key) if item not in set(before)]


def _keyed(items: list[Any], key: str) -> JSON:
    return {str(item[key]): item for item in items}


def merge_key(*lists: list[Any]) -> str | None:
    """The key by which these lists of one field merge, or None where they replace each other."""
    items = [item for one in lists for item in one]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return next((key for key in MERGE_KEYS if all(key in item for item in items)), None)
