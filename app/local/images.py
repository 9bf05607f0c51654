"""The images on each node: pulled once, however many Pods want them."""

from app.local.clock import Clock
from app.local.durations import Durations


class Images:
    """When which image is there, by node."""

    def __init__(self, clock: Clock, durations: Durations) -> None:
        self._clock = clock
        self._durations = durations
        self._there: dict[tuple[str, str], float] = {}

    def cached(self, node: str, image: str) -> bool:
        """Whether the node has the image."""
        return self._there.get((node, image), float("inf")) <= self._clock.elapsed

    def pull(self, node: str, image: str) -> float:
        """Seconds until the image is there; a pull that goes on already is waited for."""
        seconds = self._durations.longer(f"{node}/{image}", "pull", self._durations.pull)
        there = self._there.setdefault((node, image), self._clock.elapsed + seconds)
        return max(0.0, there - self._clock.elapsed)
