"""Which flavor each resource of a Workload gets, and in Kueue's words why not. Pure arithmetic over quota and usage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from app.local.quota.podsets import PodSet
from app.local.quota.queues import Cell, ClusterQueue, Flavor, Queues, ResourceGroup
from app.local.quota.verdict import Assignment, Mode, Severity, later, never, spelled_taint
from app.local.taints import untolerated
from app.local.values import listed, mapping

# Whether preemption could free so much of a cell.
CouldFree = Callable[[Cell, Fraction], bool]


@dataclass(slots=True)
class _Attempt:
    """One flavor tried for the resources of one group."""

    flavor: str
    mode: Mode = Mode.FIT
    short: set[Cell] = field(default_factory=set)


@dataclass(slots=True)
class _Search:
    """The words of all flavors that were tried for one set."""

    words: list[str] = field(default_factory=list)
    severity: Severity = Severity.NONE

    def object(self, words: str, severity: Severity) -> None:
        self.words.append(words)
        self.severity = max(self.severity, severity)


class Assigner:
    """Assigns flavors of one ClusterQueue, of which `used` is taken."""

    def __init__(self, queue: ClusterQueue, queues: Queues, used: Mapping[Cell, Fraction], could_free: CouldFree):
        self._queue = queue
        self._queues = queues
        self._used = used
        self._could_free = could_free

    def assign(self, sets: Sequence[PodSet]) -> Assignment:
        """The flavors for all sets of a Workload; later sets see what earlier ones were given."""
        found = Assignment()
        for one in sets:
            self._assign_set(one, found)
        return found

    def _assign_set(self, one: PodSet, found: Assignment) -> None:
        wanted = {resource: amount for resource, amount in one.total.items() if amount}
        if all("pods" not in group.resources for group in self._queue.groups):
            wanted.pop("pods", None)
        unknown = sorted(resource for resource in wanted if self._queue.group_of(resource) is None)
        if unknown:
            found.mode = Mode.NO_FIT
            words = f"resource {unknown[0]} unavailable in ClusterQueue"
            found.refuse(one.name, [words], Severity.NoMatchingFlavor)
            return
        found.flavors[one.name] = {}
        search = _Search()
        mode = Mode.FIT
        for group in self._queue.groups:
            asked = {resource: amount for resource, amount in sorted(wanted.items()) if resource in group.resources}
            if asked and mode is not Mode.NO_FIT:
                mode = min(mode, self._assign_group(one, group, asked, found, search))
        found.mode = min(found.mode, mode)
        if mode is not Mode.FIT:
            found.refuse(one.name, search.words, search.severity)

    def _assign_group(
        self, one: PodSet, group: ResourceGroup, asked: Mapping[str, Fraction], found: Assignment, search: _Search
    ) -> Mode:
        tried = _Search()
        best = self._search(one, group, asked, found.usage, tried)
        mode = best.mode if best else Mode.NO_FIT
        if mode is not Mode.FIT:
            search.words += tried.words
            search.severity = max(search.severity, tried.severity)
        if best is None or mode is Mode.NO_FIT:
            return mode
        found.short |= best.short
        for resource, amount in asked.items():
            found.flavors[one.name][resource] = best.flavor
            cell = (best.flavor, resource)
            found.usage[cell] = found.usage.get(cell, Fraction(0)) + amount
        return mode

    def _search(
        self,
        one: PodSet,
        group: ResourceGroup,
        asked: Mapping[str, Fraction],
        assumed: Mapping[Cell, Fraction],
        search: _Search,
    ) -> _Attempt | None:
        """The first flavor that fits, else the first that preemption would free."""
        best: _Attempt | None = None
        for title in group.flavors:
            flavor = self._queues.flavor(title)
            words = f"flavor {title} not found" if flavor is None else self._mismatch(one, flavor)
            if words:
                search.object(words, Severity.NoMatchingFlavor)
                continue
            attempt = self._try(title, asked, assumed, search)
            if best is None or attempt.mode > best.mode:
                best = attempt
            if best.mode is Mode.FIT or (best.mode is Mode.PREEMPT and self._queue.takes_first_preemption):
                break
        return best

    def _mismatch(self, one: PodSet, flavor: Flavor) -> str:
        """Why the Pods of a set cannot use a flavor at all, or nothing."""
        implied = all((found := self._queues.flavor(name)) and found.topology for name in self._queue.flavors)
        if one.level and flavor.topology is None:
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
        if one.level and one.level not in (self._queues.levels(flavor.topology or "") or ()):
            return f'Flavor "{flavor.name}" does not contain the requested level'
        if not one.level and flavor.topology and not implied:
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        tolerations = [*listed(one.spec.get("tolerations")), *flavor.tolerations]
        taints = untolerated({"spec": {"tolerations": tolerations}}, flavor.node_taints, ("NoSchedule", "NoExecute"))
        if taints:
            return f"untolerated taint {spelled_taint(taints[0])} in flavor {flavor.name}"
        selector = mapping(one.spec.get("nodeSelector"))
        if any(selector.get(key, value) != value for key, value in flavor.node_labels.items()):
            return f"flavor {flavor.name} doesn't match node affinity"
        return ""

    def _try(
        self, flavor: str, asked: Mapping[str, Fraction], assumed: Mapping[Cell, Fraction], search: _Search
    ) -> _Attempt:
        attempt = _Attempt(flavor)
        for resource, amount in asked.items():
            cell = (flavor, resource)
            before, most = assumed.get(cell, Fraction(0)), self._queue.quota[cell]
            left = most - self._used.get(cell, Fraction(0))
            if before + amount > most:
                search.object(never(cell, before, amount, most), Severity.ExceedsMaxQuota)
                attempt.mode = Mode.NO_FIT
                break
            if before + amount <= left:
                continue
            search.object(later(cell, before + amount - left), Severity.WaitingForQuota)
            attempt.short.add(cell)
            frees = self._queue.preempts != "Never" and self._could_free(cell, before + amount - left)
            attempt.mode = min(attempt.mode, Mode.PREEMPT if frees else Mode.NO_FIT)
            if attempt.mode is Mode.NO_FIT:
                break
        return attempt
