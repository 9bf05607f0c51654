"""Metacontroller's loop for one CompositeController object: what one sync of a parent does.

The order of a sync is the real one's: finalizer, claim, customize, hook, resync timer, finalized, children, status.
"""

from collections.abc import Iterator

from app.kube.hook import JSON
from app.local.answers import COMPOSITE
from app.local.children import desired_map
from app.local.claims import claim, label, selector_of
from app.local.controller import Controller, Host, Steps, SyncError, identity
from app.local.errors import ApiError, Conflict, NotFound
from app.local.hooks import call
from app.local.index import Place
from app.local.parents import ParentRule
from app.local.related import ObjectMap
from app.local.selectors import SelectorError, matches
from app.local.triggers import Adopters
from app.local.values import labels, listed, mapping, meta, name, namespace, qualified, same, uid
from app.local.webhook import Call, HookError


class CompositeController(Controller):
    """A running controller. Construction raises ControllerInvalid, ControllerPanics or UnknownKind where it does not
    start."""

    def __init__(self, host: Host, controller: JSON) -> None:
        spec = mapping(controller.get("spec"))
        rule = ParentRule.of(host.client, mapping(spec.get("parentResource")))
        self._kind = rule.resource
        super().__init__(host, controller, [rule], listed(spec.get("childResources")), "compositecontroller")

    def _adopters(self) -> Adopters:
        def found(child: JSON) -> Iterator[JSON]:
            space = namespace(child) if self._kind.namespaced else None
            for parent in self.host.client.store.look_all(self._kind, space):
                if self._could_adopt(parent, child):
                    yield parent

        return found

    def _could_adopt(self, parent: JSON, child: JSON) -> bool:
        try:
            return matches(selector_of(self.controller, parent), labels(child))
        except SelectorError:
            return False

    def sync(self, place: Place, parent: JSON) -> Steps:
        """One sync of a parent."""
        parent = self.parents.with_finalizer(parent)
        if not self.parents.concerns_us(parent):
            return
        observed = self._claim(parent)
        related = yield from self.related.objects(parent)
        answer = yield from self._call(parent, observed, related)
        if answer.get("resyncAfterSeconds", 0) > 0:
            self.queue.add_after(place, float(answer["resyncAfterSeconds"]))
        if answer.get("finalized"):
            parent = self.parents.let_go(parent)
        desired = desired_map(parent, answer.get("children", []))
        label(self.controller, parent, (child for group in desired.values() for child in group.values()))
        failed = self.manage(parent, observed, desired)
        self._write_status(parent, answer.get("status", {}))
        if failed is not None:
            raise failed

    def _claim(self, parent: JSON) -> ObjectMap:
        selector = selector_of(self.controller, parent)
        return {
            resource.key: {qualified(child): child for child in claim(self.host.client, parent, resource, selector)}
            for resource in self.children.resources()
        }

    def _call(self, parent: JSON, observed: ObjectMap, related: ObjectMap) -> Call:
        finalizing = self.parents.finalizing(parent)
        hook = self.hooks.due(finalizing=finalizing)
        if hook is None:
            raise SyncError(f"sync hook nil//not defined for {identity(parent)}: %!w(<nil>)")
        request = {
            "controller": self.controller,
            "parent": parent,
            "children": observed,
            "related": related,
            "finalizing": finalizing,
        }
        try:
            return (yield from call(hook, request, parent, COMPOSITE))
        except HookError as error:
            raise HookError(f"sync hook failed for {identity(parent)}: {error}") from error

    def _write_status(self, parent: JSON, status: JSON) -> None:
        """Writes the whole status with observedGeneration; a parent that went meanwhile is no error."""
        wanted = {**status, "observedGeneration": meta(parent).get("generation", 0)}
        try:
            current = self.host.client.store.get(self._kind, namespace(parent), name(parent))
            if uid(current) == uid(parent) and not same(current.get("status"), wanted):
                self.host.client.update_status({**current, "status": wanted})
        except (NotFound, Conflict):
            return
        except ApiError as error:
            raise SyncError(f"can't update status for {identity(parent)}: {error}") from error
