"""The local store's interface over a real API server, so that `app.local`'s Metacontroller loop drives a real cluster.

What the loop lists comes from mirrors that watches keep up to date, as a real controller's caches are: a write shows
there only when the server has told of it. One object by name is asked of the server itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.deletion import Propagation
from app.local.errors import NotFound
from app.local.resources import Resource
from app.local.store import Store
from app.local.table import Change, Watcher
from app.local.values import clone, controller_of, meta, name, namespace, owners, uid
from tests.e2e.api import Api
from tests.e2e.follow import Follower
from tests.e2e.kinds import path_of

_Place = tuple[str, str]
_EVENT = "Event.v1"


class Mirror:
    """The objects of one kind as they were told last, and how that differs from before."""

    def __init__(self, resource: Resource, tell: Watcher) -> None:
        self._resource = resource
        self._tell = tell
        self.objects: dict[_Place, JSON] = {}

    def listed(self, found: list[JSON]) -> None:
        """All objects of the kind: what is missing has gone."""
        present = {(namespace(one), name(one)) for one in found}
        for place in self.objects.keys() - present:
            self.changed("DELETED", self.objects[place])
        for one in found:
            self.changed("MODIFIED", one)

    def changed(self, kind: str, obj: JSON) -> None:
        """One change, told to whoever watches."""
        place = (namespace(obj), name(obj))
        old = self.objects.get(place)
        if kind == "DELETED":
            if self.objects.pop(place, None) is not None:
                self._tell(Change("DELETED", self._resource, old, obj))
            return
        if old is not None and old["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]:
            return
        self.objects[place] = obj
        if old is not None and uid(old) != uid(obj):
            self._tell(Change("DELETED", self._resource, old, old))
            old = None
        self._tell(Change("ADDED" if old is None else "MODIFIED", self._resource, old, obj))


class RemoteStore(Store):
    """Every method of the local store, for the account of `api`. All but the followers runs in the clock's thread."""

    def __init__(self, api: Api, clock: Clock) -> None:
        super().__init__(clock, api.kinds)
        self._api = api
        self._time = clock
        self._listeners: list[Watcher] = []
        self._mirrors: dict[str, Mirror] = {}
        self._followers: list[Follower] = []
        self._telling = False
        # Metacontroller's account may write events, not read them.
        self._events: dict[tuple[str, str, str], JSON] = {}

    def close(self) -> None:
        """Ends the watches."""
        while self._followers:
            self._followers.pop().stop()

    def follow(self, resource: Resource) -> Mirror:
        """The mirror of a kind; its watch is begun here where there is none yet."""
        mirror = self._mirrors.get(resource.key)
        if mirror is None:
            mirror = self._mirrors[resource.key] = Mirror(resource, self._tell_all)
            follower = Follower(
                self._api,
                resource,
                lambda found: self._time.after(0, lambda: mirror.listed(found)),
                lambda kind, obj: self._time.after(0, lambda: mirror.changed(kind, obj)),
            )
            self._followers.append(follower)
            mirror.listed(follower.start())
        return mirror

    def _tell_all(self, change: Change) -> None:
        with self._looking_at_mirrors():
            for listener in list(self._listeners):
                listener(change)

    @contextmanager
    def _looking_at_mirrors(self) -> Iterator[None]:
        before, self._telling = self._telling, True
        try:
            yield
        finally:
            self._telling = before

    def watch(self, watcher: Watcher) -> None:
        """Calls `watcher` with every change of a followed kind from now on."""
        self._listeners.append(watcher)

    def get(self, resource: Resource, space: str, title: str) -> JSON:
        """The object as the server has it; to who is being told of a change, as the mirror has it. Raises NotFound."""
        if (resource.key, space, title) in self._events:
            return dict(clone(self._events[resource.key, space, title]))
        if self._telling and resource.key in self._mirrors:
            found = self.find(resource, space, title)
            if found is None:
                raise NotFound(f'{resource.qualified} "{title}" not found')
            return found
        return self._api.call("GET", path_of(resource, space, title))

    def look(self, resource: Resource, space: str, title: str) -> JSON | None:
        """The mirrored object of that namespace and name, or None; not to be changed."""
        return self.follow(resource).objects.get((space if resource.namespaced else "", title))

    def look_all(self, resource: Resource, space: str | None = None) -> Iterator[JSON]:
        """The mirrored objects of a kind, sorted by namespace and name; not to be changed."""
        held = self.follow(resource).objects
        return iter([held[place] for place in sorted(held) if space is None or place[0] == space])

    def find(self, resource: Resource, space: str, title: str) -> JSON | None:
        """A copy of the mirrored object of that namespace and name, or None."""
        found = self.look(resource, space, title)
        return None if found is None else dict(clone(found))

    def all_of(self, resource: Resource, space: str | None = None) -> list[JSON]:
        """Copies of the mirrored objects of a kind, sorted by namespace and name."""
        return [clone(one) for one in self.look_all(resource, space)]

    def versions(self, resource: Resource) -> list[tuple[str, str, str, int]]:
        """Namespace, name, UID and generation of the mirrored objects of a kind, sorted."""
        held = self.follow(resource).objects
        return [(*place, uid(held[place]), meta(held[place]).get("generation", 0)) for place in sorted(held)]

    def owned_by(self, owner: str, resource: Resource) -> list[JSON]:
        """The mirrored objects of a kind that name the UID `owner` as an owner."""
        return [one for one in self.look_all(resource) if any(ref.get("uid") == owner for ref in owners(one))]

    def orphans(self, resource: Resource, space: str | None) -> list[JSON]:
        """The mirrored objects of a kind that have no controller."""
        return [one for one in self.look_all(resource, space) if controller_of(one) is None]

    def dependents(self, owner: str) -> list[JSON]:
        """The mirrored objects, of the kinds that are followed, that name the UID `owner` as an owner."""
        kinds = [self._api.kinds.of_key(key) for key in sorted(self._mirrors)]
        return [one for resource in kinds for one in self.owned_by(owner, resource)]

    def contents(self, space: str) -> list[JSON]:
        """The mirrored objects of a namespace, of the kinds that are followed."""
        kinds = [self._api.kinds.of_key(key) for key in sorted(self._mirrors)]
        return [one for resource in kinds for one in self.look_all(resource, space)]

    # Every write is the account's own: the server records its agent as the manager.

    def create(self, obj: JSON, *, manager: str = "") -> JSON:
        """As `put_new`."""
        return self.put_new(obj, manager)

    def update(self, obj: JSON, *, manager: str = "") -> JSON:
        """As `put`."""
        return self.put(obj, manager)

    def update_status(self, obj: JSON, *, manager: str = "") -> JSON:
        """As `put_status`."""
        return self.put_status(obj, manager)

    def put_new(self, obj: JSON, manager: str) -> JSON:
        """Creates the object on the server."""
        return self._noted(self._api.create(obj))

    def put(self, obj: JSON, manager: str) -> JSON:
        """Replaces the object on the server; an event is patched."""
        if self.discovery.of(obj).key == _EVENT:
            return self._noted(self._api.patch(obj, {key: value for key, value in obj.items() if key != "metadata"}))
        return self._api.replace(obj)

    def _noted(self, obj: JSON) -> JSON:
        if self.discovery.of(obj).key == _EVENT:
            self._events[_EVENT, namespace(obj), name(obj)] = obj
        return obj

    def put_status(self, obj: JSON, manager: str) -> JSON:
        """Replaces the status of the object on the server."""
        return self._api.replace(obj, "status")

    def finalize_namespace(self, title: str) -> None:
        """Takes the server's own finalizer off a namespace."""
        space = self.get(self._api.kinds.of_key("Namespace.v1"), "", title)
        self._api.replace({**space, "spec": {}}, "finalize")

    def bind(self, pod: JSON, node: str) -> None:
        """Puts a Pod on a node."""
        self._api.bind(pod, node)

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
        """Asks the server for background deletion, which is all that the loop asks for."""
        assert propagation in {None, "Background"}
        identity = {"apiVersion": resource.api_version, "kind": resource.kind}
        self._api.delete({**identity, "metadata": {"namespace": space, "name": title}}, uid_is=uid_is, grace=grace)
