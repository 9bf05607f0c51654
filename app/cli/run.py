"""`hangar run`: deployments from manifest to Ready, and through bad days, with no cluster.

The real hook service answers over HTTP, with a bearer token and the simulated clock; everything around it is
`app.local`.
"""

import sys
from typing import Annotated, Literal

import typer
from rich.console import Console

from app.api.kinds import MODEL_DEPLOYMENT
from app.cli.board import Board
from app.cli.cluster import NODES, local_cluster
from app.cli.connecting import DEPLOYMENT
from app.cli.documents import read
from app.cli.durations import seconds
from app.cli.goals import Gone, Passed, goal_of
from app.cli.localreader import LocalReader
from app.cli.problems import CommandError
from app.cli.script.reading import Script, read_script
from app.cli.script.stage import apply_document
from app.cli.views import Lines, LiveTable, Stream, View
from app.explain import explain as explanation
from app.explain.text import lines
from app.local.quota.kinds import GROUP as KUEUE

# A person can follow this: a minute of loading takes two seconds.
_SPEED = 30.0


def run(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Manifests; - is standard input.")],
    script: Annotated[str | None, typer.Option(metavar="FILE", help="Timed events: edits, lost nodes, faults.")] = None,
    until: Annotated[
        str, typer.Option(help="What ends the run: Ready, gone, a duration, or condition=TYPE/STATUS.")
    ] = "Ready",
    timeout: Annotated[
        str, typer.Option(help="Simulated time within which that must come, after the last event of the script.")
    ] = "1h",
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on after that, and apply the files again when they are saved.")
    ] = False,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Simulated seconds per second; 0 is as fast as it goes.",
            show_default="30 on a terminal and with --watch, else 0",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="In the end, explain each deployment as `hangar explain` does.")
    ] = False,
    output: Annotated[
        Literal["table", "json", "yaml"],
        typer.Option("--output", "-o", help="A table for people, or the timeline: one JSON object per line, or YAML."),
    ] = "table",
) -> None:
    """Run manifests on a control plane in this process, in simulated time, and show them until they are Ready.

    The hook service is the real one, called over HTTP. No image is pulled and no model loaded. Nodes take any Pod,
    unless the files hold Node objects. Kueue is there if they hold any object of its own.

    Exit codes: 0 what --until names has come, and with Ready all ModelDeployments serve; 1 it has not come within
    --timeout, or the run was interrupted before, and what is waited for is said; 2 a mistake in the manifests, the
    script or the command line.
    """
    documents = read(files)
    if not any(document.obj["kind"] == MODEL_DEPLOYMENT.kind for document in documents):
        raise CommandError(f"{', '.join(files)}: no ModelDeployment in there, so there is nothing to run")
    goal, limit = goal_of(until), _timeout(timeout)
    events = read_script(script) if script else Script()
    _check(goal, events, speed, watch)
    on_terminal = sys.stdout.isatty()
    if speed is None:
        speed = _SPEED if watch or (on_terminal and output == "table") else 0.0
    nodes = [document.obj for document in documents if document.obj["kind"] == "Node"]
    kueue = any(document.obj["apiVersion"].partition("/")[0] == KUEUE for document in documents)
    with local_cluster(nodes or NODES, kueue) as cluster:
        with _view(output, on_terminal) as view:
            board = Board(cluster, view, goal, speed)
            for document in documents:
                if document.obj["kind"] != "Node":
                    apply_document(cluster, document)
            board.run(events, limit, watched=files if watch else ())
        code = board.conclude()
        if explain:
            _explain(LocalReader(cluster.plane), beside=output != "table")
        raise typer.Exit(code)


def _explain(reader: LocalReader, *, beside: bool) -> None:
    """Says of each deployment what it has got and what it waits for; `beside` the output, where programs read that."""
    for found in reader.list(DEPLOYMENT):
        metadata = found["metadata"]
        words = lines(explanation(reader, metadata["namespace"], metadata["name"]))
        typer.echo("\n" + "\n".join(words), err=beside)


def _timeout(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as problem:
        raise CommandError(f"--timeout: {problem}") from None


def _check(goal: object, script: Script, speed: float | None, watch: bool) -> None:
    """Refuses what cannot come true."""
    if watch and speed == 0:
        raise CommandError("--watch needs a --speed above 0: time would run away")
    if isinstance(goal, Passed) and script.end > goal.end:
        last = script.events[-1]
        raise last.mistake(f"it is at {last.at:g} s, and --until ends the run at {goal.end:g} s: choose a later end")
    if isinstance(goal, Gone) and not any(event.name == "delete" for event in script.events):
        raise CommandError("--until gone needs a script that deletes: without one, what is applied stays")


def _view(output: Literal["table", "json", "yaml"], on_terminal: bool) -> View:
    if output != "table":
        return Stream(output)
    return LiveTable(Console()) if on_terminal else Lines()
