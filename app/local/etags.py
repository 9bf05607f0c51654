"""What one hook answered last, by its ETag."""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.values import mapping, name, namespace


class ControllerPanics(Exception):
    """Metacontroller panics while it starts the controller, over and over: no sync, and no event that says so."""


class EtagCache:
    """Bodies by kind, namespace and name of the parent, not by its UID: a parent made anew meets the old entry."""

    def __init__(self, clock: Clock, timeout_seconds: int) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._entries: dict[tuple[str, str, str], tuple[str, bytes, float]] = {}

    @classmethod
    def of(cls, clock: Clock, hook: str, webhook: JSON) -> "EtagCache | None":
        """The cache that a webhook asks for, or None. Raises ControllerPanics.

        With a time-out and no cleanup interval the real one reads the absent one through a null pointer.
        """
        etag = mapping(webhook.get("etag"))
        if not etag.get("enabled"):
            return None
        if "cacheTimeoutSeconds" in etag and "cacheCleanupSeconds" not in etag:
            words = "etag has cacheTimeoutSeconds without cacheCleanupSeconds: set both or neither"
            raise ControllerPanics(f"the {hook} hook's {words}")
        return cls(clock, int(etag.get("cacheTimeoutSeconds", 0)))

    def get(self, root: JSON) -> tuple[str, bytes] | None:
        """The tag and body that were answered last for this name, unless they are older than the time-out."""
        found = self._entries.get((root["kind"], namespace(root), name(root)))
        if found is None or (self._timeout > 0 and self._clock.elapsed - found[2] > self._timeout):
            return None
        return found[0], found[1]

    def put(self, root: JSON, tag: str, body: bytes) -> None:
        """Keeps an answer."""
        self._entries[root["kind"], namespace(root), name(root)] = (tag, body, self._clock.elapsed)
