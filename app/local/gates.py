"""What the probes of one container say over time, as its process answers, falls silent and answers again."""

import math
from collections.abc import Callable

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.podstatus import ContainerStatus
from app.local.probes import first_success, gives_up, startup_budget
from app.local.values import mapping

# Runs an action in so many seconds, where the function says so then and the process is still the same.
Plan = Callable[[float, Callable[[], None], Callable[[], bool]], None]


class Gates:
    """The startup, readiness and liveness probes of a container; they set `started` and `ready` of its status.

    `kill` is called when startup or liveness have given up, `unhealthy` with the name of each probe that has.
    """

    def __init__(
        self,
        spec: JSON,
        status: ContainerStatus,
        clock: Clock,
        plan: Plan,
        kill: Callable[[], None],
        unhealthy: Callable[[str], None],
    ) -> None:
        probes = (mapping(spec.get(probe)) for probe in ("startupProbe", "readinessProbe", "livenessProbe"))
        self._startup, self._readiness, self._liveness = probes
        self._status = status
        self._clock = clock
        self._later = plan
        self._kill = kill
        self._unhealthy = unhealthy
        self._born = 0.0
        # When the process answers, and since when it does not, in seconds of its age.
        self._answers_from = self._silent_from = 0.0
        # What was planned before it fell silent is void.
        self._answering = 0

    @property
    def _age(self) -> float:
        """Seconds since the process started."""
        return self._clock.elapsed - self._born

    def begin(self, answers_from: float) -> None:
        """A process starts, and answers after so many seconds."""
        self._born = self._clock.elapsed
        self._answering += 1
        self._silent_from, self._answers_from = 0.0, answers_from
        self._status.started, self._status.ready = not self._startup, False
        self._watch()

    def hang(self, seconds: float | None) -> None:
        """The process falls silent for so long; None is for ever."""
        self._answering += 1
        self._silent_from = self._age
        self._answers_from = math.inf if seconds is None else self._age + seconds
        self._watch()

    def _at(self, age: float, action: Callable[[], None]) -> None:
        """What a probe does when the process is that old: now, where it is; never, where that is infinite."""
        made = self._answering
        if age <= self._age:
            action()
        elif not math.isinf(age):
            self._later(age - self._age, action, lambda: self._answering == made)

    def _watch(self) -> None:
        """Plans what the probes will say, as the process answers now and is to answer."""
        if not self._status.started:
            seen = first_success(self._startup, max(self._age, self._answers_from))
            budget = startup_budget(self._startup)
            if seen <= budget:
                self._at(seen, self._pass_startup)
            else:
                self._at(budget, lambda: self._give_up("Startup"))
            return
        self._watch_readiness()
        if self._liveness and self._age < self._answers_from:
            end = gives_up(self._liveness, self._silent_from)
            if end < first_success(self._liveness, self._answers_from):
                self._at(end, lambda: self._give_up("Liveness"))

    def _pass_startup(self) -> None:
        self._status.started = True
        self._silent_from = self._age
        self._watch()

    def _watch_readiness(self) -> None:
        if not self._readiness:
            self._status.ready = True
            return
        seen = first_success(self._readiness, max(self._age, self._answers_from))
        lost = gives_up(self._readiness, self._silent_from) if self._age < self._answers_from else math.inf
        if self._status.ready and lost < seen:
            self._at(lost, lambda: self._set_ready(False))
        self._at(seen, lambda: self._set_ready(True))

    def _set_ready(self, ready: bool) -> None:
        if self._status.ready and not ready:
            self._unhealthy("Readiness")
        self._status.ready = ready

    def _give_up(self, probe: str) -> None:
        self._unhealthy(probe)
        self._kill()
