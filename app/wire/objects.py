"""The two-level object maps of hook version v2: `Kind.apiVersion`, then `namespace/name`, then the object."""

from typing import Any

import orjson

from app.kube.hook import JSON, Unreadable

_LONGEST = 80


def quoted(value: Any) -> str:
    """`value` from a request on one short line, fit for a sentence."""
    text = orjson.dumps(value).decode()
    if isinstance(value, str):
        text = text[1:-1]
    return f"`{text[:_LONGEST]}…`" if len(text) > _LONGEST else f"`{text}`"


def check_objects(field: str, groups: JSON, namespace: str | None = None) -> None:
    """Every object of `groups` is what its two keys say, and lives in `namespace` where one is given.

    A request holds up to a thousand objects, so the common case is one expression per object; what does not pass it
    is looked at again, in words. Raises `Unreadable`.
    """
    for key, group in groups.items():
        kind, _, api_version = key.partition(".")
        if not (kind and api_version):
            raise Unreadable(_path(field, key), "is no kind of hook version v2, such as `Pod.v1`")
        if not isinstance(group, dict):
            raise Unreadable(_path(field, key), "is not an object, and hook version v2 sends one per kind")
        for name, value in group.items():
            try:
                metadata = value["metadata"]
                own_name, own_namespace = metadata["name"], metadata["namespace"]
                plain = (
                    value["kind"] == kind
                    and value["apiVersion"] == api_version
                    and own_namespace + "/" + own_name == name
                    and own_name != ""
                    and (own_namespace == namespace or (namespace is None and own_namespace != ""))
                )
            except (KeyError, TypeError):
                plain = False
            if not plain:
                _check_object(_path(field, key, name), (kind, api_version, name), value, namespace)


def _path(field: str, *keys: str) -> str:
    return field + "".join(f"[{orjson.dumps(key[:_LONGEST]).decode()}]" for key in keys)


def _check_object(path: str, keys: tuple[str, str, str], value: Any, namespace: str | None) -> None:
    """The same checks with words, and those of cluster-scoped objects, whose key is their name."""
    if not isinstance(value, dict):
        raise Unreadable(path, "is not an object")
    for field, expected in zip(("kind", "apiVersion"), keys, strict=False):
        if value.get(field) != expected:
            raise Unreadable(f"{path}.{field}", f"is {quoted(value.get(field))}, and the map's key says `{expected}`")
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not (isinstance(metadata, dict) and isinstance(name, str) and name):
        raise Unreadable(f"{path}.metadata.name", "is missing, and every observed object has one")
    own_namespace = metadata.get("namespace", "")
    if not isinstance(own_namespace, str):
        raise Unreadable(f"{path}.metadata.namespace", "is not a string")
    own_key = f"{own_namespace}/{name}" if own_namespace else name
    if keys[2] != own_key:
        raise Unreadable(
            path,
            f"holds the object {quoted(own_key)}: hook version v2 keys objects by namespace/name, "
            f"so write `version: v2` in the CompositeController",
        )
    if namespace is not None and own_namespace != namespace:
        raise Unreadable(
            f"{path}.metadata.namespace", f"is {quoted(own_namespace)}, and children live beside their parent"
        )
