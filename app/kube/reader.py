"""Reading a cluster's objects by kind, whichever way it is reached: over HTTP, or in this process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.kube.hook import JSON
from app.kube.pods import mapping


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind in one version of its API, for example `("kueue.x-k8s.io/v1beta2", "Workload")`."""

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        """The API group; empty for the core one."""
        return self.api_version.rpartition("/")[0]


class ReadError(Exception):
    """An object that could not be read or written; the message is a sentence for people."""


class NotFound(ReadError):
    """There is no such object."""


class NotServed(ReadError):
    """The cluster serves no such kind, or not in this version."""


class Forbidden(ReadError):
    """Whoever asks may not."""


Objects = list[JSON]


class Reader(Protocol):
    """What reads objects. Both methods raise `ReadError`; an empty namespace of a list means all of them."""

    def get(self, kind: ObjectKind, name: str, namespace: str = "") -> JSON:
        """The object of that name; the namespace is empty for a kind of the whole cluster."""
        ...

    def list(
        self,
        kind: ObjectKind,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Objects:
        """All objects with these labels and these values of fields (by path, such as `involvedObject.uid`)."""
        ...


def fits(item: JSON, labels: Mapping[str, str] | None, fields: Mapping[str, str] | None) -> bool:
    """Whether an object has the labels and the values of fields that a list was asked for."""
    own = mapping(mapping(item.get("metadata")).get("labels"))
    if any(own.get(label) != value for label, value in (labels or {}).items()):
        return False
    return all(_at(item, path) == value for path, value in (fields or {}).items())


def _at(item: JSON, path: str) -> object:
    found: object = item
    for step in path.split("."):
        found = mapping(found).get(step)
    return found
