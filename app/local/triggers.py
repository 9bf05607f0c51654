"""When a parent is synced: which changes in the store concern which parents of one controller."""

from collections.abc import Callable, Container, Iterable

from app.kube.hook import JSON
from app.local.index import Place
from app.local.parents import Parents
from app.local.related import Related
from app.local.table import Change
from app.local.values import controller_of, terminating

# The parents that may adopt an orphan.
Adopters = Callable[[JSON], Iterable[JSON]]


class Triggers:
    """Queues parents: `queue` is called with the place of each that a change concerns."""

    def __init__(
        self,
        parents: Parents,
        children: Container[str],
        related: Related,
        adopters: Adopters | None,
        queue: Callable[[Place], None],
    ) -> None:
        self._parents = parents
        self._keys = {resource.key for resource in parents.resources}
        self._children = children
        self._related = related
        self._adopters = adopters
        self._queue = queue

    def on_change(self, change: Change) -> None:
        """Queues the parents that a change concerns."""
        key = change.resource.key
        if key in self._keys and not self._parents.is_ignored(change):
            self.enqueue(change.new)
        if key in self._children:
            self._on_child(change)
        if self._related.watches(change.resource):
            for parent in self._related.interested(change):
                self.enqueue(parent)

    def _on_child(self, change: Change) -> None:
        child = change.new
        reference = controller_of(child)
        if reference is not None:
            owner = self._parents.owner(child, reference)
            if owner is not None:
                self.enqueue(owner)
        elif self._adopters is not None and not terminating(child) and change.type != "DELETED":
            for parent in self._adopters(child):
                self.enqueue(parent)

    def enqueue(self, parent: JSON) -> None:
        """Queues a parent, if it is one of ours."""
        if self._parents.concerns_us(parent):
            self._queue(self._parents.place(parent))
