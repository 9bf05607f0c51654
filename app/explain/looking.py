"""Reading what may be read: each object once, and a note of each that could not be."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

from app.kube.hook import JSON
from app.kube.reader import Forbidden, NotFound, NotServed, ObjectKind, Objects, Reader, ReadError
from app.settings import KUEUE_VERSIONS

KUEUE = "kueue.x-k8s.io"
_Found = TypeVar("_Found")


class Gap(Enum):
    """Why there is no object: it does not exist, or nobody may say."""

    NOT_THERE = "not there"
    NOT_READ = "not read"


# One kind in the versions of it that are read, the preferred one first.
Kinds = tuple[ObjectKind, ...]


def kueue(kind: str) -> Kinds:
    """A kind of Kueue's, in the versions that Hangar reads."""
    return tuple(ObjectKind(f"{KUEUE}/{version}", kind) for version in KUEUE_VERSIONS)


class Look:
    """A reader that remembers. What may not be read is noted in `unread`; any other failure is the caller's to see."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._ones: dict[tuple[str, str, str], JSON | Gap] = {}
        self._lists: dict[tuple[str, ...], Objects | None] = {}
        self.unread: list[str] = []

    def one(self, kinds: Kinds, name: str, namespace: str = "") -> JSON | Gap:
        """The object, or why there is none."""
        key = (kinds[0].kind, namespace, name)
        if key not in self._ones:
            try:
                self._ones[key] = self._first(kinds, lambda kind: self._reader.get(kind, name, namespace))
            except NotFound:
                self._ones[key] = Gap.NOT_THERE
            except (Forbidden, NotServed) as problem:
                self._note(f"{kinds[0].kind} {name}", problem)
                self._ones[key] = Gap.NOT_READ
        return self._ones[key]

    def all(
        self,
        kinds: Kinds,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        called: str = "",
    ) -> Objects | None:
        """All such objects, or None where they may not be read; `called` is how the note of that names them."""
        chosen = [f"{key}={value}" for key, value in (*(labels or {}).items(), *(fields or {}).items())]
        key = (kinds[0].kind, namespace, *chosen)
        if key not in self._lists:
            try:
                self._lists[key] = self._first(
                    kinds, lambda kind: self._reader.list(kind, namespace, labels=labels, fields=fields)
                )
            except (Forbidden, NotServed) as problem:
                where = f"in namespace {namespace}" if namespace else "of the whole cluster"
                self._note(called or f"{kinds[0].kind} objects {where}", problem)
                self._lists[key] = None
        return self._lists[key]

    def workloads(self, namespace: str) -> Objects | None:
        """The Workloads of the cluster, or where those may not be listed of one namespace."""
        found = self.all(kueue("Workload"), called="Workloads of other namespaces, which may hold quota too")
        return self.all(kueue("Workload"), namespace) if found is None else found

    @staticmethod
    def _first(kinds: Kinds, read: Callable[[ObjectKind], _Found]) -> _Found:
        """What is read in the first version that the cluster serves. Raises what the last one raised."""
        for kind in kinds[:-1]:
            try:
                return read(kind)
            except NotServed:
                continue
        return read(kinds[-1])

    def _note(self, what: str, problem: ReadError) -> None:
        why = "this cluster serves no such kind" if isinstance(problem, NotServed) else str(problem)
        note = f"{what}: {why}"
        if note not in self.unread:
            self.unread.append(note)
