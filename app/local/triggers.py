"""When a parent is synced: which changes in the store concern which parents of one controller."""

from collections.abc import Callable, Container

from app.kube.hook import JSON
from app.local.claims import selector_of
from app.local.related import Related
from app.local.resources import Resource
from app.local.selectors import SelectorError, matches
from app.local.store import Store
from app.local.table import Change
from app.local.values import (
    controller_of,
    finalizers,
    labels,
    mapping,
    meta,
    name,
    namespace,
    qualified,
    same,
    terminating,
    uid,
)


def finalizer_of(controller: JSON) -> str:
    """The finalizer that a controller with a finalize hook puts on its parents."""
    return f"metacontroller.io/compositecontroller-{name(controller)}"


class Triggers:
    """Queues parents: `queue` is called with the `namespace/name` of each that a change concerns."""

    def __init__(
        self,
        store: Store,
        controller: JSON,
        parents: Resource,
        children: Container[str],
        related: Related,
        queue: Callable[[str], None],
    ) -> None:
        self._store = store
        self._controller = controller
        self._rule = mapping(mapping(controller.get("spec")).get("parentResource"))
        self._kind = parents
        self._children = children
        self._related = related
        self._queue = queue

    def on_change(self, change: Change) -> None:
        """Queues the parents that a change concerns."""
        if change.resource.key == self._kind.key and not self._is_own_status_write(change):
            self.enqueue(change.new)
        if change.resource.key in self._children:
            self._on_child(change)
        if self._related.watches(change.resource):
            for parent in self._related.interested(self._kind, change):
                self.enqueue(parent)

    def _is_own_status_write(self, change: Change) -> bool:
        """With `ignoreStatusChanges`: an update of neither generation, labels nor annotations, of a live parent."""
        if not self._rule.get("ignoreStatusChanges") or change.type != "MODIFIED" or change.old is None:
            return False
        seen = ("generation", "labels", "annotations")
        unchanged = all(same(meta(change.old).get(field), meta(change.new).get(field)) for field in seen)
        return unchanged and not terminating(change.new)

    def _on_child(self, change: Change) -> None:
        child = change.new
        reference = controller_of(child)
        if reference is not None:
            self._enqueue_owner(child, reference)
            return
        if terminating(child) or change.type == "DELETED":
            return
        for parent in self._store.all_of(self._kind, namespace(child) if self._kind.namespaced else None):
            if self._could_adopt(parent, child):
                self.enqueue(parent)

    def _enqueue_owner(self, child: JSON, reference: JSON) -> None:
        group = str(reference.get("apiVersion", "")).partition("/")[0]
        if reference.get("kind") != self._kind.kind or group != self._kind.api_version.partition("/")[0]:
            return
        parent = self._store.find(self._kind, namespace(child), str(reference.get("name")))
        if parent is not None and uid(parent) == reference.get("uid"):
            self.enqueue(parent)

    def _could_adopt(self, parent: JSON, child: JSON) -> bool:
        try:
            return matches(selector_of(self._controller, parent), labels(child))
        except SelectorError:
            return False

    def enqueue(self, parent: JSON) -> None:
        """Queues a parent, if it is one of ours."""
        if self.concerns_us(parent):
            self._queue(qualified(parent))

    def concerns_us(self, parent: JSON) -> bool:
        """Whether the controller looks at this parent: its selector fits, or its finalizer still waits."""
        return finalizer_of(self._controller) in finalizers(parent) or self.selected(parent)

    def selected(self, parent: JSON) -> bool:
        """Whether the controller's label selector fits; without one every parent does."""
        return matches(mapping(self._rule.get("labelSelector")), labels(parent))
