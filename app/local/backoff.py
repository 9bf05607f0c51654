"""The kubelet's back-off, for crashing containers and for images that cannot be pulled: 10 s, doubling to 5 min."""

FIRST = 10.0
LONGEST = 300.0


class BackOff:
    """How long the next attempt waits, counted from the end of the last one.

    The first failure does not wait. After ten minutes without one (twice the longest wait) it all begins anew.
    https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._moved = 0.0

    def left(self, ended: float, now: float) -> float:
        """Seconds until the next attempt after one that ended at `ended`; 0 where it may be made at once."""
        if not self.seconds or ended - self._moved > 2 * LONGEST:
            return 0.0
        return max(0.0, ended + self.seconds - now)

    def move(self, ended: float, now: float) -> None:
        """An attempt is made now: the wait after it is longer."""
        fresh = not self.seconds or ended - self._moved > 2 * LONGEST
        self.seconds = FIRST if fresh else min(2 * self.seconds, LONGEST)
        self._moved = now
