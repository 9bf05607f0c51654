"""One run of `hangar run`: lets time pass towards a goal, shows what happens, and says in the end what came of it."""

from collections.abc import Sequence
from pathlib import Path
from time import sleep

import typer

from app.cli.cluster import Cluster
from app.cli.documents import STDIN, read
from app.cli.goals import DEPLOYMENT, Goal, Ready
from app.cli.problems import CommandError
from app.cli.script.reading import Event, Script
from app.cli.script.stage import apply_document, play
from app.cli.views import View
from app.cli.watching import Row, clock, row, summary, tell_deployment, tell_node, tell_pod, waits_for
from app.kube.hook import JSON
from app.local.table import Change
from app.local.timeline import Timeline

# What a script does shows within this time: a lost node is noticed after 50 seconds.
SETTLE_SECONDS = 60.0
_LONGEST_PAUSE = 0.25


class Board:
    """Follows a cluster. Times are simulated seconds since the start, `speed` is how many of them pass in one."""

    def __init__(self, cluster: Cluster, view: View, goal: Goal, speed: float) -> None:
        self._cluster = cluster
        self._plane = cluster.plane
        self._view = view
        self._goal = goal
        self._speed = speed
        self._rows: dict[str, Row] = {}
        self._ahead: list[Event] = []
        self._reached = self._interrupted = False
        self._timeout = 0.0
        told = {DEPLOYMENT: tell_deployment, "Pod.v1": tell_pod, "Node.v1": tell_node}
        self._plane.store.watch(self._on_change)
        self._timeline = Timeline(self._plane.store, self._plane.clock, told, view.entry)

    def run(self, script: Script, timeout: float, watched: Sequence[str] = ()) -> None:
        """Lets time pass until the goal is reached, at most `timeout` after the script's last event.

        Then goes on while files are `watched`, until it is interrupted; an interruption ends it at any time. Raises
        CommandError where the script goes wrong.
        """
        self._ahead = list(script.events)
        self._timeout = timeout
        play(script, self._cluster, self._on_event)
        settled = script.end + SETTLE_SECONDS if script.events else 0.0
        for moment in {settled, getattr(self._goal, "end", 0.0)}:
            self._plane.clock.after(moment, lambda: None)  # so that the goal is asked at that moment too

        def reached() -> bool:
            now = self._plane.clock.elapsed
            # While syncs fail, a status is the last one that came, and may be old.
            return now >= settled and self._goal.reached(now) and not self._plane.metacontroller.failing

        limit = max(script.end + timeout, getattr(self._goal, "end", 0.0))
        try:
            self._reached = self._plane.run_until(reached, limit, self._pause if self._speed else None)
            if watched and self._reached:
                self._watch(Files(watched))
        except KeyboardInterrupt:
            self._interrupted = True
            typer.echo("Interrupted.", err=True)

    def _watch(self, files: "Files") -> None:
        typer.echo(f"Watching {', '.join(files.names)}; Ctrl-C ends the run.", err=True)
        while True:
            self._plane.run_until(files.changed, SETTLE_SECONDS, self._pause)
            if files.changed():
                files.apply(self._cluster)

    def _on_change(self, change: Change) -> None:
        self._goal.follow(change)
        if change.resource.key != DEPLOYMENT:
            return
        shown = row(change.new)
        if change.type == "DELETED":
            self._rows.pop(shown.name, None)
        elif self._rows.get(shown.name) != shown:
            self._rows[shown.name] = shown
            self._view.changed(shown, self._rows, self._plane.clock.elapsed)

    def _on_event(self, event: Event, told: str) -> None:
        self._ahead.remove(event)
        self._timeline.note({"script": event.name, "entry": event.number, "message": told})

    def _pause(self, seconds: float) -> None:
        sleep(min(seconds / self._speed, _LONGEST_PAUSE))
        ahead = f"{self._ahead[0].name} at {clock(self._ahead[0].at)}" if self._ahead else ""
        self._view.tick(self._rows, self._plane.clock.elapsed + seconds, ahead)

    def conclude(self) -> int:
        """Says what came of it, and returns the exit code."""
        found = self._plane.all_of(DEPLOYMENT)
        missing = [obj for obj in found if not self._goal.kept(obj)]
        done = self._reached and not missing
        waits = [] if done else self._waits(found, missing)
        result = {"goal": self._goal.words, "reached": done, "waitsFor": waits}
        self._timeline.note({"result": result})
        if self._view.for_people:
            self._print(found, missing)
        if not done:
            if not self._reached:
                when = "when it was interrupted" if self._interrupted else f"within {self._timeout:g} simulated seconds"
                typer.echo(f"Not {self._goal.words} {when}:", err=True)
            for words in waits:
                typer.echo(words, err=True)
        return 0 if done else 1

    def _waits(self, found: list[JSON], missing: list[JSON]) -> list[str]:
        """Sentences on each deployment that is not where it should be, or may not be."""
        if not found:
            return ["there is no ModelDeployment any more"]
        waits = [waits_for(obj, self._newest_event(obj)) for obj in missing]
        failing = self._plane.metacontroller.failing
        for obj in found:
            if obj not in missing and row(obj).name in failing:
                event = self._newest_event(obj)
                waits.append(f"{row(obj).name}: its last sync failed, so its status may be old\n  last event, {event}")
        return waits

    def _print(self, found: list[JSON], missing: list[JSON]) -> None:
        if found:
            typer.echo(f"\n{summary(found, self._plane.clock.now())}")
        for obj in found if isinstance(self._goal, Ready) else ():
            if obj not in missing:
                typer.echo(f"{row(obj).name} serves at {row(obj).endpoint}")

    def _newest_event(self, obj: JSON) -> str:
        events = self._plane.all_of("Event.v1", obj["metadata"]["namespace"])
        about = [event for event in events if event["involvedObject"]["uid"] == obj["metadata"]["uid"]]
        newest = max(about, key=lambda event: int(event["metadata"]["resourceVersion"]), default=None)
        return "" if newest is None else f"{newest['reason']}: {newest['message']}"


class Files:
    """Manifests that are applied again when they are saved. What is taken out of them stays, as with kubectl apply."""

    def __init__(self, files: Sequence[str]) -> None:
        self.names = [file for file in files if file != STDIN]
        self._seen = self._times()

    def _times(self) -> list[int]:
        return [Path(file).stat().st_mtime_ns if Path(file).exists() else 0 for file in self.names]

    def changed(self) -> bool:
        """Whether any of them was saved since it was applied."""
        return self._times() != self._seen

    def apply(self, cluster: Cluster) -> None:
        """Applies them; a mistake is told, and what runs goes on."""
        self._seen = self._times()
        try:
            for document in read(self.names):
                apply_document(cluster, document)
        except CommandError as mistake:
            typer.echo(str(mistake), err=True)
