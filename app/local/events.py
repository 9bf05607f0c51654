"""The event recorder: what a person reads under `kubectl describe`, with client-go's limits per object.

25 events per object and source at once, then one every five minutes; what is above is dropped without a trace. From
the tenth different message about one thing within ten minutes on, one event says that it stands for several.
"""

import hashlib

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import ApiError, NotFound
from app.local.store import Store
from app.local.values import name, namespace, uid

BURST = 25
REFILL_SECONDS = 300.0
SOURCE = "metacontroller"
# Of so many different messages within so many seconds, the last and all that follow are told as one.
SIMILAR = 10
SIMILAR_SECONDS = 600.0


class EventRecorder:
    """Writes Event objects. Equal ones are counted in one object, and count against the limit all the same."""

    def __init__(self, clock: Clock, store: Store, source: str = SOURCE) -> None:
        self._clock = clock
        self._store = store
        self._source = source
        self._prefix = hashlib.sha256(source.encode()).hexdigest()[:8]
        self._events = store.discovery.kind("v1", "Event")
        self._tokens: dict[str, tuple[float, float]] = {}
        self._similar: dict[tuple[str, str], tuple[float, set[str]]] = {}
        self._written: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._titles = 0

    def warn(self, obj: JSON, reason: str, message: str) -> None:
        """A Warning event about `obj`."""
        self._record(obj, "Warning", reason, message)

    def note(self, obj: JSON, reason: str, message: str) -> None:
        """A Normal event about `obj`."""
        self._record(obj, "Normal", reason, message)

    def _record(self, obj: JSON, kind: str, reason: str, message: str) -> None:
        identity, told = self._correlated(obj, reason, message)
        if not self._allowed(uid(obj)):
            return
        try:
            if not self._count_up(identity, told):
                self._create(identity, obj, kind, reason, told)
        except ApiError:
            return  # for example in a namespace that is being deleted: an event is never tried twice

    def _correlated(self, obj: JSON, reason: str, message: str) -> tuple[tuple[str, str, str], str]:
        """What makes this event the same as an earlier one, and its message."""
        key, now = (uid(obj), reason), self._clock.elapsed
        last, messages = self._similar.get(key, (now, set()))
        if now - last > SIMILAR_SECONDS:
            messages = set()
        messages.add(message)
        self._similar[key] = (now, messages)
        if len(messages) < SIMILAR:
            return (*key, message), message
        messages.discard(min(messages - {message}))
        return (*key, ""), f"(combined from similar events): {message}"

    def _count_up(self, identity: tuple[str, str, str], message: str) -> bool:
        if identity not in self._written:
            return False
        try:
            event = self._store.get(self._events, *self._written[identity])
        except NotFound:
            return False
        counted = {"count": event["count"] + 1, "lastTimestamp": self._now(), "message": message}
        self._store.update(event | counted, manager=self._source)
        return True

    def _create(self, identity: tuple[str, str, str], obj: JSON, kind: str, reason: str, message: str) -> None:
        space, now = namespace(obj) or "default", self._now()
        title = f"{name(obj)}.{self._prefix}{self._titles:08x}"
        self._titles += 1
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
            },
            manager=self._source,
        )
        self._written[identity] = (space, title)

    def _now(self) -> str:
        return times.render(self._clock.now())

    def _allowed(self, about: str) -> bool:
        tokens, since = self._tokens.get(about, (float(BURST), self._clock.elapsed))
        tokens = min(float(BURST), tokens + (self._clock.elapsed - since) / REFILL_SECONDS)
        allowed = tokens >= 1
        self._tokens[about] = (tokens - 1 if allowed else tokens, self._clock.elapsed)
        return allowed
