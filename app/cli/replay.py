"""`hangar replay`: a recorded request through the real service, in this process; the response, or how it differs."""

import difflib
from pathlib import Path
from typing import Annotated

import typer

from app.cli.problems import read_json
from app.cli.recording import Context, pretty, replayed


def replay(
    request: Annotated[Path, typer.Argument(help="A request as Metacontroller sent it.")],
    context: Annotated[
        Path | None,
        typer.Option(
            help="Time and settings of the replay. Default: context.json beside the request, if there is one."
        ),
    ] = None,
    against: Annotated[Path | None, typer.Option(help="Print only how the response differs from this one.")] = None,
) -> None:
    """Answer a recorded request. Exit code 1: refused, or different from --against."""
    document = read_json(request)
    beside = request.with_name("context.json")
    chosen = context or (beside if beside.is_file() else None)
    answer = replayed(document, Context.read(read_json(chosen)) if chosen else Context.of(document))
    shown = pretty(answer.document)
    if against is None:
        typer.echo(shown, nl=False)
        if answer.status != 200:
            raise typer.Exit(1)
        return
    difference = "".join(
        difflib.unified_diff(
            pretty(read_json(against)).splitlines(keepends=True),
            shown.splitlines(keepends=True),
            fromfile=str(against),
            tofile="the response now",
        )
    )
    if difference:
        typer.echo(difference, nl=False)
        raise typer.Exit(1)
    typer.echo(f"The response equals {against}.")
