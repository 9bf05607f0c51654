"""Metacontroller's host process: starts a loop for each CompositeController object, and retries what does not start."""

import httpx

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.composite import CompositeController
from app.local.errors import ApiError
from app.local.events import EventRecorder
from app.local.store import Store
from app.local.table import Change
from app.local.values import name, same
from app.local.webhook import ControllerInvalid

# How often the real one asks which kinds are served: a controller that lacked one starts then.
DISCOVERY_SECONDS = 30.0


class Metacontroller:
    """The running controllers, by the name of their object."""

    def __init__(self, store: Store, clock: Clock, client: httpx.Client) -> None:
        self._store = store
        self._clock = clock
        self._client = client
        self._events = EventRecorder(clock, store)
        self.running: dict[str, CompositeController] = {}
        self._wanted: dict[str, JSON] = {}
        store.watch(self._on_change)

    @property
    def failing(self) -> list[str]:
        """`namespace/name` of the parents whose last sync failed, so that their status may be an old one."""
        return [key for controller in self.running.values() for key in controller.failing]

    def _on_change(self, change: Change) -> None:
        if change.resource.kind == "CompositeController":
            self._on_controller(change)
            return
        for controller in self.running.values():
            controller.on_change(change)

    def _on_controller(self, change: Change) -> None:
        if change.type == "DELETED":
            self._wanted.pop(name(change.new), None)
            self._stop(name(change.new))
        elif change.old is None or not same(change.old.get("spec"), change.new.get("spec")):
            self._want(change.new)

    def _want(self, controller: JSON) -> None:
        self._wanted[name(controller)] = controller
        self._clock.after(0, lambda: self._start(controller))

    def _stop(self, title: str) -> None:
        running = self.running.pop(title, None)
        if running is not None:
            running.stop()

    def _start(self, controller: JSON) -> None:
        if self._wanted.get(name(controller)) is not controller:
            return
        self._stop(name(controller))
        try:
            self.running[name(controller)] = CompositeController(
                self._store, self._clock, self._events, self._client, controller
            )
        except (ApiError, ControllerInvalid) as error:
            self._events.warn(controller, "CreateError", f"Cannot create new controller: {error}")
            self._clock.after(DISCOVERY_SECONDS, lambda: self._start(controller))
