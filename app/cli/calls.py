"""Hook calls in Metacontroller's debug log, each with the response that answers it.

The lines carry no number of the call, no status code and no name: a response is told by its URL, and where several
calls to that URL were under way at once it cannot be told at all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.cli.loglines import Entry, holds_call, joined, rough
from app.kube.hook import JSON

# Longer than any sensible time-out of a hook: a call this old was given up, and no response to it will come.
_GIVEN_UP_SECONDS = 120
# A refusal may be JSON too, and its status code is not in the log.
_ANSWER_FIELDS = frozenset({"status", "children", "attachments", "labels", "annotations", "relatedResources"})
_ANSWER_FIELDS |= {"resyncAfterSeconds", "finalized"}

Key = tuple[str, object, str]


@dataclass(slots=True)
class Call:
    """One call of a hook. `response` is None where the log does not tell it, which `unanswered` explains."""

    line: int
    at: datetime
    hook: str
    url: str
    request: JSON
    response: JSON | None = None
    unanswered: str = "the log ends before it, or the hook gave none (429, time-out, connection refused)"

    @property
    def root(self) -> JSON:
        """The object that the call is about: a composite's parent or a decorator's object."""
        found = self.request.get("parent", self.request.get("object"))
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """`namespace/name` of that object, or `name` where it belongs to the whole cluster."""
        metadata = self.root.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        return "/".join(str(metadata[part]) for part in ("namespace", "name") if metadata.get(part))

    @property
    def title(self) -> str:
        """How messages name it, for example `sync of ModelDeployment team-a/qwen`."""
        return f"{self.hook} of {self.root.get('kind')} {self.name}"

    @property
    def key(self) -> Key:
        """What calls of one hook about one object share: Metacontroller makes them one after the other."""
        return self.url, self.root.get("kind") or self.line, self.name


class DebugLog:
    """Reads a log once. `problems` are sentences about lines of calls that could not be read."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._open: dict[str, _Open] = {}
        self._answers: dict[Key, JSON] = {}
        self._now = datetime.min.replace(tzinfo=UTC)

    def calls(self, lines: Iterable[bytes]) -> Iterator[Call]:
        """Every call, as soon as its request is read; its response is put in when that line comes."""
        for number, line in joined(lines):
            if not holds_call(line):
                continue
            try:
                entry = Entry.read(line)
            except ValueError as problem:
                self.problems.append(f"line {number} of {len(line)} bytes holds a hook call, and {problem}")
                self._on_unreadable(number, line)
                continue
            if entry is None:
                continue
            self._now = entry.at
            if entry.is_request:
                call = Call(number, entry.at, entry.hook, entry.url, entry.body or {})
                self._calls_to(entry.url).add(call)
                yield call
            else:
                self._on_response(entry)

    def _calls_to(self, url: str) -> "_Open":
        return self._open.setdefault(url, _Open())

    def _on_unreadable(self, number: int, line: bytes) -> None:
        """A request that cannot be read is under way all the same, and an unreadable response ends a call."""
        url, at, is_request = rough(line)
        calls = self._calls_to(url)
        if is_request:
            calls.add(Call(number, at or self._now, "", "", {}))
            return
        call = calls.take(self._now)
        if call is not None:
            call.unanswered = f"line {number}, which holds it, cannot be read"

    def _on_response(self, entry: Entry) -> None:
        call = self._calls_to(entry.url).take(entry.at)
        if call is None:
            return
        if entry.body is not None and (not entry.body or entry.body.keys() & _ANSWER_FIELDS):
            call.response = self._answers[call.key] = entry.body
        elif entry.body is not None:
            call.unanswered = "the hook answered with JSON that is no answer, most likely a refusal"
        elif "unexpected end of JSON input" not in entry.problem:
            call.unanswered = "the hook answered with something that is not JSON, most likely a refusal"
        elif call.key in self._answers:
            # An empty body is 304: Metacontroller takes the answer that it was given last for this object's name.
            call.response = self._answers[call.key]
        else:
            call.unanswered = "the hook answered 304, and the answer it stands for is not in this log"


@dataclass(slots=True)
class _Open:
    """The calls to one URL that wait for a response."""

    calls: list[Call] = field(default_factory=list)
    mixed: int = 0  # responses that belong to some of `calls`, nobody knows to which

    def add(self, call: Call) -> None:
        """One more call; an earlier one about the same object has ended, or this one would not be made."""
        before = len(self.calls)
        self.calls = [one for one in self.calls if one.key != call.key]
        self.mixed = max(0, self.mixed - (before - len(self.calls)))
        self._forget(call.at)
        self.calls.append(call)

    def take(self, at: datetime) -> Call | None:
        """The one call that a response belongs to, or None where several wait."""
        self._forget(at)
        if len(self.calls) == 1 and not self.mixed:
            return self.calls.pop()
        for call in self.calls:
            call.unanswered = "several calls were under way at once, and the log does not say whose response is whose"
        self.mixed += 1
        if self.mixed >= len(self.calls):
            self.calls, self.mixed = [], 0
        return None

    def _forget(self, now: datetime) -> None:
        self.calls = [one for one in self.calls if (now - one.at).total_seconds() < _GIVEN_UP_SECONDS]
        self.mixed = min(self.mixed, len(self.calls))
