"""The `hangar` command: its verbs, and the one place where a mistake becomes a sentence."""

import sys
from typing import Annotated

import typer

from app import __version__
from app.cli import crds, explain, manifests, record, render, replay, resume, run, serve
from app.cli.problems import CommandError
from app.cluster import ConfigError
from app.kube.reader import ReadError
from app.server.background import NotServing
from app.settings import SettingsError

FAILED = 1
MISTAKE = 2

app = typer.Typer(
    help="Hangar runs language models on Kubernetes, as a Metacontroller webhook.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    run.run,
    render.render,
    explain.explain,
    resume.resume,
    serve.serve,
    record.record,
    replay.replay,
    crds.crds,
    manifests.manifests,
):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hangar {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hangar runs language models on Kubernetes, as a Metacontroller webhook."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(MISTAKE)


def main() -> None:
    """Runs the command line and exits: 0 done, 1 the answer is no, 2 a mistake in what was typed or set."""
    sys.exit(exit_code())


def exit_code(arguments: list[str] | None = None) -> int:
    """The exit code of one command line. A user's mistake is one sentence on standard error."""
    try:
        return app(arguments, prog_name="hangar", standalone_mode=False) or 0
    except typer.TyperException as mistake:
        typer.echo(f"hangar: {mistake.format_message()}", err=True)
    except (CommandError, ConfigError, SettingsError, NotServing) as mistake:
        typer.echo(f"hangar: {mistake}", err=True)
    except ReadError as answer:
        typer.echo(f"hangar: {answer}", err=True)
        return FAILED
    return MISTAKE
