"""What an API server says to an object of our kinds: defaults, the structural schema, then the CEL rules.

The local control plane's own admission, so that what these tests hold is what `hangar run` does.
"""

from typing import Any

from app.api.crd import object_schema
from app.api.kinds import KINDS
from app.kube.hook import JSON
from app.local.crds import admit_by
from app.local.schema import Structural


def schema_of(document: JSON) -> JSON:
    """The structural schema of a document's kind."""
    return object_schema(next(kind for kind in KINDS if kind.kind == document["kind"]))


def refusals(new: JSON, old: JSON | None = None) -> list[str]:
    """What a create of `new`, or its update from `old`, is refused with; nothing where it is accepted."""
    admit = admit_by(schema_of(new))
    stored = None if old is None else admit(old, None)[0]
    return [f"{path}: {problem}" for path, problem in admit(new, stored)[1]]


def defaulted(schema: JSON, value: Any) -> Any:
    """A copy of `value` as it is stored: with the schema's defaults filled in at every depth, and nothing unknown."""
    return Structural(schema).take(value)[0]
