"""The local control plane as a `Reader`, so that a run is explained as a cluster is."""

from collections.abc import Mapping

from app.kube.hook import JSON
from app.kube.reader import NotFound, NotServed, ObjectKind, Objects, fits
from app.local.errors import UnknownKind
from app.local.plane import Plane


class LocalReader:
    """Reads the objects of a plane. Nothing is denied."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def get(self, kind: ObjectKind, name: str, namespace: str = "") -> JSON:
        """The object of that name. Raises NotFound, NotServed."""
        try:
            found = self._plane.get(_key(kind), f"{namespace}/{name}" if namespace else name)
        except UnknownKind as problem:
            raise NotServed(str(problem)) from None
        if found is None:
            raise NotFound(f'{kind.kind} "{name}" not found')
        return found

    def list(
        self,
        kind: ObjectKind,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Objects:
        """All objects with these labels and fields. Raises NotServed."""
        try:
            found = self._plane.all_of(_key(kind), namespace or None)
        except UnknownKind as problem:
            raise NotServed(str(problem)) from None
        return [item for item in found if fits(item, labels, fields)]


def _key(kind: ObjectKind) -> str:
    return f"{kind.kind}.{kind.api_version}"
