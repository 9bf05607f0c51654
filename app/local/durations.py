"""How long things take, and how Pods differ in it: a little, by a hash, so that a run repeats itself exactly."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds of each step of a Pod's life; each takes up to `spread` (a share) longer, Pod by Pod."""

    bind: float = 0.2
    pull: float = 12.0
    start: float = 1.0
    load: float = 36.0
    drain: float = 3.0
    spread: float = 0.5

    def longer(self, identity: str, what: str, seconds: float) -> float:
        """`seconds` as they are for one Pod or node and one step of it."""
        share = hashlib.sha256(f"{identity}/{what}".encode()).digest()[0] / 255
        return seconds * (1 + self.spread * share)
