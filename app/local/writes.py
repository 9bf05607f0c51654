"""What a write keeps, checks and counts: system metadata, optimistic concurrency, generations. Pure functions."""

from app.kube.hook import JSON
from app.local.errors import Conflict, Invalid
from app.local.resources import Resource
from app.local.values import mapping, meta, name

# Metadata that is the server's alone, beside the resourceVersion.
SYSTEM = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields")


def managed(entries: tuple[JSON, ...]) -> JSON:
    """The metadata that holds managedFields, empty where there are none."""
    return {"managedFields": entries} if entries else {}


def check_current(resource: Resource, old: JSON, obj: JSON) -> None:
    """Raises Conflict where `obj` is another object than the stored one, or an older state of it.

    Raises Invalid for a custom object that does not say which state it replaces.
    """
    stated = meta(obj)
    if resource.custom and "resourceVersion" not in stated:
        raise Invalid(
            f"{resource.kind}.{resource.group}",
            name(obj),
            [("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")],
        )
    for field in ("uid", "resourceVersion"):
        if stated.get(field) is not None and stated[field] != old["metadata"][field]:
            raise Conflict(
                f'Operation cannot be fulfilled on {resource.qualified} "{name(obj)}": the object has been modified; '
                "please apply your changes to the latest version and try again"
            )


def keep_system_fields(new: JSON, old: JSON) -> None:
    """Puts the server's own metadata of `old` into the metadata `new`, in place."""
    for field in (*SYSTEM, "resourceVersion"):
        new.pop(field, None)
        if field in old:
            new[field] = old[field]


def counted(resource: Resource, obj: JSON) -> list[object]:
    """What generation counts."""
    aside = {"metadata", "status"} if resource.status else {"metadata"}
    found: list[object] = []
    for path in resource.counted or ():
        if path == "":
            found.append({key: value for key, value in obj.items() if key not in aside})
        else:
            head, _, tail = path.partition(".")
            found.append(mapping(obj.get(head)).get(tail) if tail else obj.get(head))
    return found
