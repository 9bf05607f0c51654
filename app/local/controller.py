"""What the loops of Metacontroller's two kinds of controllers have in common: queue, retries, resync, delays."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import httpx

from app.kube.hook import JSON
from app.local.children import ChildRules, ManageError, manage
from app.local.claims import LabelError
from app.local.client import Client
from app.local.clock import Clock
from app.local.errors import ApiError
from app.local.events import EventRecorder
from app.local.hooks import Hooks
from app.local.index import Place
from app.local.parents import ParentRule, Parents
from app.local.related import ObjectMap, Related
from app.local.relatedrules import RuleError
from app.local.selectors import SelectorError
from app.local.table import Change
from app.local.triggers import Adopters, Triggers
from app.local.values import mapping, name, namespace
from app.local.webhook import HookError, TooManyRequests
from app.local.workqueue import WorkQueue

# One sync: it yields the simulated seconds that its calls take.
Steps = Generator[float, None, None]


class SyncError(Exception):
    """A sync that failed; the message is the one of the event, without its prefix."""


_FAILURES = (SyncError, HookError, ManageError, LabelError, ApiError, SelectorError, RuleError)


@dataclass(frozen=True, slots=True)
class Host:
    """The process that a controller runs in."""

    client: Client
    clock: Clock
    events: EventRecorder
    http: httpx.Client


class Controller(ABC):
    """A running controller: syncs its parents one at a time, each when something concerns it."""

    def __init__(
        self, host: Host, controller: JSON, parents: Sequence[ParentRule], children: list[JSON], noun: str
    ) -> None:
        spec = mapping(controller.get("spec"))
        self.controller = controller
        self.host = host
        self.hooks = Hooks(host.client.store, host.clock, host.http, controller)
        self.children = ChildRules(host.client, children)
        finalizer = f"metacontroller.io/{noun}-{name(controller)}"
        self.parents = Parents(host.client, parents, finalizer, finalizes=self.hooks.finalize is not None)
        kinds = self.parents.resources
        self.related = Related(host.client, host.clock, controller, self.hooks.customize, kinds)
        self.queue: WorkQueue[Place] = WorkQueue(host.clock, self._process)
        self._triggers = Triggers(self.parents, self.children.keys, self.related, self._adopters(), self.queue.add)
        self._stopped = False
        self._enqueue_all()
        if spec.get("resyncPeriodSeconds") is not None:
            self._resync(max(1.0, float(spec["resyncPeriodSeconds"])))

    @abstractmethod
    def sync(self, place: Place, parent: JSON) -> Steps:
        """One sync of a parent that the controller looks at. Raises what `_attempt` catches."""

    def _adopters(self) -> Adopters | None:
        """How the parents are found that may adopt an orphan; None where none does."""
        return None

    @property
    def failing(self) -> list[str]:
        """`namespace/name` (or the name alone) of the parents whose last sync failed."""
        return [f"{space}/{title}" if space else title for _, space, title in self.queue.failing]

    def on_change(self, change: Change) -> None:
        """Queues the parents that a change concerns."""
        self._triggers.on_change(change)

    def stop(self) -> None:
        """Syncs no parent any more."""
        self._stopped = True

    def _resync(self, period: float) -> None:
        def tick() -> None:
            if not self._stopped:
                self._enqueue_all()
                self.host.clock.after(period, tick)

        self.host.clock.after(period, tick)

    def _enqueue_all(self) -> None:
        for parent in self.parents.all():
            self._triggers.enqueue(parent)

    def _process(self, place: Place) -> None:
        parent = None if self._stopped else self.parents.find(place)
        if parent is None:
            self.queue.forget(place)
        else:
            self._attempt(place, parent, self.sync(place, parent))

    def _attempt(self, place: Place, parent: JSON, steps: Steps) -> None:
        """Goes on with a sync until it is done or waits for an answer. Failures are told and tried again."""
        try:
            seconds = next(steps)
        except StopIteration:
            self.queue.forget(place)
        except TooManyRequests as busy:
            self.queue.add_after(place, busy.after)
        except _FAILURES as error:
            self.host.events.warn(parent, "SyncError", f"Sync error: {error}")
            self.queue.add_rate_limited(place)
        else:
            self.queue.hold(place)
            self.host.clock.after(seconds, lambda: self._go_on(place, parent, steps))

    def _go_on(self, place: Place, parent: JSON, steps: Steps) -> None:
        self.queue.release(place)
        if not self._stopped:
            self._attempt(place, parent, steps)

    def manage(self, parent: JSON, observed: ObjectMap, desired: ObjectMap) -> ManageError | None:
        """Makes the children so, unless the parent is in a deletion that is none of ours; what went wrong."""
        if "deletionTimestamp" in parent["metadata"] and not self.parents.managed_while_deleted(parent):
            return None
        try:
            manage(self.host.client, self.children, parent, observed, desired)
        except ManageError as error:
            return ManageError([f"can't reconcile children for {identity(parent)}: {error}"])
        return None


def identity(parent: JSON) -> str:
    """How error messages name a parent."""
    return f"{parent['kind']} {namespace(parent)}/{name(parent)}"
