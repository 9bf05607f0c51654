"""Carrying out a script: each event at its time, on the cluster as it then is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch

from app.cli.cluster import Cluster
from app.cli.documents import Document
from app.cli.problems import CommandError
from app.cli.script.base import Action
from app.cli.script.paths import PathError
from app.cli.script.reading import Event, Script
from app.cli.script.targets import NotThere
from app.local.errors import ApiError
from app.local.values import name

# Told of each event as it happens, with what it came to.
Note = Callable[[Event, str], None]


@dataclass(frozen=True, slots=True)
class Moment:
    """What an action has in its hands; `documents` are the manifests of an `apply`."""

    cluster: Cluster
    documents: tuple[Document, ...] = ()

    def until(self, seconds: float | None) -> float | None:
        """The end of what lasts so long from now on, in seconds since the start; None lasts."""
        return None if seconds is None else self.cluster.plane.clock.elapsed + seconds


@singledispatch
def act(action: Action, moment: Moment) -> str:
    """Carries out one action and returns in words what it came to; `objects` and `disasters` say how.

    Raises NotThere, PathError, ApiError or CommandError where it cannot be.
    """
    raise NotImplementedError(type(action).__name__)


def play(script: Script, cluster: Cluster, note: Note) -> None:
    """Plans every event. One that goes wrong raises CommandError when its time has come."""
    for event in script.events:
        cluster.plane.clock.after(event.at, partial(_perform, event, cluster, note))


def _perform(event: Event, cluster: Cluster, note: Note) -> None:
    try:
        told = act(event.action, Moment(cluster, event.documents))
    except (NotThere, PathError, ApiError, CommandError) as problem:
        raise event.mistake(str(problem)) from None
    note(event, told)


def apply_document(cluster: Cluster, document: Document) -> None:
    """kubectl apply of one object; a Node joins with all that it states. Raises CommandError."""
    plane, obj = cluster.plane, document.obj
    try:
        if obj["kind"] == "Node" and plane.get("Node.v1", name(obj)) is None:
            plane.nodes.add(obj)
        else:
            plane.apply(obj)
    except ApiError as refusal:
        raise document.mistake(str(refusal)) from None
