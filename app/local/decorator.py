"""Metacontroller's loop for one DecoratorController object: what one sync of a decorated object does.

It adopts nothing: its attachments are what it made itself, told by the owner and an annotation. Labels, annotations
and a status of the object are written only where the answer names them.
"""

from app.kube.hook import JSON
from app.local.answers import DECORATOR
from app.local.children import desired_map
from app.local.controller import Controller, Host, Steps, SyncError, identity
from app.local.errors import ApiError, Conflict, NotFound, UnknownKind
from app.local.hooks import call
from app.local.index import Place
from app.local.parents import ParentRule
from app.local.related import ObjectMap
from app.local.values import controller_of, finalizers, listed, mapping, meta, name, namespace, qualified, same, uid
from app.local.webhook import Call

ANNOTATION = "metacontroller.k8s.io/decorator-controller"


class DecoratorController(Controller):
    """A running controller. Construction raises ControllerInvalid, ControllerPanics or UnknownKind where it does not
    start."""

    def __init__(self, host: Host, controller: JSON) -> None:
        spec = mapping(controller.get("spec"))
        rules = [_rule(host, mapping(rule)) for rule in listed(spec.get("resources"))]
        super().__init__(host, controller, rules, listed(spec.get("attachments")), "decoratorcontroller")

    def sync(self, place: Place, parent: JSON) -> Steps:
        """One sync of an object."""
        parent = self.parents.with_finalizer(parent)
        if not self.parents.concerns_us(parent):
            return
        observed = self._attachments(parent)
        related = yield from self.related.objects(parent)
        answer = yield from self._call(parent, observed, related)
        desired = desired_map(parent, answer.get("attachments", []))
        if answer.get("resyncAfterSeconds", 0) > 0:
            self.queue.add_after(place, float(answer["resyncAfterSeconds"]))
        if not self._decorate(parent, answer):
            return
        for group in desired.values():
            for child in group.values():
                annotations = mapping(meta(child).get("annotations"))
                child["metadata"]["annotations"] = {**annotations, ANNOTATION: name(self.controller)}
        failed = self.manage(parent, observed, desired)
        if failed is not None:
            raise failed

    def _attachments(self, parent: JSON) -> ObjectMap:
        space = namespace(parent)
        return {
            resource.key: {
                qualified(one): one
                for one in self.host.client.store.owned_by(uid(parent), resource)
                if (not space or namespace(one) == space) and self._is_ours(parent, one)
            }
            for resource in self.children.resources()
        }

    def _is_ours(self, parent: JSON, child: JSON) -> bool:
        reference = controller_of(child)
        made_by = mapping(meta(child).get("annotations")).get(ANNOTATION)
        return reference is not None and reference.get("uid") == uid(parent) and made_by == name(self.controller)

    def _call(self, parent: JSON, observed: ObjectMap, related: ObjectMap) -> Call:
        finalizing = self.parents.finalizing(parent)
        hook = self.hooks.due(finalizing=finalizing)
        if hook is None:
            raise SyncError("no enabled hooks found")
        request = {
            "controller": self.controller,
            "object": parent,
            "attachments": observed,
            "related": related,
            "finalizing": finalizing,
        }
        return (yield from call(hook, request, parent, DECORATOR))

    def _decorate(self, parent: JSON, answer: JSON) -> bool:
        """Writes what the answer says of the object itself; False where it went or changed meanwhile."""
        status = mapping(parent.get("status"))
        wanted: JSON = {
            "labels": _edited(meta(parent).get("labels"), answer.get("labels", {})),
            "annotations": _edited(meta(parent).get("annotations"), answer.get("annotations", {})),
        }
        told = answer.get("status", status)
        changed = any(not same(mapping(meta(parent).get(field)), value) for field, value in wanted.items())
        if answer.get("finalized"):
            wanted["finalizers"] = self.parents.other_finalizers(parent)
            changed = changed or wanted["finalizers"] != finalizers(parent)
        if not changed and same(status, told):
            return True
        try:
            self._write(parent, wanted, None if same(status, told) else told)
        except (NotFound, Conflict):
            return False
        except ApiError as error:
            raise SyncError(f"can't update {identity(parent)}: {error}") from error
        return True

    def _write(self, parent: JSON, wanted: JSON, status: JSON | None) -> None:
        metadata = {key: value for key, value in {**meta(parent), **wanted}.items() if value or key not in wanted}
        new = {**parent, "metadata": metadata}
        resource = self.host.client.kinds.of(parent)
        if status is not None:
            new["status"] = status
            if resource.status:
                written = self.host.client.update_status(new)
                metadata["resourceVersion"] = meta(written)["resourceVersion"]
        self.host.client.update(new)


def _rule(host: Host, rule: JSON) -> ParentRule:
    try:
        return ParentRule.of(host.client, rule)
    except UnknownKind as error:
        words = f'can\'t find resource "{rule.get("resource")}" in apiVersion "{rule.get("apiVersion")}"'
        raise UnknownKind(words) from error


def _edited(texts: object, edits: JSON) -> JSON:
    """A map of texts after the answer's edits: null takes a key away."""
    edited = mapping(texts) | edits
    return {key: value for key, value in edited.items() if value is not None}
