"""The cases under tests/fixtures: a folder each, with request.json, context.json and response.json.

A request that somebody recorded becomes a case by copying it into a folder of its own: without a context.json the
newest time in it is now, and `pytest --rewrite-fixtures` writes its response.json.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.cli.recording import Answer, Context, hook_of, pretty, replayed
from app.kube.hook import JSON

ROOT = Path(__file__).parent.parent / "fixtures"


@dataclass(frozen=True, slots=True)
class Fixture:
    """One case on disk."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def request(self) -> Any:
        return _read(self.folder / "request.json")

    @property
    def context(self) -> Context:
        path = self.folder / "context.json"
        return Context.read(_read(path)) if path.is_file() else Context.of(self.request)

    @property
    def hook(self) -> str:
        """sync, finalize or customize."""
        return hook_of(self.request)

    @property
    def response(self) -> str:
        """The stored response as text; empty where none was written yet."""
        path = self.folder / "response.json"
        return path.read_text() if path.is_file() else ""

    def replay(self) -> Answer:
        """What the service answers now, over HTTP."""
        return replayed(self.request, self.context)

    def write(self, name: str, document: JSON) -> None:
        """Stores one of the three documents, pretty-printed with sorted keys."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(pretty(document))


def fixtures(controller: str = "modeldeployment") -> list[Fixture]:
    """All cases of a controller, by name."""
    return [Fixture(path.parent) for path in sorted((ROOT / controller).glob("*/request.json"))]


def _read(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
