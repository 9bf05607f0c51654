"""`hangar manifests`: what is installed on a cluster, printed, or written to where it is kept and checked there."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from app.cli.problems import CommandError
from app.install.base import FOLDERS, files, objects
from app.install.documents import HEADER, stream
from app.install.fieldspage import fields_page
from app.install.statuspage import status_page


def manifests(
    output: Annotated[Path | None, typer.Option(help="Write the kustomize base to this folder.")] = None,
    docs: Annotated[Path | None, typer.Option(help="Write the generated pages to this folder.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 where a file differs.")] = False,
) -> None:
    """Print every object of an installation, or write the files that are generated from the code."""
    if output is None and docs is None:
        if check:
            raise CommandError("--check compares files: name their folder with --output or --docs")
        typer.echo(stream(chain.from_iterable(objects().values())), nl=False)
        return
    wanted = _wanted(output, docs)
    stale = _left_over(output, wanted)
    if not check:
        _write(wanted, stale)
        return
    differing = [path for path, text in wanted.items() if _read(path) != text]
    for path in differing:
        typer.echo(f"{path} differs from the code", err=True)
    for path in stale:
        typer.echo(f"{path} is no longer generated", err=True)
    if differing or stale:
        typer.echo("Run scripts/generate.", err=True)
        raise typer.Exit(1)


def _wanted(output: Path | None, docs: Path | None) -> dict[Path, str]:
    found = {} if output is None else {output / path: text for path, text in files().items()}
    pages = {"status.md": status_page, "fields.md": fields_page}
    return found if docs is None else found | {docs / name: page() for name, page in pages.items()}


def _left_over(output: Path | None, wanted: dict[Path, str]) -> list[Path]:
    """Generated files of an earlier time: kustomize would not apply them, a reader would believe them."""
    if output is None:
        return []
    present = chain.from_iterable((output / folder).glob("*.yaml") for folder in FOLDERS)
    return sorted(path for path in present if path not in wanted and (_read(path) or "").startswith(HEADER))


def _write(wanted: dict[Path, str], stale: list[Path]) -> None:
    try:
        for path, text in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for path in stale:
            path.unlink()
    except OSError as problem:
        raise CommandError(f"{problem.filename}: {problem.strerror}") from None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandError(f"{path} cannot be read: {problem}") from None
