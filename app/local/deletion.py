"""How a deletion begins and when it is complete: grace, finalizers, and what becomes of dependents.

`propagation` is the API's: Background lets the collector take dependents afterwards; Foreground keeps the object until
those that block it are gone; Orphan takes the owner references off them first. The last two are finalizers that the
collector serves.
"""

from datetime import datetime, timedelta
from typing import Literal

from app.kube import times
from app.kube.hook import JSON
from app.local.resources import Resource
from app.local.values import finalizers, mapping, meta, terminating

Propagation = Literal["Background", "Foreground", "Orphan"]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_FINALIZER: dict[Propagation, str] = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
_POD = "Pod.v1"


def begun(resource: Resource, old: JSON, now: datetime, grace: int | None, propagation: Propagation | None) -> JSON:
    """`old` after a request to delete it. `grace` is in seconds; without one it is the object's own."""
    metadata = dict(meta(old))
    if not terminating(old):
        seconds = _grace(resource, old) if grace is None else grace
        due = times.render(now + timedelta(seconds=seconds))
        metadata |= {"deletionTimestamp": due, "deletionGracePeriodSeconds": seconds}
        if "generation" in metadata:
            metadata["generation"] += 1
    elif grace == 0:
        metadata["deletionGracePeriodSeconds"] = 0
    if propagation is not None:
        held = [one for one in finalizers(old) if one not in {FOREGROUND, ORPHAN}]
        held += [_FINALIZER[propagation]] if propagation in _FINALIZER else []
        metadata.pop("finalizers", None)
        metadata |= {"finalizers": held} if held else {}
    new = {**old, "metadata": metadata}
    if resource.key == "Namespace.v1":
        new["status"] = {**mapping(old.get("status")), "phase": "Terminating"}
    return new


def complete(resource: Resource, obj: JSON) -> bool:
    """Whether nothing holds a terminating object any more: finalizers, a Pod's grace, a namespace's content."""
    if not terminating(obj) or finalizers(obj):
        return False
    if resource.key == "Namespace.v1" and mapping(obj.get("spec")).get("finalizers"):
        return False
    return resource.key != _POD or meta(obj).get("deletionGracePeriodSeconds", 0) == 0


def _grace(resource: Resource, obj: JSON) -> int:
    """Seconds of grace: none but for a Pod that is bound to a node and has not ended."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    if resource.key != _POD or not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    return int(spec.get("terminationGracePeriodSeconds", 30))
