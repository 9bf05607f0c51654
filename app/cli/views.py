"""How `hangar run` shows what happens: plain lines, a live table, or a stream of JSON or YAML."""

from abc import ABC, abstractmethod
from collections import deque
from time import monotonic
from typing import Literal

import orjson
import typer
import yaml
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from app.cli.watching import Row, clock
from app.kube.hook import JSON

_STYLES = {"Ready": "green", "Degraded": "yellow", "Starting": "cyan", "Deleting": "magenta"}
_HEADINGS = ("NAME", "PHASE", "ROLES", "READY", "", "ENDPOINT", "ADMISSION")
_NEWS = 6
_REDRAW_SECONDS = 0.05


class View(ABC):
    """Is told what happens, as it happens. `seconds` are simulated ones since the start."""

    # Whether the text for people, in the end, belongs to it.
    for_people = True

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: object) -> None:
        return

    @abstractmethod
    def changed(self, row: Row, rows: dict[str, Row], seconds: float) -> None:
        """The row of a deployment has changed; `rows` are all of them."""

    @abstractmethod
    def entry(self, entry: JSON) -> None:
        """One entry of the timeline."""

    @abstractmethod
    def tick(self, rows: dict[str, Row], seconds: float, ahead: str) -> None:
        """Time alone has passed; `ahead` says what the script does next."""


class Lines(View):
    """One plain line per change of a deployment, event and action of a script."""

    def changed(self, row: Row, rows: dict[str, Row], seconds: float) -> None:
        """Prints the line; what is not known yet is left out."""
        parts = (row.phase, row.roles, row.ready, row.endpoint, row.admission, row.message)
        known = [part for part in parts if part not in {"", "-"}]
        typer.echo("  ".join([clock(seconds), row.name, *(known or ["applied"])]))

    def entry(self, entry: JSON) -> None:
        """Prints actions, and each event of a deployment when it is new."""
        words = news(entry)
        if words:
            typer.echo(f"{clock(entry['time'])}  {words}")

    def tick(self, rows: dict[str, Row], seconds: float, ahead: str) -> None:
        """Time alone is no news on paper."""


class LiveTable(View):
    """A table that follows the deployments, with the last news and what comes next."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)
        self._news: deque[str] = deque(maxlen=_NEWS)
        self._ahead = ""
        self._drawn = -_REDRAW_SECONDS
        self._shown: tuple[dict[str, Row], float] | None = None

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._update(*self._shown)
        self._live.stop()

    def changed(self, row: Row, rows: dict[str, Row], seconds: float) -> None:
        """Redraws the table."""
        self._draw(rows, seconds)

    def entry(self, entry: JSON) -> None:
        """Keeps the news for the next time it draws."""
        words = news(entry)
        if words:
            self._news.append(f"{clock(entry['time'])}  {words}")

    def tick(self, rows: dict[str, Row], seconds: float, ahead: str) -> None:
        """Redraws the table with the time as it is now."""
        self._ahead = ahead
        self._draw(rows, seconds)

    def _draw(self, rows: dict[str, Row], seconds: float) -> None:
        """Draws, but not more often than a person can see: hundreds of deployments would wait for their table."""
        self._shown = (rows, seconds)
        if monotonic() - self._drawn >= _REDRAW_SECONDS:
            self._update(rows, seconds)
            self._drawn = monotonic()

    def _update(self, rows: dict[str, Row], seconds: float) -> None:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in _HEADINGS:
            table.add_column(heading, overflow="fold")
        for one in rows.values():
            phase = Text(one.phase, _STYLES.get(one.phase, ""))
            table.add_row(one.name, phase, one.roles, one.ready, _progress(one.ready), one.endpoint, one.admission)
        # A sentence under the table stays readable where a column of it would not.
        messages = [Text(f"{one.name}: {one.message}") for one in rows.values() if one.message]
        told = [Text(words, "dim") for words in self._news]
        time = Text(f"{clock(seconds)} of simulated time{self._ahead and f'; next: {self._ahead}'}", "dim")
        self._live.update(Group(table, *messages, *told, time), refresh=True)


def _progress(ready: str) -> RenderableType:
    """A bar of ready among declared replicas; nothing before the first count, and at zero."""
    have, _, want = ready.partition("/")
    if not want.isdecimal() or want == "0":
        return ""
    return ProgressBar(total=int(want), completed=int(have), width=12)


class Stream(View):
    """The timeline for programs: one JSON object per line, or one YAML document per entry."""

    for_people = False

    def __init__(self, form: Literal["json", "yaml"]) -> None:
        self._form = form

    def changed(self, row: Row, rows: dict[str, Row], seconds: float) -> None:
        """The timeline tells it."""

    def entry(self, entry: JSON) -> None:
        """Prints the entry."""
        if self._form == "json":
            typer.echo(orjson.dumps(entry).decode())
        else:
            typer.echo(f"---\n{yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=1000)}", nl=False)

    def tick(self, rows: dict[str, Row], seconds: float, ahead: str) -> None:
        """Every entry has its time."""


def news(entry: JSON) -> str:
    """What an entry tells a person in one line: an action of the script, or an error event that is new."""
    if "script" in entry:
        return f"script, entry {entry['entry']}: {entry['script']}: {entry['message']}"
    event = entry.get("event")
    if event and event["count"] == 1 and entry["object"].startswith("ModelDeployment "):
        return f"{entry['object'].partition(' ')[2]}  {event['reason']}: {event['message']}"
    return ""
