"""Fixtures: folders that hold a recorded request and the answer that was reviewed.

`request.json` is what Metacontroller sent, `response.json` the answer, and `context.json` the time and settings for
Hangar's own hook; a hook behind a URL has its own clock.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cli.posting import RunningHook
from app.cli.problems import CommandError, read_json
from app.cli.recording import Answer, Context, pretty, replayed
from app.cli.redaction import PLACEHOLDER
from app.cli.verdict import Verdict, judge
from app.kube.hook import JSON


@dataclass(frozen=True, slots=True)
class Case:
    """One fixture, by the path of its request."""

    path: Path

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.path.parent

    @property
    def request(self) -> JSON:
        """The recorded request. Raises `CommandError` where the file holds none."""
        request = read_json(self.path)
        if not isinstance(request, dict):
            raise CommandError(f"{self.path} is no request of Metacontroller's: it has no parent")
        return request

    @property
    def response_path(self) -> Path:
        """Where the reviewed answer is kept."""
        return self.folder / "response.json"

    def replay(self, hook: RunningHook | None = None, context: Path | None = None) -> "Replay":
        """Asks Hangar's own hook, or a running one. Raises `CommandError` where that cannot be done."""
        request = self.request
        answer = hook.answer(request) if hook else replayed(request, self._context(request, context))
        expected = read_json(self.response_path) if self.response_path.is_file() else None
        return Replay(answer, judge(request, answer), expected)

    def _context(self, request: Any, chosen: Path | None) -> Context:
        beside = self.folder / "context.json"
        path = chosen or (beside if beside.is_file() else None)
        return Context.read(read_json(path)) if path else Context.of(request)

    def write(self, answer: Answer) -> None:
        """Keeps an answer as the one that was reviewed."""
        try:
            self.response_path.write_text(pretty(answer.document), encoding="utf-8")
        except OSError as problem:
            raise CommandError(f"{self.response_path}: {problem.strerror}") from None


@dataclass(frozen=True, slots=True)
class Replay:
    """An answer, Metacontroller's verdict on it, and the answer that was reviewed (None where there is none yet)."""

    answer: Answer
    verdict: Verdict
    expected: Any

    @property
    def shown(self) -> str:
        """The answer as it is kept."""
        return pretty(self.answer.document)

    @property
    def matches(self) -> bool:
        """Whether the answer is the reviewed one; what was redacted there may be anything here."""
        return self.expected is not None and pretty(masked(self.answer.document, self.expected)) == pretty(
            self.expected
        )


def cases(folder: Path | str) -> list[Case]:
    """All fixtures below a folder, by path."""
    return [Case(path) for path in sorted(Path(folder).rglob("request.json"))]


def masked(value: Any, expected: Any) -> Any:
    """`value` with the placeholders of `expected` in it, wherever the rest of that text is the same."""
    if isinstance(value, dict) and isinstance(expected, dict):
        return {key: masked(item, expected.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(expected, list):
        return [masked(item, other) for item, other in _paired(value, expected)]
    if isinstance(value, str) and isinstance(expected, str) and PLACEHOLDER.search(expected):
        pattern = ".+".join(map(re.escape, PLACEHOLDER.split(expected)))
        return expected if re.fullmatch(pattern, value, re.DOTALL) else value
    return value


def _paired(value: list[Any], expected: list[Any]) -> Iterator[tuple[Any, Any]]:
    for index, item in enumerate(value):
        yield item, expected[index] if index < len(expected) else None
