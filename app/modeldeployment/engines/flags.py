"""A user's own flags, read as the engine's parser reads them.

Both engines use argparse: `--flag value` and `--flag=value`, names may be shortened while they stay unique, an exact
name wins, the last occurrence counts. vLLM also takes underscores for dashes and members of a document as
`--flag.member`. Hangar knows only the flags that it judges, so: an exact spelling is that flag, a spelling longer than
every flag is another flag, and the beginning of a flag is read as that flag. The engine refuses what is not unique.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

_NUMBER = re.compile(r"-\.?[0-9]")


class Key(StrEnum):
    """A setting that Hangar reads on a command line, whatever the engine calls its flag."""

    HOST = "host"
    PORT = "port"
    CERTIFICATE = "certificate"
    PRIVATE_KEY = "private key"
    CLIENT_CERTIFICATE = "client certificate"
    SERVED_NAME = "served name"
    MODEL = "model"
    CONTEXT_LENGTH = "context length"
    QUANTIZATION = "quantization"
    KV_CACHE_DTYPE = "KV cache dtype"
    TENSOR = "tensor"
    PIPELINE = "pipeline"
    DATA = "data"
    DATA_LOCAL = "local data"
    DATA_RANK = "data rank"
    EXPERT = "expert"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag as it was written: its spelling without the value, and the arguments up to the next flag."""

    spelling: str
    values: tuple[str, ...]

    @property
    def value(self) -> str | None:
        """The flag's own value; None where it has none."""
        return self.values[0] if self.values else None


@dataclass(frozen=True, slots=True)
class Flags:
    """What a command line states of what Hangar reads, by `Key` or by the owned flag's name; the last one counts.

    `ambiguous` lists spellings that are the beginning of several flags, each with the names of those flags.
    """

    found: Mapping[str, Flag]
    ambiguous: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __contains__(self, key: str) -> bool:
        return key in self.found

    def value(self, key: str) -> str | None:
        """The value of a flag; None where the flag or its value is missing."""
        flag = self.found.get(key)
        return flag.value if flag else None


@dataclass(frozen=True, slots=True)
class Grammar:
    """How one engine spells what Hangar reads. Made by `grammar`.

    `exact` maps a spelling to its key, `shortened` the beginning of spellings to those spellings. `flexible`:
    underscores are dashes, and `--flag.member` is `--flag`.
    """

    exact: Mapping[str, str]
    shortened: Mapping[str, tuple[str, ...]]
    flexible: bool

    def read(self, arguments: Sequence[str]) -> Flags:
        """Reads a command line; what is not known is passed over."""
        found: dict[str, Flag] = {}
        ambiguous: list[tuple[str, tuple[str, ...]]] = []
        for index, argument in enumerate(arguments):
            if not _is_option(argument):
                continue
            spelling, equals, value = argument.partition("=")
            name, attached = self._name(spelling)
            candidates = self._candidates(name)
            if not candidates:
                continue
            if len({self.exact[candidate] for candidate in candidates}) > 1:
                ambiguous.append((spelling, candidates))
                continue
            values = (value,) if equals else (attached,) if attached else _following(arguments, index + 1)
            found[self.exact[candidates[0]]] = Flag(spelling, values)
        return Flags(found, tuple(ambiguous))

    def _name(self, spelling: str) -> tuple[str, str]:
        """The flag's name, and the value where one is attached to a single letter: `-n2`."""
        if spelling.startswith("--"):
            return (spelling.partition(".")[0].replace("_", "-") if self.flexible else spelling), ""
        if spelling not in self.exact and spelling[:2] in self.exact:
            return spelling[:2], spelling[2:]
        return spelling, ""

    def _candidates(self, name: str) -> tuple[str, ...]:
        return (name,) if name in self.exact else self.shortened.get(name, ())


def grammar(
    spellings: Mapping[str, Iterable[str]], *, flexible: bool = False, unabbreviated: Iterable[str] = ()
) -> Grammar:
    """The grammar of an engine from its spellings by key; those in `unabbreviated` are read in full only."""
    exact = {spelling: key for key, known in spellings.items() for spelling in known}
    shortened: dict[str, tuple[str, ...]] = {}
    for spelling in exact:
        shortest = 3 if spelling.startswith("--") else 2
        if spelling not in unabbreviated:
            for length in range(shortest, len(spelling)):
                beginning = spelling[:length]
                shortened[beginning] = (*shortened.get(beginning, ()), spelling)
    return Grammar(exact, shortened, flexible)


def _is_option(argument: str) -> bool:
    """Whether argparse takes it for a flag: not a number, not a sentence, not the bare `--`."""
    if len(argument) < 2 or argument[0] != "-" or argument == "--" or _NUMBER.match(argument):
        return False
    return " " not in argument.partition("=")[0]


def _following(arguments: Sequence[str], start: int) -> tuple[str, ...]:
    """The arguments from `start` up to the next flag."""
    end = start
    while end < len(arguments) and arguments[end] != "--" and not _is_option(arguments[end]):
        end += 1
    return tuple(arguments[start:end])
