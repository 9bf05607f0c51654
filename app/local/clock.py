"""Simulated time: a clock that stands still until it is told to jump to the next thing due."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

# Every run begins at this instant, so that two runs of the same world write the same timestamps.
START = datetime(2026, 1, 1, tzinfo=UTC)

Action = Callable[[], None]


class Clock:
    """Simulated seconds since `start`, and the actions that are due at some of them.

    Actions due at the same instant run in the order in which they were asked for.
    """

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._due: list[tuple[float, int, Action]] = []
        self._serial = 0

    @property
    def elapsed(self) -> float:
        """Simulated seconds since the start."""
        return self._elapsed

    def now(self) -> datetime:
        """The simulated time, in UTC."""
        return self._start + timedelta(seconds=self._elapsed)

    def after(self, seconds: float, action: Action) -> None:
        """Runs `action` in `seconds` from now; zero is later in this same instant."""
        if seconds < 0:
            raise ValueError(f"an action cannot be due {-seconds} seconds ago")
        self._serial += 1
        heapq.heappush(self._due, (self._elapsed + seconds, self._serial, action))

    def next_due(self) -> float | None:
        """When the next action is due, in seconds since the start; None when there is none."""
        return self._due[0][0] if self._due else None

    def step(self) -> bool:
        """Jumps to the next due action and runs it. False when there is none."""
        if not self._due:
            return False
        moment, _, action = heapq.heappop(self._due)
        self._elapsed = moment
        action()
        return True

    def jump(self, elapsed: float) -> None:
        """Moves to `elapsed` seconds since the start and runs nothing: ValueError past an action or into the past."""
        if elapsed < self._elapsed or (self._due and elapsed > self._due[0][0]):
            raise ValueError(
                f"cannot jump from {self._elapsed} to {elapsed}: something is due in between, or it is past"
            )
        self._elapsed = elapsed
