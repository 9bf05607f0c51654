"""managedFields: who wrote which field last, as the API server records it for updates.

A field set is the JSON of `fieldsV1`: `f:<name>` for a field, `k:{...}` for an item of a list that is told apart by
keys, `.` for the thing itself. Lists without keys, empty maps and selectors are single fields. Which lists have keys
goes by the names that Kubernetes' own kinds use; a custom kind's own list maps are taken as single fields.
"""

from typing import Any

import orjson

from app.kube.hook import JSON
from app.local.values import mapping

FieldSet = dict[str, Any]

# What tells the items of a list apart, by the name of the field.
_KEYS: dict[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "hostIPs": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "schedulingGates": ("name",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))
# Maps that are one field as a whole.
_WHOLE = frozenset({"selector", "nodeSelector", "matchLabels"})
# The metadata that clients own; the rest is the server's.
_OWN_METADATA = ("labels", "annotations", "ownerReferences", "finalizers")


def content(obj: JSON, subresource: str) -> JSON:
    """The part of an object that a write through `subresource` (or the object itself) may own."""
    if subresource:
        return {subresource: obj[subresource]} if subresource in obj else {}
    metadata = mapping(obj.get("metadata"))
    owned = {key: metadata[key] for key in _OWN_METADATA if metadata.get(key)}
    rest = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata", "status"}}
    return rest | ({"metadata": owned} if owned else {})


def field_set(value: Any, name: str = "") -> FieldSet:
    """All fields of a value; `name` is the field that holds it."""
    if isinstance(value, dict) and value and name not in _WHOLE:
        return {".": {}} | {f"f:{key}": field_set(item, key) for key, item in value.items()}
    items = _keyed(value, name)
    if items:
        inner = {key: {} if name == "ownerReferences" else field_set(item) for key, item in items.items()}
        return {".": {}} | inner
    return {}


def _keyed(value: Any, name: str) -> dict[str, JSON]:
    """The items of a list by their `k:{...}`, empty where they have no keys."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return {}
    keys = _KEYS.get(name)
    if name == "ports":
        keys = next((one for one in _PORT_KEYS if one[0] in value[0]), None)
    if keys is None or not all(isinstance(item, dict) for item in value):
        return {}
    return {f"k:{orjson.dumps({key: item.get(key) for key in keys}).decode()}": item for item in value}


def changed(old: Any, new: Any, name: str = "") -> FieldSet | None:
    """The fields of `new` that `old` lacks or has differently; None where there are none."""
    if old is new or old == new:
        return None
    inner = _children(new, name)
    before = _children(old, name)
    if not inner or not before:
        return field_set(new, name)
    found: FieldSet = {}
    for step, (key, item) in inner.items():
        if step not in before:
            found[step] = field_set(item, key)
            continue
        part = changed(before[step][1], item, key)
        if part is not None:
            found[step] = part
    return found or None


def _children(value: Any, name: str) -> dict[str, tuple[str, Any]]:
    """What stands inside a value, by its step in a field set, with the name of the field."""
    if isinstance(value, dict) and name not in _WHOLE:
        return {f"f:{key}": (key, item) for key, item in value.items()}
    return {step: ("", item) for step, item in _keyed(value, name).items()}


def united(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields of either; the arguments stay untouched."""
    found = dict(left)
    for step, inner in right.items():
        found[step] = united(found[step], inner) if step in found else inner
    return found


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields of `left` that are not in `right`."""
    found: FieldSet = {}
    for step, inner in left.items():
        if step not in right:
            found[step] = inner
        elif inner and right[step]:
            rest = without(inner, right[step])
            if rest and rest.keys() != {"."}:
                found[step] = rest
    return found


def present(fields: FieldSet, value: Any, name: str = "") -> FieldSet:
    """The fields that `value` still has."""
    inner = _children(value, name)
    found: FieldSet = {}
    for step, part in fields.items():
        if step == ".":
            found[step] = part
        elif step in inner:
            key, item = inner[step]
            found[step] = present(part, item, key) if part else part
    return found


def track(old: JSON | None, new: JSON, manager: str, time: str, subresource: str = "") -> tuple[JSON, ...]:
    """The managedFields of `new`, after `manager` wrote it over `old`.

    A tuple, as copies of an object share it: nothing in it is ever changed.
    """
    before = tuple(mapping((old or {}).get("metadata")).get("managedFields", ()))
    was, now = content(old or {}, subresource), content(new, subresource)
    if was == now:
        return before
    written = {step: inner for step, inner in (changed(was, now) or {}).items() if step != "."}
    entries = []
    mine: FieldSet = {}
    since = time
    for entry in before:
        touched = entry.get("subresource", "") == subresource
        if touched and entry["manager"] == manager:
            mine, since = entry["fieldsV1"], entry["time"]
        elif touched:
            rest = present(without(entry["fieldsV1"], written), now)
            if rest:
                entries.append(entry if rest == entry["fieldsV1"] else {**entry, "fieldsV1": rest, "time": time})
        else:
            entries.append(entry)
    fields = present(united(mine, written), now)
    if fields:
        entries.append(_entry(new, manager, since if fields == mine else time, fields, subresource))
    return tuple(sorted(entries, key=lambda entry: (entry["time"], entry["manager"])))


def _entry(obj: JSON, manager: str, time: str, fields: FieldSet, subresource: str) -> JSON:
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": obj["apiVersion"],
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return entry | ({"subresource": subresource} if subresource else {})
