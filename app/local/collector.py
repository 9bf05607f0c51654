"""Garbage collection: what all owners have left goes too, in the background; foreground deletion and orphaning.

An owner is looked for in the dependent's own namespace, so a child made in another namespace than its parent's is
collected as well; a cluster-scoped object that names a namespaced owner is left alone. Kinds are those of the last
discovery: an owner of a kind that came since keeps its dependents until then.
"""

from app.kube.hook import JSON
from app.local.client import Client
from app.local.clock import Clock
from app.local.deletion import FOREGROUND, ORPHAN
from app.local.errors import ApiError, Conflict, NotFound, UnknownKind
from app.local.resources import KnownKinds
from app.local.store import Store
from app.local.table import Change
from app.local.values import finalizers, meta, name, namespace, owners, same, terminating, uid

# From the owner's end, or a dependent's appearance, to the collector's look at it.
DELAY = 0.06


class Collector:
    """Watches the store for owners that go and for dependents whose owner never was."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._kinds = KnownKinds(store.discovery, clock)
        self._api = Client(store, self._kinds, "kube-controller-manager")
        self._store = store
        self._clock = clock
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        obj = change.new
        if change.type == "DELETED":
            for dependent in self._store.dependents(uid(obj)):
                self._look_later(dependent)
            self._release_owners(obj)
        elif _is_ours(obj) or (owners(obj) and (change.old is None or not same(owners(change.old), owners(obj)))):
            self._look_later(obj)

    def _release_owners(self, dependent: JSON) -> None:
        """A dependent is gone: an owner in foreground deletion may have waited for it."""
        for reference in owners(dependent):
            owner = self._owner(dependent, reference)
            if owner is not None and _in_foreground(owner):
                self._look_later(owner)

    def _look_later(self, obj: JSON, after: float = 0) -> None:
        self._clock.after(after + DELAY, lambda: self._look(obj))

    def _look(self, seen: JSON) -> None:
        try:
            resource = self._kinds.of(seen)
        except UnknownKind:
            self._look_later(seen, self._kinds.until_refresh())
            return
        obj = self._store.look(resource, namespace(seen), name(seen))
        if obj is None or uid(obj) != uid(seen):
            return
        try:
            if not terminating(obj):
                self._judge(obj)
            elif ORPHAN in finalizers(obj):
                self._orphan(obj)
            elif _in_foreground(obj):
                self._hold(obj)
        except UnknownKind:
            self._look_later(obj, self._kinds.until_refresh())
        except (NotFound, Conflict):
            return  # it went or changed meanwhile, which is seen for itself

    def _judge(self, obj: JSON) -> None:
        """Deletes what has no owner left that stays."""
        solid: list[JSON] = []
        waiting: list[JSON] = []
        for reference in owners(obj):
            owner = self._existing(obj, reference)
            if owner is not None:
                (waiting if _in_foreground(owner) else solid).append(reference)
        if not owners(obj) or len(solid) == len(owners(obj)):
            return
        if solid:
            self._api.update({**obj, "metadata": {**meta(obj), "ownerReferences": solid}})
            return
        in_foreground = bool(waiting) and bool(self._store.dependents(uid(obj)))
        self._api.delete(self._kinds.of(obj), obj, "Foreground" if in_foreground else "Background")

    def _existing(self, dependent: JSON, reference: JSON) -> JSON | None:
        """The owner, None where it is gone. Raises UnknownKind where the collector does not know its kind (yet)."""
        kind = self._kinds.kind(str(reference.get("apiVersion")), str(reference.get("kind")))
        if kind.namespaced and not namespace(dependent):
            return reference  # no such owner can be: the real collector complains and deletes nothing
        owner = self._store.look(kind, namespace(dependent), str(reference.get("name")))
        return owner if owner is not None and uid(owner) == reference.get("uid") else None

    def _owner(self, dependent: JSON, reference: JSON) -> JSON | None:
        try:
            return self._existing(dependent, reference)
        except ApiError:
            return None

    def _hold(self, owner: JSON) -> None:
        """Foreground: the owner goes once nothing that blocks it is left; its dependents are looked at meanwhile."""
        dependents = self._store.dependents(uid(owner))
        blocking = [one for one in dependents if _blocks(one, owner)]
        if not blocking:
            self._drop_finalizer(owner, FOREGROUND)
        for dependent in dependents:
            if not terminating(dependent):
                self._look_later(dependent)

    def _orphan(self, owner: JSON) -> None:
        """Takes the references to the owner off its dependents, then lets it go."""
        for dependent in self._store.dependents(uid(owner)):
            left = [one for one in owners(dependent) if one.get("uid") != uid(owner)]
            metadata = {key: value for key, value in meta(dependent).items() if key != "ownerReferences"}
            self._api.update({**dependent, "metadata": metadata | ({"ownerReferences": left} if left else {})})
        self._drop_finalizer(owner, ORPHAN)

    def _drop_finalizer(self, obj: JSON, finalizer: str) -> None:
        held = [one for one in finalizers(obj) if one != finalizer]
        metadata = {key: value for key, value in meta(obj).items() if key != "finalizers"}
        self._api.update({**obj, "metadata": metadata | ({"finalizers": held} if held else {})})


def _is_ours(obj: JSON) -> bool:
    """Whether a deletion waits for the collector."""
    return terminating(obj) and bool({FOREGROUND, ORPHAN} & set(finalizers(obj)))


def _in_foreground(owner: JSON) -> bool:
    return terminating(owner) and FOREGROUND in finalizers(owner)


def _blocks(dependent: JSON, owner: JSON) -> bool:
    return any(one.get("uid") == uid(owner) and one.get("blockOwnerDeletion") is True for one in owners(dependent))
