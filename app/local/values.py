"""Plain JSON values: a deep copy, an equality that tells 1 from 1.0 and true, and reading that tolerates anything."""

from typing import Any

from app.kube.canonical import dumps
from app.kube.hook import JSON

_SCALARS = frozenset({str, int, float, bool, type(None)})


def clone(value: Any) -> Any:
    """A deep copy of a JSON value; much faster than `copy.deepcopy`, which must expect anything."""
    # Most values are scalars: looking at their type here saves a call for each.
    if isinstance(value, dict):
        return {key: item if type(item) in _SCALARS else clone(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) in _SCALARS else clone(item) for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal as Go's reflect.DeepEqual sees them: 1, 1.0 and true are three values."""
    # Python's own comparison tells most differences at once; what it takes for equal may still be 1 and true.
    return left is right or (left == right and dumps(left) == dumps(right))


def mapping(value: Any) -> JSON:
    """`value` where it is a map, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def meta(obj: JSON) -> JSON:
    """The metadata of an object."""
    return mapping(obj.get("metadata"))


def labels(obj: JSON) -> JSON:
    """The labels of an object."""
    return mapping(meta(obj).get("labels"))


def name(obj: JSON) -> str:
    """The name of an object, empty where it has none."""
    found = meta(obj).get("name")
    return found if isinstance(found, str) else ""


def namespace(obj: JSON) -> str:
    """The namespace of an object, empty for a cluster-scoped one."""
    found = meta(obj).get("namespace")
    return found if isinstance(found, str) else ""


def qualified(obj: JSON) -> str:
    """`namespace/name`, or `name` for a cluster-scoped object."""
    return f"{namespace(obj)}/{name(obj)}" if namespace(obj) else name(obj)


def uid(obj: JSON) -> str:
    """The UID of an object, empty before it is created."""
    found = meta(obj).get("uid")
    return found if isinstance(found, str) else ""


def terminating(obj: JSON) -> bool:
    """Whether deletion of the object was asked for."""
    return "deletionTimestamp" in meta(obj)


def owners(obj: JSON) -> list[JSON]:
    """The owner references of an object."""
    return [mapping(reference) for reference in listed(meta(obj).get("ownerReferences"))]


def controller_of(obj: JSON) -> JSON | None:
    """The owner reference of the controller, or None for an orphan."""
    return next((reference for reference in owners(obj) if reference.get("controller") is True), None)


def finalizers(obj: JSON) -> list[str]:
    """The finalizers of an object."""
    return [item for item in listed(meta(obj).get("finalizers")) if isinstance(item, str)]
