"""`hangar replay`: recorded requests through a hook; the response, or how it differs from the one that was reviewed."""

import difflib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.cases import Case, Replay, cases, masked
from app.cli.posting import RunningHook, token_in
from app.cli.problems import CommandError, read_json
from app.cli.recording import pretty


def replay(
    request: Annotated[Path, typer.Argument(help="A request as Metacontroller sent it, or a folder of fixtures.")],
    context: Annotated[
        Path | None,
        typer.Option(
            help="Time and settings of the replay. Default: context.json beside the request, if there is one."
        ),
    ] = None,
    against: Annotated[Path | None, typer.Option(help="Print only how the response differs from this one.")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Ask the hook that runs there instead of Hangar's. Without a path: that of the request."),
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="Bearer token for --url.")] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write the response into response.json beside the request.")
    ] = False,
) -> None:
    """Answer a recorded request, or compare all fixtures of a folder, and say what Metacontroller would do with it.

    Exit code 1: the answer is refused, or differs from --against or from a fixture's response.json.
    """
    hook = _hook(url, token_file, context)
    if against and rewrite:
        raise CommandError("--rewrite writes response.json beside the request: leave --against out")
    if request.is_dir():
        if against or context:
            raise CommandError(f"{request} is a folder: each fixture in it has its own response.json and context.json")
        code = _all(request, hook, rewrite=rewrite)
    else:
        code = _one(Case(request), hook, context, against, rewrite=rewrite)
    if code:
        raise typer.Exit(code)


def _hook(url: str | None, token_file: Path | None, context: Path | None) -> RunningHook | None:
    if url is None:
        if token_file:
            raise CommandError("--token-file goes with --url: Hangar's own hook is asked without a token here")
        return None
    if context:
        raise CommandError("--context is for Hangar's own hook: the one behind --url has its own clock and settings")
    return RunningHook(url, token_in(token_file) if token_file else "")


def _one(case: Case, hook: RunningHook | None, context: Path | None, against: Path | None, *, rewrite: bool) -> int:
    """Prints the response to one request, or how it differs; the verdict goes to standard error. The exit code."""
    found = case.replay(hook, context)
    for line in found.verdict.lines():
        typer.echo(line, err=True)
    if rewrite:
        case.write(found.answer)
        typer.echo(f"Written to {case.response_path}.")
        return 0
    if against is None:
        typer.echo(found.shown, nl=False)
        return 1 if found.verdict.refusal or found.answer.status != 200 else 0
    difference = _difference(read_json(against), found, str(against))
    typer.echo(difference or f"The response equals {against}.\n", nl=False)
    return 1 if difference else 0


def _all(folder: Path, hook: RunningHook | None, *, rewrite: bool) -> int:
    """Replays every fixture below a folder, a line for each, then a summary. The exit code."""
    found = cases(folder)
    if not found:
        raise CommandError(f"{folder} holds no request.json, nor does a folder in it")
    if hook:
        hook.check([case.request for case in found])
    outcomes = Counter(_replayed(case, folder, hook, rewrite=rewrite) for case in found)
    words = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    typer.echo(f"{len(found)} {'fixture' if len(found) == 1 else 'fixtures'}: {words}")
    return 0 if outcomes.keys() <= {"equal", "written"} else 1


def _replayed(case: Case, folder: Path, hook: RunningHook | None, *, rewrite: bool) -> str:
    """One line on one fixture, and the difference where there is one; what came of it in a word."""
    name = str(case.folder.relative_to(folder))
    name = case.folder.name if name == "." else name
    try:
        found = case.replay(hook)
    except CommandError as problem:
        if hook:
            raise
        return _say("failed", f"{name}: {problem}")
    if rewrite:
        case.write(found.answer)
        outcome = _say("written", name)
    elif found.expected is None:
        outcome = _say("new", f"{name}: there is no response.json yet; review the answer, and keep it with --rewrite")
    else:
        outcome = _say("equal" if found.matches else "differs", name)
    # An equal answer that is refused was reviewed as such.
    for line in found.verdict.cautions() if outcome == "equal" else found.verdict.lines():
        typer.echo(f"         {line}")
    if outcome == "differs":
        typer.echo(_difference(found.expected, found, str(case.response_path)), nl=False)
    return outcome


def _say(outcome: str, rest: str) -> str:
    typer.echo(f"{outcome:8} {rest}")
    return outcome


def _difference(expected: Any, found: Replay, name: str) -> str:
    """A unified diff from the expected response to the answer; empty where they say the same."""
    before, now = pretty(expected), pretty(masked(found.answer.document, expected))
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), now.splitlines(keepends=True), fromfile=name, tofile="the response now"
    )
    return "".join(lines)
