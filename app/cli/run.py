"""`hangar run`: a deployment from manifest to Ready, with no cluster.

The real hook service answers over HTTP, with a bearer token and the simulated clock; everything around it is
`app.local`.
"""

import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import sleep
from typing import Annotated

import typer
from rich.console import Console

from app.api.crd import crds
from app.api.kinds import MODEL_DEPLOYMENT
from app.cli.documents import Document, read
from app.cli.problems import CommandError
from app.cli.watching import Lines, LiveTable, Row, View, row, serves, settled, summary, waits_for
from app.install.controllers import SecretKey, composite
from app.kube.hook import JSON
from app.kube.names import API_VERSION
from app.local.errors import ApiError
from app.local.plane import Plane
from app.local.table import Change
from app.modeldeployment.controller import CONTROLLER
from app.server.application import create_app
from app.server.background import running
from app.settings import ControllerSettings, ServerSettings

DEPLOYMENT = f"{MODEL_DEPLOYMENT.kind}.{API_VERSION}"
_TOKEN = SecretKey(name="hangar-token", namespace="hangar-system", key="token")
# A person can follow this: a minute of loading takes two seconds.
_TERMINAL_SPEED = 30.0
_LONGEST_PAUSE = 0.25


def run(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Manifests; - is standard input.")],
    timeout: Annotated[
        float, typer.Option(min=1, help="Simulated seconds within which all deployments must be Ready.")
    ] = 3600,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Simulated seconds per second; 0 is as fast as it goes.",
            show_default="30 on a terminal, else 0",
        ),
    ] = None,
) -> None:
    """Run manifests on a control plane in this process, in simulated time, and show them until they are Ready.

    The hook service is the real one, called over HTTP. Nodes take any Pod; no image is pulled and no model loaded.

    Exit codes: 0 all ModelDeployments are Ready with their replicas; 1 they are not within --timeout, and what they
    wait for is said; 2 a mistake in the manifests or the command line.
    """
    documents = read(files)
    if not any(document.obj["kind"] == MODEL_DEPLOYMENT.kind for document in documents):
        raise CommandError(f"{', '.join(files)}: no ModelDeployment in there, so there is nothing to run")
    with control_plane() as plane:
        on_terminal = sys.stdout.isatty()
        if speed is None:
            speed = _TERMINAL_SPEED if on_terminal else 0
        shown: AbstractContextManager[View] = LiveTable(Console()) if on_terminal else nullcontext(Lines())
        with shown as view:
            board = Board(plane, view, speed)
            for document in documents:
                _apply(plane, document)
            board.run(timeout)
        raise typer.Exit(_conclude(plane, timeout))


@contextmanager
def control_plane() -> Iterator[Plane]:
    """A plane with Hangar's kinds and controller, and the real hook service behind it on a free loopback port."""
    settings = ControllerSettings.from_environment({"HANGAR_CLUSTER_ID": "local", **os.environ})
    token = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="hangar-") as folder, Plane(crds()) as plane:
        file = Path(folder, "token")
        file.touch(mode=0o600)
        file.write_text(token, encoding="utf-8")
        app = create_app([CONTROLLER], settings, ServerSettings(token_file=str(file)), plane.clock.now)
        with running(app) as base_url:
            plane.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": _TOKEN.name, "namespace": _TOKEN.namespace},
                    "stringData": {_TOKEN.key: token},
                }
            )
            plane.apply(composite(CONTROLLER, base_url, _TOKEN))
            yield plane


def _apply(plane: Plane, document: Document) -> None:
    try:
        plane.apply(document.obj)
    except ApiError as refusal:
        raise document.mistake(str(refusal)) from None


class Board:
    """Follows the ModelDeployments of a plane and shows each change of their rows."""

    def __init__(self, plane: Plane, view: View, speed: float) -> None:
        self._plane = plane
        self._view = view
        self._speed = speed
        self._rows: dict[str, Row] = {}
        self._unsettled: set[str] = set()
        plane.store.watch(self._on_change)

    def run(self, timeout: float) -> bool:
        """Lets time pass until every deployment is Ready, at most `timeout` simulated seconds."""
        return self._plane.run_until(lambda: not self._unsettled, timeout, self._pause if self._speed else None)

    def _on_change(self, change: Change) -> None:
        if change.resource.key != DEPLOYMENT:
            return
        shown = row(change.new)
        if settled(change.new):
            self._unsettled.discard(shown.name)
        else:
            self._unsettled.add(shown.name)
        if self._rows.get(shown.name) != shown:
            self._rows[shown.name] = shown
            self._view.show(shown, self._rows, self._plane.clock.elapsed)

    def _pause(self, seconds: float) -> None:
        sleep(min(seconds / self._speed, _LONGEST_PAUSE))
        self._view.tick(self._rows, self._plane.clock.elapsed + seconds)


def _conclude(plane: Plane, timeout: float) -> int:
    """Prints the rows and endpoints, or what is waited for; the exit code."""
    found = plane.all_of(DEPLOYMENT)
    typer.echo(f"\n{summary(found, plane.clock.elapsed)}")
    missing = [obj for obj in found if not (settled(obj) and serves(obj))]
    for obj in found:
        if obj not in missing:
            shown = row(obj)
            typer.echo(f"{shown.name} serves at {shown.endpoint}")
    if not missing:
        return 0
    if not all(settled(obj) for obj in missing):
        typer.echo(f"Not Ready within {timeout:g} simulated seconds:", err=True)
    for obj in missing:
        typer.echo(waits_for(obj, _newest_event(plane, obj)), err=True)
    return 1


def _newest_event(plane: Plane, obj: JSON) -> str:
    about = [
        event
        for event in plane.all_of("Event.v1", obj["metadata"]["namespace"])
        if event["involvedObject"]["uid"] == obj["metadata"]["uid"]
    ]
    newest = max(about, key=lambda event: int(event["metadata"]["resourceVersion"]), default=None)
    return "" if newest is None else f"{newest['reason']}: {newest['message']}"
