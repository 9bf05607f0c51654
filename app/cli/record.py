"""`hangar record`: a hook call from Metacontroller's debug log becomes a fixture, without the secrets in it."""

import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.calls import Call, DebugLog
from app.cli.problems import CommandError
from app.cli.recording import pretty
from app.cli.redaction import Redactor
from app.cli.rendering import moved_hashes
from app.kube.hook import JSON
from app.kube.pods import mapping
from app.modeldeployment.controller import CONTROLLER
from app.settings import ControllerSettings

STDIN = "-"
_MOST_SHOWN = 5


def record(
    log: Annotated[str, typer.Argument(metavar="LOGFILE", help="Metacontroller's log; - is standard input.")] = STDIN,
    *,
    output: Annotated[Path, typer.Option(help="Folder of the fixture; with --last above 1, of one folder per call.")],
    name: Annotated[str, typer.Option(help="Only calls about this object: namespace/name.")] = "",
    hook: Annotated[
        Literal["sync", "finalize", "customize"] | None, typer.Option(help="Only calls of this hook.")
    ] = None,
    last: Annotated[int, typer.Option(min=1, help="So many calls, the newest ones.")] = 1,
    keep_values: Annotated[
        bool, typer.Option("--keep-values", help="Redact nothing: the fixture holds every secret of the call.")
    ] = False,
) -> None:
    """Make fixtures from a log that Metacontroller wrote with --zap-log-level=6.

    Values of environment variables, of annotations and of Secrets are replaced by placeholders, and so are credentials
    in URLs, arguments and fields; review a fixture before it is shared all the same. For calls of Hangar's own hook,
    set the HANGAR_... variables that its service had.
    """
    settings = ControllerSettings.from_environment(os.environ)
    calls = _newest(log, name, hook, last)
    folders = [output] if last == 1 else [output / _folder(number, call) for number, call in enumerate(calls, start=1)]
    for folder in folders:
        if (folder / "request.json").exists():
            raise CommandError(f"{folder}/request.json exists already: remove it, or give --output another folder")
    for folder, call in zip(folders, calls, strict=True):
        typer.echo(_write(folder, call, settings, keep_values=keep_values))


def _newest(log: str, name: str, hook: str | None, last: int) -> list[Call]:
    """The newest calls that are wanted, oldest first. Raises `CommandError` where there is none."""
    reader, seen, found = DebugLog(), Counter[str](), deque[Call](maxlen=last)
    source = "standard input" if log == STDIN else log
    try:
        with _opened(log) as lines:
            for call in reader.calls(lines):
                seen[call.title] += 1
                if (not name or call.name == name) and hook in {None, call.hook}:
                    found.append(call)
    except OSError as problem:
        raise CommandError(f"{source}: {problem.strerror}") from None
    for sentence in reader.problems[:_MOST_SHOWN]:
        typer.echo(f"hangar: {source}: {sentence}", err=True)
    if len(reader.problems) > _MOST_SHOWN:
        typer.echo(f"hangar: {source}: and {len(reader.problems) - _MOST_SHOWN} more such lines", err=True)
    if not found:
        raise CommandError(f"{source}: {_nothing(seen, name, hook)}")
    return list(found)


@contextmanager
def _opened(log: str) -> Iterator[Iterable[bytes]]:
    if log == STDIN:
        yield sys.stdin.buffer
        return
    with Path(log).open("rb") as file:
        yield file


def _nothing(seen: Counter[str], name: str, hook: str | None) -> str:
    if not seen:
        return (
            "no hook call in there that can be read: Metacontroller logs them with --zap-log-level=6, "
            "and `kubectl logs` gives whole lines"
        )
    wanted = f"{hook or 'call'} of {name}" if name else f"{hook}"
    there = ", ".join(f"{title} ({count})" for title, count in seen.most_common(_MOST_SHOWN))
    more = f" and {len(seen) - _MOST_SHOWN} more" if len(seen) > _MOST_SHOWN else ""
    return f"no {wanted} in there; there are {there}{more}"


def _folder(number: int, call: Call) -> str:
    return f"{number:03}-{call.hook}-{call.name}".replace("/", "-")


def _write(folder: Path, call: Call, settings: ControllerSettings, *, keep_values: bool) -> str:
    """Writes one fixture; what to say about it."""
    request, response, hidden = (call.request, call.response, 0) if keep_values else _redacted(call, settings)
    documents: dict[str, Any] = {"request.json": request, "context.json": _context(call, settings)}
    if response is not None:
        documents["response.json"] = response
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            (folder / name).write_text(pretty(document), encoding="utf-8")
    except OSError as problem:
        raise CommandError(f"{problem.filename}: {problem.strerror}") from None
    said = f"{folder}: {call.title} at {_stamp(call)}, {hidden} values redacted"
    if response is None:
        said += f"\n{folder}: no response.json, because {call.unanswered}; `hangar replay --rewrite` writes today's"
    return said


def _redacted(call: Call, settings: ControllerSettings) -> tuple[JSON, JSON | None, int]:
    redactor = Redactor()
    redactor.read([call.request, call.response])
    if _is_ours(call):
        redactor.rename(moved_hashes(call.request, redactor.redacted(call.request), settings))
    return redactor.redacted(call.request), redactor.redacted(call.response), redactor.count


def _context(call: Call, settings: ControllerSettings) -> JSON:
    """When it was and, for our own hook, the settings that are not the defaults."""
    context: JSON = {"now": _stamp(call)}
    if not _is_ours(call):
        return context
    defaults = _fields(ControllerSettings())
    cluster = mapping(mapping(call.response).get("status")).get("clusterID")
    found = {name: value for name, value in _fields(settings).items() if value != defaults[name]}
    found |= {"cluster_id": cluster} if cluster else {}
    return {**context, "settings": found} if found else context


def _fields(settings: ControllerSettings) -> JSON:
    stated = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in stated.items()}


def _is_ours(call: Call) -> bool:
    return (call.root.get("apiVersion"), call.root.get("kind")) == (CONTROLLER.api_version, CONTROLLER.kind)


def _stamp(call: Call) -> str:
    return call.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
