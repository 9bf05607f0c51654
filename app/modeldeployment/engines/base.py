"""What Hangar needs to know of an engine. One instance per engine, in the module of its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.api.role import RoleKind
from app.modeldeployment.engines.flags import Grammar, Key


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine: how it is started, how it reads flags, and what it tells of its load.

    - `base`: the command line's beginning for a model.
    - `flags`: the flag that a typed setting is rendered to; those in `switches` take no value and are rendered where
      the degree is above 1.
    - `distributed`: the flags of one member of a replica of several Pods, from (size, member, leader's address).
    - `split`: the flags of a half, where both halves are declared; `bootstrap_port` is what a Prefill then opens.
    - `gauges`: the names of the metrics that add up to the requests in flight, as a regular expression without groups
      that capture; every Pod carries it, so it is short.
    - `numbers`: variables that the engine reads as whole numbers above 0.
    - `several_pods_since`: the first release that knows the distributed flags; None where every release does.
    """

    name: str
    grammar: Grammar
    base: Callable[[str], list[str]]
    flags: Mapping[Key, str]
    distributed: Callable[[int, int, str], list[str]]
    gauges: str
    numbers: frozenset[str] = frozenset()
    switches: frozenset[Key] = frozenset()
    split: Callable[[RoleKind], list[str]] = field(default=lambda _: [])
    bootstrap_port: int | None = None
    several_pods_since: tuple[int, int, int] | None = None

    def setting(self, key: Key, value: int | str) -> list[str]:
        """The arguments of one typed setting; none for a switch that is off."""
        if key not in self.switches:
            return [self.flags[key], str(value)]
        return [self.flags[key]] if int(value) > 1 else []
