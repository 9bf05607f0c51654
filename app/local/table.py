"""The objects that a store holds, their indexes and watches: reads only.

A stored dict is replaced on write, never changed in place. `get`, `find` and `all_of` give copies; what `look`,
`owned_by`, `orphans`, `dependents` and the watches give is the stored dict itself, to be read and not to be changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from app.kube.hook import JSON
from app.local.errors import NotFound
from app.local.index import OwnerIndex, Place
from app.local.resources import Discovery, Resource
from app.local.values import clone, meta, name, namespace, uid


@dataclass(frozen=True, slots=True)
class Change:
    """One watched change. `old` is None for ADDED; for DELETED `new` is the last state. Neither may be changed."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    resource: Resource
    old: JSON | None
    new: JSON


Watcher = Callable[[Change], None]


class Table:
    """What is stored, by kind, namespace and name."""

    def __init__(self, discovery: Discovery) -> None:
        self.discovery = discovery
        self._objects: dict[str, dict[tuple[str, str], JSON]] = {}
        self._index = OwnerIndex()
        self._watchers: list[Watcher] = []
        self._version = 0
        self._versions: dict[str, list[tuple[str, str, str, int]]] = {}

    def watch(self, watcher: Watcher) -> None:
        """Calls `watcher` with every change from now on, in the order of resourceVersions.

        It may look and schedule, not write: what it writes would come before what it is being told.
        """
        self._watchers.append(watcher)

    def get(self, resource: Resource, space: str, title: str) -> JSON:
        """A copy of the object of that namespace and name. Raises NotFound."""
        return dict(clone(self._stored(resource, space, title)))

    def find(self, resource: Resource, space: str, title: str) -> JSON | None:
        """A copy of the object of that namespace and name, or None."""
        found = self.look(resource, space, title)
        return None if found is None else dict(clone(found))

    def all_of(self, resource: Resource, space: str | None = None) -> list[JSON]:
        """Copies of all objects of a kind, of one namespace where it is given, sorted by namespace and name."""
        return [clone(one) for one in self.look_all(resource, space)]

    def look(self, resource: Resource, space: str, title: str) -> JSON | None:
        """The object of that namespace and name as it is stored, or None."""
        return self._objects.get(resource.key, {}).get((space if resource.namespaced else "", title))

    def look_all(self, resource: Resource, space: str | None = None) -> Iterator[JSON]:
        """All objects of a kind as they are stored, of one namespace where it is given, sorted by both names."""
        held = self._objects.get(resource.key, {})
        return (held[place] for place in sorted(held) if space is None or place[0] == space)

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

    def contents(self, space: str) -> list[JSON]:
        """The objects of every kind in a namespace, sorted by kind and name."""
        found = [(key, place) for key, held in self._objects.items() for place in held if place[0] == space]
        return [self._objects[key][place] for key, place in sorted(found)]

    def _at(self, place: Place) -> JSON:
        return self._objects[place[0]][place[1:]]

    def _stored(self, resource: Resource, space: str, title: str) -> JSON:
        found = self.look(resource, space, title)
        if found is None:
            raise NotFound(f'{resource.qualified} "{title}" not found')
        return found

    def _put(self, resource: Resource, old: JSON | None, new: JSON) -> JSON:
        new["metadata"]["resourceVersion"] = self._next_version()
        place: Place = (resource.key, namespace(new), name(new))
        if old is None or meta(old).get("generation") != meta(new).get("generation"):
            self._versions.pop(resource.key, None)
        if old is not None:
            self._index.remove(place, old)
        self._index.add(place, new)
        self._objects.setdefault(resource.key, {})[place[1:]] = new
        self._tell(Change("ADDED" if old is None else "MODIFIED", resource, old, new))
        return new

    def _drop(self, resource: Resource, old: JSON, new: JSON) -> JSON:
        new["metadata"]["resourceVersion"] = self._next_version()
        place: Place = (resource.key, namespace(old), name(old))
        del self._objects[resource.key][place[1:]]
        self._index.remove(place, old)
        self._versions.pop(resource.key, None)
        self._tell(Change("DELETED", resource, old, new))
        return new

    def _next_version(self) -> str:
        self._version += 1
        return str(self._version)

    def _tell(self, change: Change) -> None:
        for watcher in self._watchers:
            watcher(change)
