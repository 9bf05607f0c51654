"""Reading a script: a YAML list of events, each with `at` and one action. Every mistake names file and entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.api.problems import sentence
from app.cli.documents import Document, check, parsed, read
from app.cli.durations import seconds
from app.cli.problems import CommandError
from app.cli.script.actions import ACTIONS, Apply
from app.cli.script.base import Action

_EXAMPLE = "- {at: 2m, killNode: node-a}"


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a script, `at` in seconds since the start; `documents` are the manifests that it applies."""

    file: str
    number: int
    at: float
    name: str
    action: Action
    documents: tuple[Document, ...] = ()

    def mistake(self, problem: str) -> CommandError:
        """The error that says where and what."""
        return CommandError(f"{self.file}, entry {self.number} ({self.name}): {problem}")


@dataclass(frozen=True, slots=True)
class Script:
    """The events of a run in the order in which they happen."""

    events: tuple[Event, ...] = ()

    @property
    def end(self) -> float:
        """When the last event happens, in seconds since the start; 0 without events."""
        return max((event.at for event in self.events), default=0.0)


def read_script(file: str) -> Script:
    """The script in a file. Raises `CommandError` with file and entry of the first mistake."""
    found = parsed(file)
    entries = found[0] if len(found) == 1 else found
    if not isinstance(entries, list) or not entries:
        raise CommandError(f"{file}: a script is a list of events; write for example {_EXAMPLE}")
    events = [_event(file, number, entry) for number, entry in enumerate(entries, start=1)]
    return Script(tuple(sorted(events, key=lambda event: event.at)))


def _event(file: str, number: int, entry: Any) -> Event:
    if not isinstance(entry, dict):
        raise CommandError(f"{file}, entry {number}: an event is a map; write for example {_EXAMPLE}")
    where = f"{file}, entry {number}"
    if "at" not in entry:
        raise CommandError(f"{where}: at is missing: say when it happens, for example at: 2m")
    try:
        at = seconds(entry["at"])
    except ValueError as problem:
        raise CommandError(f"{where}: at: {problem}") from None
    names = [str(key) for key in entry if key != "at"]
    if len(names) != 1:
        told = f"it has {' and '.join(names)}: make an entry of each" if names else f"there are {', '.join(ACTIONS)}"
        raise CommandError(f"{where}: an event has one action; {told}")
    name = names[0]
    if name not in ACTIONS:
        raise CommandError(f"{where}: there is no action {name}; {_suggestion(name)}")
    try:
        action = ACTIONS[name].model_validate(entry[name])
    except ValidationError as error:
        raise CommandError(f"{where} ({name}): {sentence(error, name)}") from None
    event = Event(file, number, at, name, action)
    return event if not isinstance(action, Apply) else _with_documents(event, action)


def _suggestion(name: str) -> str:
    near = get_close_matches(name, ACTIONS, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(ACTIONS)}"


def _with_documents(event: Event, action: Apply) -> Event:
    try:
        documents = _documents(event.file, action)
    except CommandError as mistake:
        raise event.mistake(str(mistake)) from None
    if not documents:
        raise event.mistake(f"{action.file} holds no object")
    return Event(event.file, event.number, event.at, event.name, event.action, tuple(documents))


def _documents(script: str, action: Apply) -> Sequence[Document]:
    if action.file is not None:
        return read([str(Path(script).parent / action.file)])
    documents = [Document("objects", obj) for obj in action.objects]
    check(documents)
    return documents
