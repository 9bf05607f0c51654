"""The hooks of one controller object: which there are, and which is called for a parent."""

from collections.abc import Generator

import httpx

from app.kube.hook import JSON
from app.local.answers import Shape
from app.local.authorization import ControllerInvalid, authorization
from app.local.clock import Clock
from app.local.store import Store
from app.local.values import mapping
from app.local.webhook import Call, HookError, Webhook


class Hooks:
    """Sync, finalize and customize. Construction raises ControllerInvalid and ControllerPanics."""

    def __init__(self, store: Store, clock: Clock, client: httpx.Client, controller: JSON) -> None:
        specs = mapping(mapping(controller.get("spec")).get("hooks"))
        if not specs:
            raise ControllerInvalid("no hooks defined")

        def webhook(hook: str) -> Webhook | None:
            if not mapping(specs.get(hook)).get("webhook"):
                return None
            header = authorization(store, controller, hook)
            return Webhook(hook, mapping(specs[hook]), header, client, clock)

        self.sync, self.finalize, self.customize = webhook("sync"), webhook("finalize"), webhook("customize")

    def due(self, *, finalizing: bool) -> Webhook | None:
        """The hook that answers for a parent, None where none does."""
        return self.finalize if finalizing and self.finalize else self.sync


def call(hook: Webhook, request: JSON, root: JSON, shape: Shape) -> Call:
    """One call. Raises HookError in the words of a sync's event, TooManyRequests."""
    steps: Generator[float, None, JSON] = hook.call(request, root, shape)
    try:
        return (yield from steps)
    except HookError as error:
        raise HookError(f"{hook.hook} hook failed (version=v2): {error}") from error
