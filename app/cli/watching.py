"""What `hangar run` shows: the deployments as they change, and in the end what they have got or still wait for."""

from dataclasses import dataclass

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.kinds import MODEL_DEPLOYMENT
from app.kube.hook import JSON
from app.kube.pods import mapping, maps

_ABNORMAL = frozenset(one.type for one in MODEL_DEPLOYMENT_CONDITIONS if one.only_when_true)
_STYLES = {"Ready": "green", "Degraded": "yellow", "Starting": "cyan", "Deleting": "magenta"}


@dataclass(frozen=True, slots=True)
class Row:
    """What one deployment shows of itself in one line."""

    name: str
    phase: str
    roles: str
    ready: str
    endpoint: str
    admission: str
    message: str


HEADINGS = ("NAME", "PHASE", "ROLES", "READY", "ENDPOINT", "ADMISSION")


def row(obj: JSON) -> Row:
    """The line of a stored ModelDeployment; what its status does not say yet is a dash or empty."""
    status, metadata = mapping(obj.get("status")), obj["metadata"]
    admission = mapping(status.get("admission"))
    words = [admission[part] for part in ("phase", "reason") if admission.get(part)]
    return Row(
        name=f"{metadata['namespace']}/{metadata['name']}",
        phase=status.get("phase") or "-",
        roles=status.get("roleSummary") or "-",
        ready=status.get("ready") or "-",
        endpoint=status.get("endpoint") or "-",
        admission="/".join(words) or "-",
        message=status.get("phaseMessage") or "",
    )


def settled(obj: JSON) -> bool:
    """Whether the status answers for the spec as it is now and says Ready."""
    status = mapping(obj.get("status"))
    return status.get("phase") == "Ready" and status.get("observedGeneration") == obj["metadata"]["generation"]


def serves(obj: JSON) -> bool:
    """Whether the condition Ready is true: a deployment scaled to zero settles and serves nothing."""
    conditions = maps(mapping(obj.get("status")).get("conditions"))
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def waits_for(obj: JSON, event: str) -> str:
    """Why a deployment does not serve, in one paragraph; `event` is its newest error event, if any."""
    shown, conditions = row(obj), maps(mapping(obj.get("status")).get("conditions"))
    sentences = [
        f"{shown.name} is {shown.phase}: {shown.message}" if shown.message else f"{shown.name} is {shown.phase}"
    ]
    if shown.phase == "-":
        sentences = [f"{shown.name} has no status: its hook was never answered"]
    against = [one for one in conditions if one.get("type") in _ABNORMAL and one.get("status") == "True"]
    untrue = [one for one in conditions if one.get("type") not in _ABNORMAL and one.get("status") != "True"]
    sentences += [f"{one['type']}, {one['reason']}: {one['message']}" for one in against]
    sentences += [f"{one['type']} is {one['status']}, {one['reason']}: {one['message']}" for one in untrue]
    if event:
        sentences.append(f"last event, {event}")
    return "\n  ".join(sentences)


def clock(seconds: float) -> str:
    """Simulated time since the start, as `hh:mm:ss`."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def summary(objects: list[JSON], seconds: float) -> str:
    """The rows that `kubectl get modeldeployments -A -o wide` would print."""
    columns = [column for column in MODEL_DEPLOYMENT.columns if column.type != "date"]
    head = ["NAMESPACE", "NAME", *(column.name.upper() for column in columns), "AGE"]
    body = [
        [
            *(obj["metadata"][part] for part in ("namespace", "name")),
            *(_at(obj, column.path) for column in columns),
            f"{int(seconds)}s",
        ]
        for obj in objects
    ]
    widths = [max(len(line[index]) for line in [head, *body]) for index in range(len(head))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in [head, *body]]
    return "\n".join(line.rstrip() for line in lines)


def _at(obj: JSON, path: str) -> str:
    found: object = obj
    for step in path.strip(".").split("."):
        found = mapping(found).get(step)
    return "" if found is None else str(found)


class Lines:
    """One plain line per change of a deployment, with the simulated time in front."""

    def show(self, changed: Row, _: dict[str, Row], seconds: float) -> None:
        """Prints the line; what is not known yet is left out."""
        parts = (changed.phase, changed.roles, changed.ready, changed.endpoint, changed.admission, changed.message)
        known = [part for part in parts if part not in {"", "-"}]
        typer.echo("  ".join([clock(seconds), changed.name, *(known or ["applied"])]))

    def tick(self, rows: dict[str, Row], seconds: float) -> None:
        """Time alone is no news on paper."""


class LiveTable:
    """A table that follows the deployments; use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, _: Row, rows: dict[str, Row], seconds: float) -> None:
        """Redraws the table."""
        self.tick(rows, seconds)

    def tick(self, rows: dict[str, Row], seconds: float) -> None:
        """Redraws the table with the time as it is now."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in HEADINGS:
            table.add_column(heading, overflow="fold")
        for one in rows.values():
            phase = Text(one.phase, _STYLES.get(one.phase, ""))
            table.add_row(one.name, phase, one.roles, one.ready, one.endpoint, one.admission)
        # A sentence under the table stays readable where a column of it would not.
        messages = [Text(f"{one.name}: {one.message}") for one in rows.values() if one.message]
        time = Text(f"{clock(seconds)} of simulated time", "dim")
        self._live.update(Group(table, *messages, time), refresh=True)


View = Lines | LiveTable
