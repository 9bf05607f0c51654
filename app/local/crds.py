"""Kinds that a CustomResourceDefinition brings: their schema's pruning, defaults and refusals, and its CEL rules."""

from app.kube.hook import JSON
from app.local import rules
from app.local.resources import Admit, Resource
from app.local.schema import Problem, Structural
from app.local.values import listed, mapping, same

_ENVELOPE = ("apiVersion", "kind", "metadata")


def from_crd(crd: JSON) -> list[Resource]:
    """The resources of a CustomResourceDefinition: one per served version."""
    spec = mapping(crd.get("spec"))
    names, group = mapping(spec.get("names")), spec.get("group")
    return [
        Resource(
            api_version=f"{group}/{version['name']}",
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec.get("scope") != "Cluster",
            status="status" in mapping(version.get("subresources")),
            counted=("",),
            admit=admit_by(mapping(mapping(version.get("schema")).get("openAPIV3Schema"))),
            custom=True,
        )
        for version in listed(spec.get("versions"))
        if version.get("served", True)
    ]


def admit_by(schema: JSON) -> Admit:
    """Admission by a structural schema. Metadata is the API server's own, except for bounds that the schema sets.

    On an update only the parts (`spec`, `status`) that differ are looked at, as what was accepted once stays accepted.
    Rules are looked at once the structure holds.
    """
    fields = {key: value for key, value in mapping(schema.get("properties")).items() if key != "metadata"}
    body = Structural({**schema, "properties": fields, "required": listed(schema.get("required"))})
    metadata = Structural(mapping(mapping(schema.get("properties")).get("metadata")))
    guarded = rules.ruled(schema)

    def admit(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
        envelope = {key: obj[key] for key in _ENVELOPE if key in obj}
        before = stored or {}
        content = {key: value for key, value in obj.items() if key not in envelope}
        kept = {key: before[key] for key in content if key in before and same(content[key], before[key])}
        fresh = {key: value for key, value in content.items() if key not in kept}
        new, found = body.take(fresh, aside=envelope | kept)
        if stored is None and "metadata" in obj:
            found = metadata.take(obj["metadata"], "metadata")[1] + found
        if not found and guarded:
            below = {key: value for key, value in mapping(guarded.get("properties")).items() if key not in kept}
            old = rules.ABSENT if stored is None else stored
            found = list(rules.problems({**guarded, "properties": below}, new, old))
        return new, found

    return admit
