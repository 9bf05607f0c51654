"""Metacontroller's loop for one CompositeController object: what one sync of a parent does.

The order of a sync is the real one's: finalizer, claim, customize, hook, resync timer, finalized, children, status.
"""

from collections.abc import Callable, Mapping

import httpx

from app.kube.hook import JSON
from app.local import answers
from app.local.children import METHODS, ManageError, desired_map, manage
from app.local.claims import claim, selector_of
from app.local.clock import Clock
from app.local.errors import ApiError, Conflict, NotFound
from app.local.events import EventRecorder
from app.local.related import ObjectMap, Related, RuleError
from app.local.resources import Resource
from app.local.selectors import SelectorError
from app.local.store import Store
from app.local.table import Change
from app.local.triggers import Triggers, finalizer_of
from app.local.values import finalizers, listed, mapping, meta, name, namespace, qualified, same, terminating, uid
from app.local.webhook import ControllerInvalid, HookError, TooManyRequests, Webhook, authorization
from app.local.workqueue import WorkQueue

_GC_FINALIZERS = frozenset({"foregroundDeletion", "orphan"})


class SyncError(Exception):
    """A sync that failed; the message is the one of the event, without its prefix."""


class CompositeController:
    """A running controller. Construction raises ControllerInvalid or UnknownKind where the real one does not start."""

    def __init__(
        self, store: Store, clock: Clock, events: EventRecorder, client: httpx.Client, controller: JSON
    ) -> None:
        spec = mapping(controller.get("spec"))
        self._controller = controller
        self._store = store
        self._clock = clock
        self._events = events
        parents = mapping(spec.get("parentResource"))
        self._kind = store.discovery.resource(str(parents.get("apiVersion")), str(parents.get("resource")))
        self._children, self._strategies = _child_rules(store, spec)
        hooks = mapping(spec.get("hooks"))
        self._sync_hook, self._finalize_hook, customize = (
            _webhook(hook, store, clock, client, controller) if hook in hooks else None
            for hook in ("sync", "finalize", "customize")
        )
        self._related = Related(store, clock, controller, customize)
        self._finalizer = finalizer_of(controller)
        self._queue = WorkQueue(clock, self._process)
        self._triggers = Triggers(store, controller, self._kind, self._children, self._related, self._queue.add)
        self._stopped = False
        self._enqueue_all()
        if spec.get("resyncPeriodSeconds"):
            self._resync(max(1.0, float(spec["resyncPeriodSeconds"])))

    def _resync(self, period: float) -> None:
        def tick() -> None:
            if self._stopped:
                return
            self._enqueue_all()
            self._clock.after(period, tick)

        self._clock.after(period, tick)

    def _enqueue_all(self) -> None:
        for parent in self._store.all_of(self._kind):
            self._triggers.enqueue(parent)

    @property
    def failing(self) -> list[str]:
        """`namespace/name` of the parents whose last sync failed."""
        return self._queue.failing

    def on_change(self, change: Change) -> None:
        """Queues the parents that a change concerns."""
        self._triggers.on_change(change)

    def stop(self) -> None:
        """Syncs no parent any more."""
        self._stopped = True

    def _process(self, key: str) -> None:
        space, _, title = key.rpartition("/")
        parent = self._store.find(self._kind, space, title)
        if self._stopped or parent is None or not self._triggers.concerns_us(parent):
            self._queue.forget(key)
            return
        self._attempt(key, parent, lambda: self._sync(key, parent))

    def _attempt(self, key: str, parent: JSON, act: Callable[[], bool]) -> None:
        """A sync, or what was left of it: `act` says whether it is done. Failures are told and tried again."""
        try:
            done = act()
        except TooManyRequests as busy:
            self._queue.add_after(key, busy.after)
        except (SyncError, HookError, ManageError, ApiError, SelectorError, RuleError) as error:
            self._events.warn(parent, "SyncError", f"Sync error: {error}")
            self._queue.add_rate_limited(key)
        else:
            if done:
                self._queue.forget(key)

    def _sync(self, key: str, parent: JSON) -> bool:
        parent = self._sync_finalizer(parent)
        if not self._triggers.concerns_us(parent):
            return True
        observed = self._claim(parent)
        related = self._related.objects(parent)
        hook = self._hook_for(parent)
        try:
            answer = self._call(hook, parent, observed, related)
        except SyncError as error:
            failure = error
            return self._when_heard(key, parent, hook.seconds, lambda: _fail(failure))
        return self._when_heard(key, parent, hook.seconds, lambda: self._carry_out(key, parent, observed, answer))

    def _when_heard(self, key: str, parent: JSON, seconds: float, act: Callable[[], bool]) -> bool:
        """Acts once the answer has come; meanwhile the parent is not synced, and what was observed grows old."""
        if not seconds:
            return act()

        def heard() -> None:
            self._queue.release(key)
            if not self._stopped:
                self._attempt(key, parent, act)

        self._queue.hold(key)
        self._clock.after(seconds, heard)
        return False

    def _carry_out(self, key: str, parent: JSON, observed: ObjectMap, answer: JSON) -> bool:
        if answer.get("resyncAfterSeconds", 0) > 0:
            self._queue.add_after(key, float(answer["resyncAfterSeconds"]))
        if answer.get("finalized"):
            parent = self._write_finalizers(parent, [one for one in finalizers(parent) if one != self._finalizer])
        desired = desired_map(self._controller, parent, answer.get("children", []))
        failed: ManageError | None = None
        if not terminating(parent) or self._manages_while_deleting(parent):
            try:
                manage(self._store, self._strategies, parent, observed, desired)
            except ManageError as error:
                failed = error
        self._write_status(parent, answer.get("status", {}))
        if failed is not None:
            raise SyncError(f"can't reconcile children for {self._identity(parent)}: {failed}")
        return True

    def _identity(self, parent: JSON) -> str:
        return f"{self._kind.kind} {namespace(parent)}/{name(parent)}"

    def _sync_finalizer(self, parent: JSON) -> JSON:
        wanted, present = self._finalize_hook is not None, self._finalizer in finalizers(parent)
        if wanted == present or (wanted and terminating(parent)):
            return parent
        others = [one for one in finalizers(parent) if one != self._finalizer]
        return self._write_finalizers(parent, [*others, self._finalizer] if wanted else others)

    def _write_finalizers(self, parent: JSON, wanted: list[str]) -> JSON:
        current = self._store.get(self._kind, namespace(parent), name(parent))
        if wanted:
            current["metadata"]["finalizers"] = wanted
        else:
            current["metadata"].pop("finalizers", None)
        return self._store.update(current)

    def _claim(self, parent: JSON) -> ObjectMap:
        selector = selector_of(self._controller, parent)
        return {
            key: {qualified(child): child for child in claim(self._store, parent, resource, selector)}
            for key, resource in self._children.items()
        }

    def _finalizing(self, parent: JSON) -> bool:
        return self._finalize_hook is not None and (terminating(parent) or not self._triggers.selected(parent))

    def _hook_for(self, parent: JSON) -> Webhook:
        hook = self._finalize_hook if self._finalizing(parent) else self._sync_hook
        if hook is None:
            raise SyncError(f"sync hook not defined for {self._identity(parent)}")
        return hook

    def _call(self, hook: Webhook, parent: JSON, observed: ObjectMap, related: ObjectMap) -> JSON:
        request = {
            "controller": self._controller,
            "parent": parent,
            "children": observed,
            "related": related,
            "finalizing": self._finalizing(parent),
        }
        try:
            return hook.call(request, answers.COMPOSITE, "CompositeHookResponse")
        except HookError as error:
            words = f"sync hook failed for {self._identity(parent)}: {hook.hook} hook failed (version=v2): {error}"
            raise SyncError(words) from error

    def _manages_while_deleting(self, parent: JSON) -> bool:
        held = finalizers(parent)
        return self._finalize_hook is not None and self._finalizer in held and not _GC_FINALIZERS & set(held)

    def _write_status(self, parent: JSON, status: JSON) -> None:
        """Writes the whole status with observedGeneration; a parent that went meanwhile is no error."""
        wanted = {**status, "observedGeneration": meta(parent).get("generation", 0)}
        try:
            current = self._store.get(self._kind, namespace(parent), name(parent))
            if uid(current) == uid(parent) and not same(current.get("status"), wanted):
                self._store.update_status({**current, "status": wanted})
        except (NotFound, Conflict):
            return
        except ApiError as error:
            raise SyncError(f"can't update status for {self._identity(parent)}: {error}") from error


def _fail(error: SyncError) -> bool:
    raise error


def _child_rules(store: Store, spec: JSON) -> tuple[dict[str, Resource], dict[str, str]]:
    """The child kinds and the update method of each, by kind key."""
    kinds: dict[str, Resource] = {}
    methods: dict[str, str] = {}
    for rule in listed(spec.get("childResources")):
        resource = store.discovery.resource(rule["apiVersion"], rule["resource"])
        method = mapping(rule.get("updateStrategy")).get("method") or "OnDelete"
        if method not in METHODS:
            raise ControllerInvalid(f"update strategy {method!r} of {rule['resource']} is not imitated here")
        kinds[resource.key], methods[resource.key] = resource, method
    return kinds, methods


def _webhook(hook: str, store: Store, clock: Clock, client: httpx.Client, controller: JSON) -> Webhook:
    spec: Mapping[str, JSON] = controller["spec"]["hooks"][hook]
    header = authorization(store, controller, mapping(spec.get("webhook")))
    return Webhook(hook, dict(spec), header, client, clock)
