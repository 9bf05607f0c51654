"""The objects that a store holds, their indexes and watches: reads only, each of them a copy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.kube.hook import JSON
from app.local.errors import NotFound
from app.local.index import OwnerIndex, Place
from app.local.resources import Discovery, Resource
from app.local.values import clone, meta, name, namespace, uid


@dataclass(frozen=True, slots=True)
class Change:
    """One watched change. `old` is None for ADDED; for DELETED `new` is the last state. Both are only to be read."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    resource: Resource
    old: JSON | None
    new: JSON


Watcher = Callable[[Change], None]


class Table:
    """What is stored, by kind, namespace and name. A stored dict is replaced on write, never changed in place."""

    def __init__(self, discovery: Discovery) -> None:
        self.discovery = discovery
        self._objects: dict[str, dict[tuple[str, str], JSON]] = {}
        self._index = OwnerIndex()
        self._watchers: list[Watcher] = []
        self._version = 0
        self._versions: dict[str, list[tuple[str, str, str, int]]] = {}

    def watch(self, watcher: Watcher) -> None:
        """Calls `watcher` with every change from now on, in order. It may look and schedule, not write."""
        self._watchers.append(watcher)

    def get(self, resource: Resource, space: str, title: str) -> JSON:
        """The object of that namespace and name. Raises NotFound."""
        return dict(clone(self._stored(resource, space, title)))

    def find(self, resource: Resource, space: str, title: str) -> JSON | None:
        """The object of that namespace and name, or None."""
        found = self._objects.get(resource.key, {}).get((space if resource.namespaced else "", title))
        return None if found is None else dict(clone(found))

    def all_of(self, resource: Resource, space: str | None = None) -> list[JSON]:
        """All objects of a kind, of one namespace where it is given, sorted by namespace and name."""
        held = self._objects.get(resource.key, {})
        return [clone(held[place]) for place in sorted(held) if space is None or place[0] == space]

    def versions(self, resource: Resource) -> list[tuple[str, str, str, int]]:
        """Namespace, name, UID and generation of all objects of a kind, sorted: cheap where nothing else is needed."""
        found = self._versions.get(resource.key)
        if found is None:
            held = self._objects.get(resource.key, {})
            found = [(*place, uid(held[place]), meta(held[place]).get("generation", 0)) for place in sorted(held)]
            self._versions[resource.key] = found
        return found

    def owned_by(self, owner: str, resource: Resource) -> list[JSON]:
        """The objects of a kind that name the UID `owner` as an owner."""
        return [self._at(place) for place in self._index.owned_by(owner) if place[0] == resource.key]

    def orphans(self, resource: Resource, space: str | None) -> list[JSON]:
        """The objects of a kind that have no controller, of one namespace where it is given."""
        return [self._at(place) for place in self._index.orphans(resource.key, space)]

    def dependents(self, owner: str) -> list[JSON]:
        """The objects of every kind that name the UID `owner` as an owner."""
        return [self._at(place) for place in self._index.owned_by(owner)]

    def _at(self, place: Place) -> JSON:
        return dict(clone(self._objects[place[0]][place[1:]]))

    def _stored(self, resource: Resource, space: str, title: str) -> JSON:
        try:
            return self._objects[resource.key][space if resource.namespaced else "", title]
        except KeyError:
            raise NotFound(f'{resource.qualified} "{title}" not found') from None

    def _put(self, resource: Resource, old: JSON | None, new: JSON) -> JSON:
        self._version += 1
        new["metadata"]["resourceVersion"] = str(self._version)
        place: Place = (resource.key, namespace(new), name(new))
        if old is None or meta(old).get("generation") != meta(new).get("generation"):
            self._versions.pop(resource.key, None)
        if old is not None:
            self._index.remove(place, old)
        self._index.add(place, new)
        self._objects.setdefault(resource.key, {})[place[1:]] = new
        self._tell(Change("ADDED" if old is None else "MODIFIED", resource, old, new))
        return dict(clone(new))

    def _drop(self, resource: Resource, old: JSON, new: JSON) -> JSON:
        place: Place = (resource.key, namespace(old), name(old))
        self._version += 1
        del self._objects[resource.key][place[1:]]
        self._index.remove(place, old)
        self._versions.pop(resource.key, None)
        self._tell(Change("DELETED", resource, old, new))
        return dict(clone(new))

    def _tell(self, change: Change) -> None:
        for watcher in self._watchers:
            watcher(change)
