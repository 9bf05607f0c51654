"""The API server's writes: what clients rely on when they create, update and delete.

UIDs, generations (of spec changes and of a deletion's begin), finalizers and graceful deletion, optimistic
concurrency, status as a subresource. UIDs come from a hash and a counter, so that the same run gives the same objects.
"""

import hashlib
import uuid
from datetime import timedelta

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import AlreadyExists, Conflict, Invalid
from app.local.resources import Discovery, Resource
from app.local.table import Table
from app.local.values import clone, finalizers, mapping, meta, name, namespace, same, terminating, uid

_SYSTEM = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
_POD = "Pod.v1"


class Store(Table):
    """The objects and their writes. Refusals are `app.local.errors.ApiError`."""

    def __init__(self, clock: Clock, discovery: Discovery) -> None:
        super().__init__(discovery)
        self._clock = clock
        self._created = 0

    def create(self, obj: JSON) -> JSON:
        """Stores a new object and returns it as stored.

        Raises UnknownKind, NotFound (no such namespace), Invalid, and only then AlreadyExists: a real API server
        validates before it looks whether the name is taken.
        """
        resource = self.discovery.of(obj)
        obj = clone(obj)
        if not name(obj):
            raise Invalid(resource.kind, "", [("metadata.name", "Required value: name or generateName is required")])
        space = self._namespace_of(resource, obj)
        if resource.status:
            obj.pop("status", None)
        obj = resource.check(obj)
        if self.find(resource, space, name(obj)) is not None:
            raise AlreadyExists(f'{resource.qualified} "{name(obj)}" already exists')
        self._created += 1
        own = {key: value for key, value in meta(obj).items() if key not in {*_SYSTEM, "resourceVersion"}}
        obj["metadata"] = own | {
            "uid": self._new_uid(resource, space, name(obj)),
            "creationTimestamp": times.render(self._clock.now()),
            **({"generation": 1} if resource.generation else {}),
        }
        if resource.key == "Service.v1":
            self._assign_address(obj)
        return self._put(resource, None, obj)

    def _namespace_of(self, resource: Resource, obj: JSON) -> str:
        if not resource.namespaced:
            meta(obj).pop("namespace", None)
            return ""
        space = namespace(obj)
        if not space:
            raise Invalid(resource.kind, name(obj), [("metadata.namespace", "Required value")])
        self._stored(self.discovery.kind("v1", "Namespace"), "", space)
        return space

    def _new_uid(self, resource: Resource, space: str, title: str) -> str:
        seed = f"{self._created}/{resource.key}/{space}/{title}"
        return str(uuid.UUID(bytes=hashlib.sha256(seed.encode()).digest()[:16], version=4))

    def _assign_address(self, service: JSON) -> None:
        if "clusterIP" not in service["spec"]:
            address = f"10.96.{self._created // 250 % 250}.{self._created % 250 + 1}"
            service["spec"] |= {"clusterIP": address, "clusterIPs": [address]}

    def update(self, obj: JSON) -> JSON:
        """Replaces everything but the status (where that is a subresource) and system metadata.

        Raises NotFound, Conflict (another UID, or not the stored resourceVersion), Invalid. Without a difference
        nothing is written. The removal of the last finalizer completes a deletion.
        """
        resource = self.discovery.of(obj)
        old = self._stored(resource, namespace(obj), name(obj))
        _check_current(resource, old, obj)
        obj = clone(obj)
        _keep_system_fields(obj["metadata"], old["metadata"])
        if resource.status:
            obj.pop("status", None)
            obj |= {"status": clone(old["status"])} if "status" in old else {}
        obj = resource.check(obj, clone(old))
        if resource.generation and not same(_content(old), _content(obj)):
            obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
        return self._replace(resource, old, obj)

    def update_status(self, obj: JSON) -> JSON:
        """Replaces the status alone. Raises NotFound, Conflict, Invalid."""
        resource = self.discovery.of(obj)
        old = self._stored(resource, namespace(obj), name(obj))
        _check_current(resource, old, obj)
        new = {**clone(old), "status": clone(obj.get("status", {}))}
        return self._replace(resource, old, resource.check(new, clone(old)) if resource.custom else new)

    def bind(self, pod: JSON, node: str) -> None:
        """The binding subresource: sets the node of a Pod. Like the real one it counts no generation."""
        resource = self.discovery.kind("v1", "Pod")
        old = self._stored(resource, namespace(pod), name(pod))
        new = clone(old)
        new["spec"]["nodeName"] = node
        self._replace(resource, old, new)

    def delete(self, resource: Resource, space: str, title: str, *, uid_is: str = "", grace: int | None = None) -> None:
        """Asks for deletion; a `grace` of 0 seconds takes a Pod away at once.

        A bound Pod stays, terminating, until the kubelet deletes it with a grace of 0; whatever has finalizers stays
        until the last one is removed. Raises NotFound, and Conflict where `uid_is` is not the object's.
        """
        old = self._stored(resource, space, title)
        if uid_is and uid(old) != uid_is:
            raise Conflict(f'{resource.qualified} "{title}": the UID {uid_is} in the precondition is another object\'s')
        seconds = _grace(resource, old) if grace is None else grace
        new = clone(old)
        if not terminating(old):
            due = times.render(self._clock.now() + timedelta(seconds=seconds))
            new["metadata"] |= {"deletionTimestamp": due, "deletionGracePeriodSeconds": seconds}
            if resource.generation:
                new["metadata"]["generation"] += 1
        elif seconds == 0:
            new["metadata"]["deletionGracePeriodSeconds"] = 0
        self._replace(resource, old, new)

    def _replace(self, resource: Resource, old: JSON, new: JSON) -> JSON:
        waits = resource.key == _POD and meta(new).get("deletionGracePeriodSeconds", 0) > 0
        if terminating(new) and not finalizers(new) and not waits:
            return self._drop(resource, old, new)
        if same(old, new):
            return dict(clone(old))
        return self._put(resource, old, new)


def _check_current(resource: Resource, old: JSON, obj: JSON) -> None:
    for field in ("uid", "resourceVersion"):
        stated = meta(obj).get(field)
        if stated is not None and stated != old["metadata"][field]:
            raise Conflict(
                f'Operation cannot be fulfilled on {resource.qualified} "{name(obj)}": the object has been modified; '
                "please apply your changes to the latest version and try again"
            )


def _keep_system_fields(new: JSON, old: JSON) -> None:
    for field in (*_SYSTEM, "resourceVersion"):
        new.pop(field, None)
        if field in old:
            new[field] = old[field]


def _content(obj: JSON) -> JSON:
    """What generation counts: everything but metadata and status."""
    return {key: value for key, value in obj.items() if key not in {"metadata", "status"}}


def _grace(resource: Resource, obj: JSON) -> int:
    """Seconds of grace: none but for a Pod that is bound to a node and has not ended."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    if resource.key != _POD or not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    return int(spec.get("terminationGracePeriodSeconds", 30))
