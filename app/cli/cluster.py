"""A cluster in this process with Hangar installed: the local control plane, and the real hook service behind it."""

import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from starlette.types import ASGIApp

from app.api.crd import crds
from app.controllers import CONTROLLERS
from app.install.controllers import composite
from app.install.service import BASE_URL, TOKEN
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.network import CallFault, Network
from app.local.plane import Plane
from app.local.quota.kinds import VERSION
from app.local.quota.options import KueueOptions, all_but
from app.server.application import create_app
from app.server.background import running
from app.settings import ControllerSettings, ServerSettings, SettingsError

_HOST = BASE_URL.partition("://")[2]
NODES = ("node-a", "node-b", "node-c")


class HookClock:
    """The clock of the hook service: simulated time, and by how much it is wrong."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.wrong_by = timedelta()

    def now(self) -> datetime:
        """The time as the hook service sees it."""
        return self._clock.now() + self.wrong_by


class HookService:
    """The hook service as it is reached by the name of its Service. It is served while it is up, on a free port."""

    def __init__(self, app: ASGIApp, network: Network) -> None:
        self._app = app
        self._network = network
        self._served = ExitStack()
        self.up = False

    def start(self) -> None:
        """Serves, unless it does."""
        if not self.up:
            self._network.hosts[_HOST] = self._served.enter_context(running(self._app))
            self.up = True

    def stop(self) -> None:
        """Ends the server, unless it is down: from now on nobody listens, and calls are refused."""
        self._served.close()
        self.up = False

    def stop_in_the_next_call(self, hook: str = "sync") -> None:
        """The server ends while it works on the next call of that hook: the caller never gets the answer."""
        self._network.fail(CallFault(hook=hook, cut=self.stop, times=1))


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a run or a test holds in its hands."""

    plane: Plane
    hook: HookService
    hook_clock: HookClock


@contextmanager
def local_cluster(nodes: Iterable[str | JSON] = NODES, kueue: bool | KueueOptions = False) -> Iterator[Cluster]:
    """A cluster with Hangar's kinds and controllers. Settings of the controllers come from the environment.

    With `kueue`, or where the environment switches the integration on, Kueue is installed too. Raises `SettingsError`
    for a wrong setting, `NotServing` where no port can be had.
    """
    settings, options = _settings(kueue)
    token = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="hangar-") as folder, Plane(crds(), nodes=nodes, kueue=options) as plane:
        file = Path(folder, "token")
        file.touch(mode=0o600)
        file.write_text(token, encoding="utf-8")
        clock = HookClock(plane.clock)
        app = create_app(CONTROLLERS, settings, ServerSettings(token_file=str(file)), clock.now)
        hook = HookService(app, plane.network)
        hook.start()
        try:
            _install(plane, token)
            yield Cluster(plane, hook, clock)
        finally:
            hook.stop()


def _settings(kueue: bool | KueueOptions) -> tuple[ControllerSettings, KueueOptions | None]:
    """The controllers' settings, and how Kueue is configured where it is there.

    HANGAR_KUEUE decides what the controllers may ask of it; where it is not set, they may if it is there.
    """
    defaults = {"HANGAR_CLUSTER_ID": "local"} | ({"HANGAR_KUEUE": "true"} if kueue else {})
    settings = ControllerSettings.from_environment({**defaults, **os.environ})
    if not (kueue or settings.kueue):
        return settings, None
    if settings.kueue_version != VERSION:
        raise SettingsError(
            f"HANGAR_KUEUE_VERSION is {settings.kueue_version!r}: the Kueue of a local run serves {VERSION}; unset it"
        )
    if isinstance(kueue, KueueOptions):
        return settings, kueue
    return settings, KueueOptions(managed_namespaces=all_but(*settings.reserved_namespaces))


def _install(plane: Plane, token: str) -> None:
    plane.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": TOKEN.name, "namespace": TOKEN.namespace},
            "stringData": {TOKEN.key: token},
        }
    )
    for controller in CONTROLLERS:
        plane.apply(composite(controller, BASE_URL, TOKEN))
