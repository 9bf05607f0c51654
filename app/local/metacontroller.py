"""Metacontroller's process: runs a loop for each of its controller objects, and retries what does not start."""

from typing import NoReturn

import httpx

from app.kube.hook import JSON
from app.local.authorization import ControllerInvalid
from app.local.client import Client
from app.local.clock import Clock
from app.local.composite import CompositeController
from app.local.controller import Controller, Host
from app.local.controllerkinds import COMPOSITE_CONTROLLER, DECORATOR_CONTROLLER
from app.local.decorator import DecoratorController
from app.local.errors import ApiError, UnknownKind
from app.local.etags import ControllerPanics
from app.local.events import EventRecorder
from app.local.store import Store
from app.local.table import Change
from app.local.values import mapping, name, same
from app.local.workqueue import WorkQueue

# A controller object: its kind and its name.
Title = tuple[str, str]

_KINDS = {one.kind: one for one in (COMPOSITE_CONTROLLER, DECORATOR_CONTROLLER)}


class NotStarted(Exception):
    """A controller that does not start, for a reason of which the real one tells its log alone."""


class Ignored(NotStarted):
    """A controller that is not tried again until its object changes."""


class Metacontroller:
    """The running controllers. `waiting` says why the others do not run, in a sentence each."""

    def __init__(self, store: Store, clock: Clock, http: httpx.Client) -> None:
        self._store = store
        client = Client.of(store, clock, "metacontroller")
        self._host = Host(client, clock, EventRecorder(clock, store), http)
        self._queue: WorkQueue[Title] = WorkQueue(clock, self._reconcile)
        self.running: dict[Title, Controller] = {}
        self.waiting: dict[Title, str] = {}
        store.watch(self._on_change)

    @property
    def failing(self) -> list[str]:
        """`namespace/name` of the parents whose last sync failed, so that their status may be an old one."""
        return [title for controller in self.running.values() for title in controller.failing]

    def _on_change(self, change: Change) -> None:
        if change.resource.key in {one.key for one in _KINDS.values()}:
            title = (change.resource.kind, name(change.new))
            spec = None if change.old is None else change.old.get("spec")
            if change.type == "DELETED" or not same(spec, change.new.get("spec")):
                self._host.clock.after(0, lambda: self._reconcile(title))
            return
        for controller in self.running.values():
            controller.on_change(change)

    def _reconcile(self, title: Title) -> None:
        """Starts what should run, and stops what should not, or not as it is."""
        controller = self._store.look(_KINDS[title[0]], "", title[1])
        running = self.running.get(title)
        if controller is not None and running is not None and same(running.controller["spec"], controller["spec"]):
            return
        if running is not None:
            running.stop()
            del self.running[title]
        self.waiting.pop(title, None)
        if controller is None:
            self._queue.forget(title)
            return
        try:
            self.running[title] = self._started(controller)
        except (ApiError, ControllerInvalid) as error:
            self._host.events.warn(controller, "CreateError", f"Cannot create new controller: {error}")
            self._retry(title, str(error))
        except Ignored as error:
            self.waiting[title] = str(error)
        except (NotStarted, ControllerPanics) as error:
            self._retry(title, str(error))
        else:
            self._queue.forget(title)

    def _retry(self, title: Title, reason: str) -> None:
        self.waiting[title] = reason
        self._queue.add_rate_limited(title)

    def _started(self, controller: JSON) -> Controller:
        if controller["kind"] == DECORATOR_CONTROLLER.kind:
            return DecoratorController(self._host, controller)
        self._check_parent(mapping(mapping(controller.get("spec")).get("parentResource")), controller)
        return CompositeController(self._host, controller)

    def _check_parent(self, rule: JSON, controller: JSON) -> None:
        """A composite's parents are of a custom kind with a status subresource. Raises NotStarted, Ignored."""
        version, plural = str(rule.get("apiVersion")), str(rule.get("resource"))
        group = version.rpartition("/")[0]
        try:
            resource = self._store.discovery.resource(version, plural)
        except UnknownKind:
            _no_crd(plural, group)
        if not resource.custom:
            _no_crd(plural, group)
        if not resource.status:
            words = f"ignoring, CRD [{plural}.{group}] does not have subresource 'Status' enabled"
            message = f"[{name(controller)}] Sync error - {words}"
            self._host.events.warn(controller, "SyncError", message)
            raise Ignored(message)


def _no_crd(plural: str, group: str) -> NoReturn:
    raise NotStarted(f'customresourcedefinitions.apiextensions.k8s.io "{plural}.{group}" not found')
