"""Real time behind the local control plane's clock: the loop that was written for simulated time runs unchanged."""

import heapq
import logging
import threading
import time
from datetime import UTC, datetime

from app.local.clock import Action, Clock

log = logging.getLogger(__name__)


class WallClock(Clock):
    """Runs what is due in one thread of its own, so that what it runs needs no locks.

    Actions may be asked for from any thread. One that raises ends with a log line and is kept in `failures`.
    """

    def __init__(self) -> None:
        super().__init__(datetime.now(UTC))
        self._began = time.monotonic()
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Action]] = []
        self._count = 0
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="wall-clock", daemon=True)
        self.failures: list[Exception] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._began

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.now(UTC)

    def after(self, seconds: float, action: Action) -> None:
        """Runs `action` in `seconds` from now."""
        with self._changed:
            self._count += 1
            heapq.heappush(self._waiting, (self.elapsed + seconds, self._count, action))
            self._changed.notify()

    def start(self) -> None:
        """Lets time count: nothing is run before."""
        self._thread.start()

    def stop(self) -> None:
        """Runs nothing any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(60)

    def _run(self) -> None:
        while (action := self._next()) is not None:
            try:
                action()
            except Exception as failure:
                log.exception("an action of the clock failed")
                self.failures.append(failure)

    def _next(self) -> Action | None:
        with self._changed:
            while not self._stopped:
                if self._waiting and self._waiting[0][0] <= self.elapsed:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(self._waiting[0][0] - self.elapsed if self._waiting else None)
        return None
