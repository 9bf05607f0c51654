"""The namespace controller: a namespace that is deleted goes once everything in it is gone."""

from app.local.clock import Clock
from app.local.errors import NotFound
from app.local.store import Store
from app.local.table import Change
from app.local.values import name, namespace, terminating, uid

DELAY = 0.1


class Namespaces:
    """Watches namespaces that are being deleted, and what is left in them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kind = store.discovery.kind("v1", "Namespace")
        self._emptied: set[str] = set()
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == self._kind.key:
            if change.type == "DELETED":
                self._emptied.discard(name(change.new))
            elif terminating(change.new) and not terminating(change.old or {}):
                self._emptied.add(name(change.new))
                self._clock.after(DELAY, lambda: self._empty(name(change.new)))
        elif change.type == "DELETED" and namespace(change.new) in self._emptied:
            self._clock.after(DELAY, lambda: self._empty(namespace(change.new)))

    def _empty(self, space: str) -> None:
        found = self._store.look(self._kind, "", space)
        if found is None or space not in self._emptied:
            return
        for obj in self._store.contents(space):
            if not terminating(obj):
                self._store.delete(self._store.discovery.of(obj), space, name(obj), uid_is=uid(obj))
        if not self._store.contents(space):
            try:
                self._store.finalize_namespace(space)
            except NotFound:
                return
