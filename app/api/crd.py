"""The CustomResourceDefinition of a kind."""

from typing import Any

from app.api.base import GROUP, VERSION
from app.api.kinds import KINDS, Column, Kind
from app.api.reasons import Reason
from app.api.schema import structural

JSON = dict[str, Any]

CATEGORY = "serving"
# Before the first sync nothing has changed yet; the Gateway API's kinds say so with the same time.
_NEVER = "1970-01-01T00:00:00Z"


def crds() -> list[JSON]:
    """The definitions of all kinds."""
    return [crd(kind) for kind in KINDS]


def crd(kind: Kind) -> JSON:
    """The definition of one kind, as it is applied to a cluster."""
    version: JSON = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": object_schema(kind)},
    }
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}", "labels": {"app.kubernetes.io/part-of": "hangar"}},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short],
                "categories": [CATEGORY],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def object_schema(kind: Kind) -> JSON:
    """The structural schema of whole objects of a kind: spec and status, and the rules on its name."""
    properties: JSON = {
        "apiVersion": {"description": f"{GROUP}/{VERSION}.", "type": "string"},
        "kind": {"description": f"{kind.kind}.", "type": "string"},
        "metadata": {"type": "object"},
        "spec": structural(kind.spec),
    }
    if kind.name is not None:
        properties["metadata"]["properties"] = {"name": kind.name}
    if kind.status is not None:
        properties["status"] = _status(kind, structural(kind.status))
    return {
        "description": kind.description,
        "type": "object",
        "required": ["spec"],
        "properties": properties,
    }


def _status(kind: Kind, schema: JSON) -> JSON:
    """The status, with conditions from the first moment on: `kubectl wait` needs a condition to wait for."""
    schema["default"] = {}
    schema["properties"]["conditions"]["default"] = [
        {
            "type": condition,
            "status": "Unknown",
            "reason": str(Reason.PENDING),
            "message": Reason.PENDING.meaning,
            "lastTransitionTime": _NEVER,
        }
        for condition in kind.conditions
    ]
    return schema


def _column(column: Column) -> JSON:
    found: JSON = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return found | ({"priority": 1} if column.wide else {})
