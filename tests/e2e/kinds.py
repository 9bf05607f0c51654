"""Which kinds an API server has, and under which paths their objects are."""

from collections.abc import Callable

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import UnknownKind
from app.local.resources import Discovery, Resource


class Kinds(Discovery):
    """Discovery that asks the server about what it does not know yet."""

    def __init__(self, ask: Callable[[str], list[JSON]]) -> None:
        super().__init__()
        self._ask = ask

    def resource(self, api_version: str, plural: str) -> Resource:
        """The kind of a resource name. Raises UnknownKind."""
        try:
            return super().resource(api_version, plural)
        except UnknownKind:
            self._learn(api_version)
            return super().resource(api_version, plural)

    def kind(self, api_version: str, kind: str) -> Resource:
        """The kind by its name. Raises UnknownKind."""
        try:
            return super().kind(api_version, kind)
        except UnknownKind:
            self._learn(api_version)
            return super().kind(api_version, kind)

    def of_key(self, key: str) -> Resource:
        """The kind of a key such as `Pod.v1`. Raises UnknownKind."""
        kind, _, api_version = key.partition(".")
        return self.kind(api_version, kind)

    def serves(self, key: str) -> bool:
        """Whether the server has the kind of a key."""
        try:
            self.of_key(key)
        except UnknownKind:
            return False
        return True

    def _learn(self, api_version: str) -> None:
        served = self._ask(api_version)
        with_status = {one["name"].partition("/")[0] for one in served if one["name"].endswith("/status")}
        for one in served:
            if "/" not in one["name"]:
                plural = str(one["name"])
                self.add(
                    Resource(
                        api_version,
                        plural,
                        one["kind"],
                        one["namespaced"],
                        status=plural in with_status,
                        custom=_is_custom(api_version),
                    )
                )

    def as_known(self, _clock: Clock) -> "Kinds":
        """What the server has now: it is asked anew for what is not known."""
        return self


def _is_custom(api_version: str) -> bool:
    """Whether the kinds of a group come from CustomResourceDefinitions, by its name."""
    group = api_version.partition("/")[0]
    return "." in group and (not group.endswith(".k8s.io") or group.split(".")[0] == "metacontroller")


def path_of(resource: Resource, space: str = "", title: str = "", sub: str = "") -> str:
    """The path of a kind, of an object, or of its subresource. A namespaced kind without a namespace: all of them."""
    parts = [root_of(resource.api_version)]
    if resource.namespaced and space:
        parts += ["namespaces", space]
    parts += [part for part in (resource.plural, title, sub) if part]
    return "/".join(parts)


def root_of(api_version: str) -> str:
    """The path under which a version of a group is."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
