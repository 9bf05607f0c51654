"""A controller's work queue: one entry per key, delays, and a backoff per key that doubles."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from app.local.clock import Clock

BASE_DELAY = 0.005
MAX_DELAY = 1000.0
# From a write to the call of the hook: what the real Metacontroller takes on an idle machine. Changes within it are
# answered by one sync.
WATCH_DELAY = 0.05
# The shortest time that one call takes. Without it a zero delay would loop in one instant of simulated time for ever;
# the real Metacontroller was seen to make 300 calls a second.
CALL_TIME = 1 / 300

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """Calls `process` with a key when it is due."""

    def __init__(self, clock: Clock, process: Callable[[Key], None]) -> None:
        self._clock = clock
        self._process = process
        self._ready: set[Key] = set()
        self._waiting: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        # Keys whose call is still under way, and whether they are to be processed again after it.
        self._held: dict[Key, bool] = {}

    @property
    def failing(self) -> list[Key]:
        """Keys that failed the last time and are to be tried again."""
        return list(self._failures)

    def add(self, key: Key) -> None:
        """Processes `key` soon, after something that was watched changed."""
        if key not in self._ready:
            self._ready.add(key)
            self._clock.after(WATCH_DELAY, lambda: self._run(key))

    def add_after(self, key: Key, seconds: float) -> None:
        """Processes `key` after at least one call's time; of several delays of one key the earliest counts."""
        seconds = max(seconds, CALL_TIME)
        due = self._clock.elapsed + seconds
        if due < self._waiting.get(key, float("inf")):
            self._waiting[key] = due
            self._clock.after(seconds, lambda: self._run_waiting(key, due))

    def add_rate_limited(self, key: Key) -> None:
        """Processes `key` again after 5 ms, doubling with each failure up to 1000 s."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(BASE_DELAY * 2.0 ** min(failures, 20), MAX_DELAY))

    def forget(self, key: Key) -> None:
        """Begins the backoff of `key` anew."""
        self._failures.pop(key, None)

    def hold(self, key: Key) -> None:
        """Processes `key` no more until it is released: one key is never in two hands."""
        self._held[key] = False

    def release(self, key: Key) -> None:
        """Ends a hold; what came due meanwhile is processed soon."""
        if self._held.pop(key):
            self.add(key)

    def _run_waiting(self, key: Key, due: float) -> None:
        if self._waiting.get(key) == due:
            del self._waiting[key]
            self._take(key)

    def _run(self, key: Key) -> None:
        self._ready.discard(key)
        self._take(key)

    def _take(self, key: Key) -> None:
        if key in self._held:
            self._held[key] = True
        else:
            self._process(key)
