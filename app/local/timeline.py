"""The timeline of a run: what changed of the objects that are looked at, and the events, each with its time.

An entry is a map that can be printed as JSON; the same run gives the same entries, byte for byte.
"""

from collections.abc import Callable, Mapping

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.table import Change, Table
from app.local.values import mapping, qualified, uid

EVENT = "Event.v1"

# From an object to what is told of it; an object whose telling has not changed has not changed.
Tell = Callable[[JSON], JSON]


class Timeline:
    """Entries in the order in which they came. `on_entry` is told each of them.

    An entry of an object has `time` (simulated seconds since the start), `object` (`Pod team-a/x`) and what `tell`
    says of its kind, or `deleted: true`; one of an event has `event` with `type`, `reason`, `message` and `count`.
    """

    def __init__(
        self,
        table: Table,
        clock: Clock,
        tell: Mapping[str, Tell],
        on_entry: Callable[[JSON], None] = lambda _: None,
    ) -> None:
        self.entries: list[JSON] = []
        self._clock = clock
        self._tell = tell
        self._on_entry = on_entry
        self._told: dict[str, JSON] = {}
        table.watch(self._on_change)

    def note(self, words: JSON) -> None:
        """An entry of whoever makes things happen."""
        self._add(words)

    def _add(self, entry: JSON) -> None:
        dated = {"time": round(self._clock.elapsed, 3), **entry}
        self.entries.append(dated)
        self._on_entry(dated)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == EVENT:
            if change.type != "DELETED":
                self._on_event(change.new)
        elif change.resource.key in self._tell:
            self._on_object(change)

    def _on_event(self, event: JSON) -> None:
        about = mapping(event.get("involvedObject"))
        place = f"{about.get('namespace')}/{about.get('name')}" if about.get("namespace") else about.get("name")
        told = {field: event.get(field) for field in ("type", "reason", "message", "count")}
        self._add({"object": f"{about.get('kind')} {place}", "event": told})

    def _on_object(self, change: Change) -> None:
        title = {"object": f"{change.new['kind']} {qualified(change.new)}"}
        if change.type == "DELETED":
            self._told.pop(uid(change.new), None)
            self._add({**title, "deleted": True})
            return
        told = self._tell[change.resource.key](change.new)
        if self._told.get(uid(change.new)) != told:
            self._told[uid(change.new)] = told
            self._add({**title, **told})
