"""The event recorder: what a person reads under `kubectl describe`, with client-go's limit per object.

25 events per object and source at once, then one every five minutes; what is above is dropped without a trace.
"""

import hashlib

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.store import Store
from app.local.values import name, namespace, uid

BURST = 25
REFILL_SECONDS = 300.0
SOURCE = "metacontroller"


class EventRecorder:
    """Writes Event objects. Equal ones are counted in one object, and count against the limit all the same."""

    def __init__(self, clock: Clock, store: Store, source: str = SOURCE) -> None:
        self._clock = clock
        self._store = store
        self._source = source
        self._prefix = hashlib.sha256(source.encode()).hexdigest()[:8]
        self._tokens: dict[str, tuple[float, float]] = {}
        self._written: dict[tuple[str, str, str], tuple[str, str]] = {}

    def warn(self, obj: JSON, reason: str, message: str) -> None:
        """A Warning event about `obj`."""
        self._record(obj, "Warning", reason, message)

    def note(self, obj: JSON, reason: str, message: str) -> None:
        """A Normal event about `obj`."""
        self._record(obj, "Normal", reason, message)

    def _record(self, obj: JSON, kind: str, reason: str, message: str) -> None:
        if not self._allowed(uid(obj)):
            return
        identity = (uid(obj), reason, message)
        now = times.render(self._clock.now())
        resource = self._store.discovery.kind("v1", "Event")
        if identity in self._written:
            event = self._store.get(resource, *self._written[identity])
            self._store.update(event | {"count": event["count"] + 1, "lastTimestamp": now})
            return
        space = namespace(obj) or "default"
        title = f"{name(obj)}.{self._prefix}{len(self._written):08x}"
        self._written[identity] = (space, title)
        about = {key: obj.get(key) for key in ("apiVersion", "kind")}
        self._store.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": title, "namespace": space},
                "involvedObject": about | {"name": name(obj), "namespace": namespace(obj), "uid": uid(obj)},
                "type": kind,
                "reason": reason,
                "message": message,
                "source": {"component": self._source},
                "count": 1,
                "firstTimestamp": now,
                "lastTimestamp": now,
            }
        )

    def _allowed(self, about: str) -> bool:
        tokens, since = self._tokens.get(about, (float(BURST), self._clock.elapsed))
        tokens = min(float(BURST), tokens + (self._clock.elapsed - since) / REFILL_SECONDS)
        allowed = tokens >= 1
        self._tokens[about] = (tokens - 1 if allowed else tokens, self._clock.elapsed)
        return allowed
