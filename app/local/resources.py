"""The kinds that the API server serves, and discovery over them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.kube.hook import JSON
from app.local import schema as structural
from app.local.errors import Invalid, UnknownKind
from app.local.schema import Problem
from app.local.values import listed, mapping, name

# From the object as sent (and the stored one on an update) to the object as stored, and what is wrong with it.
Admit = Callable[[JSON, JSON | None], tuple[JSON, list[Problem]]]


def as_sent(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    """Admission of a kind that has no defaults and no rules here."""
    return obj, []


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind. `generation` says whether its objects count spec changes, `status` whether status is a subresource."""

    api_version: str
    plural: str
    kind: str
    namespaced: bool = True
    generation: bool = False
    status: bool = False
    admit: Admit = as_sent
    custom: bool = False

    @property
    def key(self) -> str:
        """The key of Metacontroller's object maps, for example `Deployment.apps/v1`."""
        return f"{self.kind}.{self.api_version}"

    @property
    def qualified(self) -> str:
        """How error messages name it: `deployments.apps`, or `pods` in the core group."""
        group, slash, _ = self.api_version.rpartition("/")
        return f"{self.plural}.{group}" if slash else self.plural

    def check(self, obj: JSON, stored: JSON | None = None) -> JSON:
        """The object as the API server stores it. Raises Invalid (422) with everything that is wrong."""
        admitted, found = self.admit(obj, stored)
        if found:
            raise Invalid(f"{self.kind}{self.qualified.removeprefix(self.plural)}", name(obj), found)
        return admitted


def from_crd(crd: JSON) -> list[Resource]:
    """The resources that a CustomResourceDefinition brings: one per served version."""
    spec = mapping(crd.get("spec"))
    names, group = mapping(spec.get("names")), spec.get("group")
    return [
        Resource(
            api_version=f"{group}/{version['name']}",
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec.get("scope") != "Cluster",
            generation=True,
            status="status" in mapping(version.get("subresources")),
            admit=_admit_custom(mapping(mapping(version.get("schema")).get("openAPIV3Schema"))),
            custom=True,
        )
        for version in listed(spec.get("versions"))
        if version.get("served", True)
    ]


def _admit_custom(schema: JSON) -> Admit:
    """Pruning, defaults and refusals of a structural schema. Metadata is the API server's own, except its bounds."""
    body = {**schema, "properties": {k: v for k, v in mapping(schema.get("properties")).items() if k != "metadata"}}

    def admit(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
        envelope = {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
        content = {key: value for key, value in obj.items() if key not in envelope}
        filled = structural.apply_defaults(body, structural.prune(body, content))
        return envelope | filled, list(structural.problems(schema, envelope | filled))

    return admit


class Discovery:
    """What is served, by resource name and by kind."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._by_resource: dict[tuple[str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        for one in resources:
            self.add(one)

    def add(self, one: Resource) -> None:
        """Serves one more kind."""
        self._by_resource[one.api_version, one.plural] = one
        self._by_kind[one.api_version, one.kind] = one

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
