"""The kinds that the API server serves, and discovery over them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.errors import Invalid, UnknownKind
from app.local.metadata import metadata_problems
from app.local.schema import Problem
from app.local.values import name

# From the object as sent (and the stored one on an update) to the object as stored, and what is wrong with it.
Admit = Callable[[JSON, JSON | None], tuple[JSON, list[Problem]]]
# How often clients ask anew which kinds are served.
DISCOVERY_SECONDS = 30.0


def as_sent(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    """Admission of a kind that has no defaults and no rules here."""
    return obj, []


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind.

    `status` says whether status is a subresource. `counted` are the paths whose changes count a generation, None where
    the kind has no generation; an empty path is everything but the metadata and a status that is a subresource.
    `name_rule` is a key of `app.local.metadata.NAME_RULES`.
    """

    api_version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False
    counted: tuple[str, ...] | None = None
    name_rule: str = "subdomain"
    admit: Admit = as_sent
    custom: bool = False

    @property
    def key(self) -> str:
        """The key of Metacontroller's object maps, for example `Deployment.apps/v1`."""
        return f"{self.kind}.{self.api_version}"

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def qualified(self) -> str:
        """How error messages name it: `deployments.apps`, or `pods` in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def check(self, obj: JSON, stored: JSON | None = None) -> JSON:
        """The object as the API server stores it. Raises Invalid (422) with everything that is wrong, BadRequest."""
        found = list(metadata_problems(obj, self.name_rule))
        admitted, broken = self.admit(obj, stored)
        if found or broken:
            kind = f"{self.kind}.{self.group}" if self.group else self.kind
            raise Invalid(kind, name(obj), found + broken)
        return admitted


class Kinds:
    """Kinds by resource name and by kind."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._hold(resources)

    def _hold(self, resources: Iterable[Resource]) -> None:
        self._by_kind = {(one.api_version, one.kind): one for one in resources}
        self._by_resource = {(one.api_version, one.plural): one for one in self._by_kind.values()}

    def resource(self, api_version: str, plural: str) -> Resource:
        """The kind of a resource name such as `pods`. Raises UnknownKind in Metacontroller's words."""
        try:
            return self._by_resource[api_version, plural]
        except KeyError:
            raise UnknownKind(f"discovery: can't find resource {plural} in apiVersion {api_version}") from None

    def kind(self, api_version: str, kind: str) -> Resource:
        """The kind by its name such as `Pod`. Raises UnknownKind in Metacontroller's words."""
        try:
            return self._by_kind[api_version, kind]
        except KeyError:
            raise UnknownKind(f"discovery: can't find kind {kind} in apiVersion {api_version}") from None

    def named(self, word: str) -> Resource:
        """The kind called so, in any case, by its own name or that of its resource. Raises UnknownKind."""
        for one in self._by_kind.values():
            if word.lower() in {one.kind.lower(), one.plural, one.qualified}:
                return one
        raise UnknownKind(f"no kind {word} is served here")

    def of(self, obj: JSON) -> Resource:
        """The kind of an object. Raises UnknownKind."""
        return self.kind(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))


class Discovery(Kinds):
    """What is served now."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        super().__init__(resources)
        self._listeners: list[Callable[[], None]] = []

    def before_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` before each change."""
        self._listeners.append(listener)

    def add(self, one: Resource) -> None:
        """Serves one more kind."""
        self._announce()
        self._by_resource[one.api_version, one.plural] = one
        self._by_kind[one.api_version, one.kind] = one

    def remove(self, one: Resource) -> None:
        """Serves a kind no more."""
        self._announce()
        self._by_resource.pop((one.api_version, one.plural), None)
        self._by_kind.pop((one.api_version, one.kind), None)

    def _announce(self) -> None:
        for listener in self._listeners:
            listener()

    def all(self) -> list[Resource]:
        """Every kind that is served."""
        return list(self._by_kind.values())

    def as_known(self, clock: Clock) -> Kinds:
        """The kinds as a client knows them that asks from time to time."""
        return KnownKinds(self, clock)


class KnownKinds(Kinds):
    """The kinds as a client knows them: as they were when it last asked, every DISCOVERY_SECONDS since its start."""

    def __init__(self, served: Discovery, clock: Clock) -> None:
        super().__init__()
        self._served = served
        self._clock = clock
        self._asked_at: float | None = None
        served.before_change(self._settle)

    def _settle(self) -> None:
        """Before kinds change: what was asked until now is answered as they were."""
        if self._asked_at is not None:
            self._refresh()

    def _refresh(self) -> None:
        now = self._clock.elapsed
        if self._asked_at is not None and now < self._asked_at + DISCOVERY_SECONDS:
            return
        self._asked_at = now // DISCOVERY_SECONDS * DISCOVERY_SECONDS
        self._hold(self._served.all())

    def until_refresh(self) -> float:
        """Seconds until it asks again."""
        self._refresh()
        return (self._asked_at or 0) + DISCOVERY_SECONDS - self._clock.elapsed

    def resource(self, api_version: str, plural: str) -> Resource:
        """As Kinds.resource."""
        self._refresh()
        return super().resource(api_version, plural)

    def kind(self, api_version: str, kind: str) -> Resource:
        """As Kinds.kind."""
        self._refresh()
        return super().kind(api_version, kind)
