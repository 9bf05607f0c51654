"""What every kind's model shares: camelCase names, closed objects, and the Kubernetes parts of a schema."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.api.rules import JSON

GROUP = "hangar.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"


class KubeModel(BaseModel):
    """A closed, frozen, strictly typed part of a kind. Field names are snake case here and camel case on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)


def extras(*rules: JSON, map_keys: tuple[str, ...] = (), atomic: bool = False) -> JSON:
    """The Kubernetes extensions of one field's schema: CEL rules and how a list merges."""
    found: JSON = {}
    if rules:
        found["x-kubernetes-validations"] = list(rules)
    if map_keys:
        found["x-kubernetes-list-type"] = "map"
        found["x-kubernetes-list-map-keys"] = list(map_keys)
    if atomic:
        found["x-kubernetes-list-type"] = "atomic"
    return found


def listed(*rules: JSON, description: str, maximum: int, keys: tuple[str, ...] = ()) -> Any:
    """A list field, empty by default: a list map where `keys` are given, else atomic."""
    return Field(
        default_factory=list,
        description=description,
        max_length=maximum,
        json_schema_extra=extras(*rules, map_keys=keys, atomic=not keys),
    )
