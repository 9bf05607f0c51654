"""Garbage collection: what all owners have left goes too, in the background.

An owner is looked for in the dependent's own namespace, so a child made in another namespace than its parent's is
collected as well. Foreground deletion and orphaning are not imitated.
"""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import ApiError, NotFound
from app.local.store import Store
from app.local.table import Change
from app.local.values import meta, name, namespace, owners, same, terminating, uid

# From the owner's end, or a dependent's appearance, to the collector's look at it.
DELAY = 0.06


class Collector:
    """Watches the store for owners that go and for dependents whose owner never was."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.type == "DELETED":
            for dependent in self._store.dependents(uid(change.new)):
                self._look_later(dependent)
        elif owners(change.new) and (change.old is None or not same(owners(change.old), owners(change.new))):
            self._look_later(change.new)

    def _look_later(self, dependent: JSON) -> None:
        self._clock.after(DELAY, lambda: self._look(dependent))

    def _look(self, seen: JSON) -> None:
        resource = self._store.discovery.of(seen)
        obj = self._store.find(resource, namespace(seen), name(seen))
        if obj is None or uid(obj) != uid(seen) or not owners(obj):
            return
        present = [reference for reference in owners(obj) if self._exists(obj, reference)]
        if not present and not terminating(obj):
            self._store.delete(resource, namespace(obj), name(obj), uid_is=uid(obj))
        elif present and len(present) < len(owners(obj)):
            self._store.update({**obj, "metadata": {**meta(obj), "ownerReferences": present}})

    def _exists(self, dependent: JSON, reference: JSON) -> bool:
        try:
            kind = self._store.discovery.kind(str(reference.get("apiVersion")), str(reference.get("kind")))
            owner = self._store.get(kind, namespace(dependent), str(reference.get("name")))
        except NotFound:
            return False
        except ApiError:
            return True  # a kind that is not served: the real collector does not know, and so deletes nothing
        return uid(owner) == reference.get("uid")
