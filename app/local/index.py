"""Who owns what: the index by owner UID that claims and garbage collection look things up in."""

from app.kube.hook import JSON
from app.local.values import controller_of, owners

# A stored object's place: kind key, namespace, name.
Place = tuple[str, str, str]


class OwnerIndex:
    """Places by the UID of an owner, and the orphans (no controller) by kind and namespace."""

    def __init__(self) -> None:
        self._owned: dict[str, set[Place]] = {}
        self._orphans: dict[tuple[str, str], set[Place]] = {}

    def add(self, place: Place, obj: JSON) -> None:
        """Records an object as it is now; `remove` its former state first."""
        for owner in owners(obj):
            self._owned.setdefault(str(owner.get("uid")), set()).add(place)
        if controller_of(obj) is None:
            self._orphans.setdefault(place[:2], set()).add(place)

    def remove(self, place: Place, obj: JSON) -> None:
        """Forgets the object as it was."""
        for owner in owners(obj):
            self._owned.get(str(owner.get("uid")), set()).discard(place)
        self._orphans.get(place[:2], set()).discard(place)

    def owned_by(self, uid: str) -> list[Place]:
        """Places of the objects that name this owner, sorted."""
        return sorted(self._owned.get(uid, ()))

    def orphans(self, kind_key: str, namespace: str | None) -> list[Place]:
        """Places of the objects of a kind that have no controller, of one namespace or of all, sorted."""
        if namespace is not None:
            return sorted(self._orphans.get((kind_key, namespace), ()))
        return sorted(place for key, places in self._orphans.items() if key[0] == kind_key for place in places)
