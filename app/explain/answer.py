"""What an explanation is made of, and its form as JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.api.reasons import Explained
from app.kube.hook import JSON


@dataclass(frozen=True, slots=True)
class Command:
    """One line for a shell, and what it is for."""

    line: str
    why: str

    @property
    def document(self) -> JSON:
        """As JSON."""
        return _stated(line=self.line, why=self.why)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds quota that is waited for: one owner's Workloads of one priority in one ClusterQueue.

    `amounts` are quantities by resource, summed over the Workloads.
    """

    who: str
    namespace: str
    cluster_queue: str
    priority: int
    priority_class: str
    workloads: int
    amounts: Mapping[str, str]

    @property
    def document(self) -> JSON:
        """As JSON."""
        return _stated(
            who=self.who,
            namespace=self.namespace,
            clusterQueue=self.cluster_queue,
            priority=self.priority,
            priorityClass=self.priority_class,
            workloads=self.workloads,
            amounts=dict(self.amounts),
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is in the way: the part of the status that says so, its reason, and what is behind it.

    `holders` hold the quota that is waited for, and `release` says what would set it free.
    """

    about: str
    reason: str
    sentences: tuple[str, ...]
    holders: tuple[Holder, ...] = ()
    release: tuple[str, ...] = ()
    to_do: str = ""
    commands: tuple[Command, ...] = ()

    @property
    def document(self) -> JSON:
        """As JSON."""
        return _stated(
            about=self.about,
            reason=self.reason,
            sentences=list(self.sentences),
            holders=[holder.document for holder in self.holders],
            release=list(self.release),
            toDo=self.to_do,
            commands=[command.document for command in self.commands],
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer. `notes` are what is remembered or would come of an edit; `unread` is what may not be read."""

    namespace: str
    name: str
    phase: str
    summary: str
    got: tuple[str, ...] = ()
    waits: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def document(self) -> JSON:
        """As JSON: field names in camel case, empty ones left out."""
        return _stated(
            namespace=self.namespace,
            name=self.name,
            phase=self.phase,
            summary=self.summary,
            got=list(self.got),
            waits=[finding.document for finding in self.waits],
            notes=list(self.notes),
            unread=list(self.unread),
        )


@dataclass(slots=True)
class Part:
    """A finding while it is put together: each question adds what it has found out."""

    sentences: list[str] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    release: list[str] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def say(self, *sentences: str) -> None:
        """Adds sentences, but for empty ones and those that were said."""
        _add(self.sentences, sentences)

    def free(self, *sentences: str) -> None:
        """Adds sentences about what would set quota free."""
        _add(self.release, sentences)

    def hold(self, holders: Iterable[Holder]) -> None:
        """Adds holders that are not listed yet."""
        self.holders += [one for one in holders if one not in self.holders]

    def type(self, line: str, why: str) -> None:
        """Adds a command, unless the same line is there."""
        if all(line != one.line for one in self.commands):
            self.commands.append(Command(line, why))

    def finding(self, about: str, reason: str, to_do: str = "") -> Finding:
        """The finding."""
        return Finding(
            about,
            reason,
            sentences=tuple(self.sentences),
            holders=tuple(self.holders),
            release=tuple(self.release),
            to_do=to_do,
            commands=tuple(self.commands),
        )


def _add(to: list[str], sentences: Iterable[str]) -> None:
    to += [one for one in dict.fromkeys(sentences) if one and one not in to]


def sentence(message: str) -> str:
    """A message of the status with its full stop; its first word may be a name, and stays as it is."""
    return message and message + ("" if message.endswith((".", "…")) else ".")


def numbered(seats: str) -> str:
    """`replica 3`, `replicas 0-2,5`."""
    return f"replica{'' if seats.isdecimal() else 's'} {seats}"


def action_of(reasons: Iterable[Explained], reason: str) -> str:
    """What a reason of the status asks of whoever reads it; nothing where it is none that this version knows."""
    return next((known.action for known in reasons if known == reason), "")


def _stated(**fields: object) -> JSON:
    """The fields that say something: an empty one is left out, a zero is not."""
    return {name: value for name, value in fields.items() if value not in ("", [], {})}
