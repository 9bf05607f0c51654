"""What a run adds to an API server: never in place of what is there, and taken away again on a person's cluster."""

from app.kube.hook import JSON
from app.local.errors import ApiError, NotFound
from app.local.values import name, namespace
from tests.e2e.api import Api
from tests.e2e.cluster import install_crds


class Additions:
    """Objects that were not there before. As a context manager with `leaves`, it deletes them, the last one first."""

    def __init__(self, api: Api, *, leaves: bool) -> None:
        self._api = api
        self._leaves = leaves
        self._added: list[JSON] = []

    def __enter__(self) -> "Additions":
        return self

    def __exit__(self, *_: object) -> None:
        while self._leaves and self._added:
            try:
                self._api.delete(self._added.pop())
            except ApiError:
                continue  # it went with something else, or nobody may: the rest still goes

    def add(self, obj: JSON) -> bool:
        """Creates an object; False where there is one of its name, which stays as it is."""
        kind = f"{obj['kind']}.{obj['apiVersion']}"
        space = f"{namespace(obj)}/" if namespace(obj) else ""
        try:
            self._api.get(kind, f"{space}{name(obj)}")
        except NotFound:
            self._api.create(obj)
            self._added.append(obj)
            return True
        return False

    def add_crds(self, crds: list[JSON]) -> None:
        """Creates those definitions that are missing, and waits until their kinds are served."""
        install_crds(self._api, [one for one in crds if self.add(one)])
