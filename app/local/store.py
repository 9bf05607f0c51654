"""The API server's writes: what clients rely on when they create, update and delete.

UIDs, generations, finalizers and graceful deletion, optimistic concurrency, managedFields, status as a subresource.
UIDs come from a hash and a counter, so that the same run gives the same objects.
"""

import hashlib
import uuid

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.deletion import Propagation, begun, complete
from app.local.errors import AlreadyExists, Conflict, Forbidden, Invalid
from app.local.fields import track
from app.local.resources import Discovery, Resource
from app.local.table import Table
from app.local.values import clone, mapping, meta, name, namespace, same, terminating, uid
from app.local.writes import SYSTEM, check_current, counted, keep_system_fields, managed

# Letters of generated names: without vowels, so that they spell nothing.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Store(Table):
    """The objects and their writes. Refusals are `app.local.errors.ApiError`.

    `manager` is under which name managedFields record a write.
    """

    def __init__(self, clock: Clock, discovery: Discovery) -> None:
        super().__init__(discovery)
        self._clock = clock
        self._created = 0

    def create(self, obj: JSON, *, manager: str = "kubectl") -> JSON:
        """As `put_new`, and returns a copy."""
        return dict(clone(self.put_new(obj, manager)))

    def update(self, obj: JSON, *, manager: str = "kubectl") -> JSON:
        """As `put`, and returns a copy."""
        return dict(clone(self.put(obj, manager)))

    def update_status(self, obj: JSON, *, manager: str = "kubelet") -> JSON:
        """As `put_status`, and returns a copy."""
        return dict(clone(self.put_status(obj, manager)))

    def put_new(self, obj: JSON, manager: str) -> JSON:
        """Stores a new object and returns it as stored, which is not to be changed.

        Raises UnknownKind, NotFound (no such namespace), Forbidden (it is being deleted), BadRequest, Invalid, and only
        then AlreadyExists: a real API server validates before it looks whether the name is taken.
        """
        resource = self.discovery.of(obj)
        obj = self._named(resource, clone(obj))
        space = self._namespace_of(resource, obj)
        if resource.status:
            obj.pop("status", None)
        obj = resource.check(obj)
        if self.look(resource, space, name(obj)) is not None:
            raise AlreadyExists(f'{resource.qualified} "{name(obj)}" already exists')
        self._created += 1
        now = times.render(self._clock.now())
        own = {key: value for key, value in meta(obj).items() if key not in {*SYSTEM, "resourceVersion"}}
        obj["metadata"] = own | {"uid": self._new_uid(resource, space, name(obj)), "creationTimestamp": now}
        if resource.counted is not None:
            obj["metadata"]["generation"] = 1
        if resource.key == "Service.v1":
            self._assign_address(obj)
        obj["metadata"] |= managed(track(None, obj, manager, now))
        return self._put(resource, None, obj)

    def _named(self, resource: Resource, obj: JSON) -> JSON:
        metadata = obj.setdefault("metadata", {})
        if not name(obj) and metadata.get("generateName"):
            digest = hashlib.sha256(f"{self._created}/{resource.key}".encode()).digest()
            metadata["name"] = metadata["generateName"] + "".join(_LETTERS[one % len(_LETTERS)] for one in digest[:5])
        if not name(obj):
            raise Invalid(resource.kind, "", [("metadata.name", "Required value: name or generateName is required")])
        return obj

    def _namespace_of(self, resource: Resource, obj: JSON) -> str:
        if not resource.namespaced:
            meta(obj).pop("namespace", None)
            return ""
        space = namespace(obj)
        if not space:
            raise Invalid(resource.kind, name(obj), [("metadata.namespace", "Required value")])
        if terminating(self._stored(self.discovery.kind("v1", "Namespace"), "", space)):
            words = f"unable to create new content in namespace {space} because it is being terminated"
            raise Forbidden(f'{resource.qualified} "{name(obj)}" is forbidden: {words}')
        return space

    def _new_uid(self, resource: Resource, space: str, title: str) -> str:
        seed = f"{self._created}/{resource.key}/{space}/{title}"
        return str(uuid.UUID(bytes=hashlib.sha256(seed.encode()).digest()[:16], version=4))

    def _assign_address(self, service: JSON) -> None:
        if "clusterIP" not in service["spec"]:
            address = f"10.96.{self._created // 250 % 250}.{self._created % 250 + 1}"
            service["spec"] |= {"clusterIP": address, "clusterIPs": [address]}

    def put(self, obj: JSON, manager: str) -> JSON:
        """Replaces everything but the status (where that is a subresource) and system metadata.

        Returns it as stored, which is not to be changed.

        Raises NotFound, Conflict (another UID, or not the stored resourceVersion), BadRequest, Invalid. Without a
        difference nothing is written. The removal of the last finalizer completes a deletion.
        """
        resource = self.discovery.of(obj)
        old = self._stored(resource, namespace(obj), name(obj))
        check_current(resource, old, obj)
        obj = clone(obj)
        keep_system_fields(obj["metadata"], old["metadata"])
        if resource.status:
            obj.pop("status", None)
            obj |= {"status": old["status"]} if "status" in old else {}
        obj = resource.check(obj, old)
        if resource.counted is not None and not same(counted(resource, old), counted(resource, obj)):
            obj["metadata"]["generation"] = old["metadata"]["generation"] + 1
        obj["metadata"].pop("managedFields", None)
        obj["metadata"] |= managed(track(old, obj, manager, times.render(self._clock.now())))
        return self._replace(resource, old, obj)

    def put_status(self, obj: JSON, manager: str) -> JSON:
        """Replaces the status alone; returns the object as stored, which is not to be changed.

        Raises NotFound, Conflict, Invalid.
        """
        resource = self.discovery.of(obj)
        old = self._stored(resource, namespace(obj), name(obj))
        check_current(resource, old, obj)
        new = {**old, "status": clone(obj.get("status", {}))}
        if resource.custom:
            new = resource.check(new, old)
        entries = track(old, new, manager, times.render(self._clock.now()), "status")
        return self._replace(resource, old, {**new, "metadata": meta(old) | managed(entries)})

    def bind(self, pod: JSON, node: str) -> None:
        """The binding subresource: sets the node of a Pod. Like the real one it counts no generation and no manager."""
        resource = self.discovery.kind("v1", "Pod")
        old = self._stored(resource, namespace(pod), name(pod))
        self._replace(resource, old, {**old, "metadata": dict(meta(old)), "spec": {**old["spec"], "nodeName": node}})

    def delete(
        self,
        resource: Resource,
        space: str,
        title: str,
        *,
        uid_is: str = "",
        grace: int | None = None,
        propagation: Propagation | None = None,
    ) -> None:
        """Asks for deletion; a `grace` of 0 seconds takes a Pod away at once.

        A bound Pod stays, terminating, until the kubelet deletes it with a grace of 0; whatever has finalizers stays
        until the last one is removed. Raises NotFound, and Conflict where `uid_is` is not the object's.
        """
        old = self._stored(resource, space, title)
        if uid_is and uid(old) != uid_is:
            raise Conflict(
                f'Operation cannot be fulfilled on {resource.kind} "{title}": the UID in the precondition ({uid_is}) '
                f"does not match the UID in record ({uid(old)}). The object might have been deleted and then recreated"
            )
        self._replace(resource, old, begun(resource, old, self._clock.now(), grace, propagation))

    def finalize_namespace(self, title: str) -> None:
        """The finalize subresource of a namespace: nothing is left in it."""
        resource = self.discovery.kind("v1", "Namespace")
        old = self._stored(resource, "", title)
        spec = {key: value for key, value in mapping(old.get("spec")).items() if key != "finalizers"}
        self._replace(resource, old, {**old, "metadata": dict(meta(old)), "spec": spec})

    def _replace(self, resource: Resource, old: JSON, new: JSON) -> JSON:
        if complete(resource, new):
            return self._drop(resource, old, {**new, "metadata": dict(meta(new))})
        if same(old, new):
            return old
        return self._put(resource, old, new)
