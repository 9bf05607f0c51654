"""The parent's spec: validated whole, or read as far as it goes, with the refusal that names its first wrong field.

A spec that does not validate changes nothing that runs, but what runs is still counted: the roles that can be read are.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.api.modeldeployment import ModelDeploymentSpec
from app.api.problems import sentence
from app.api.reasons import Reason
from app.api.role import Role
from app.kube.hook import JSON
from app.kube.pods import mapping, maps

_MOST_PODS = 1000
# What a role cannot be counted without.
_COUNTED = frozenset({"name", "kind", "replicas", "size"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is rendered: a reason and one sentence that names the field and the way out."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A spec as read. `spec` is None exactly where `refusal` says why; `roles` are then those that can be counted."""

    spec: ModelDeploymentSpec | None
    roles: tuple[Role, ...]
    refusal: Refusal | None = None


def read_spec(parent: JSON) -> Reading:
    """Reads the parent's spec. Never raises for what a user can write."""
    stated = parent.get("spec")
    try:
        spec = ModelDeploymentSpec.model_validate(stated)
    except ValidationError as error:
        return Reading(None, _outlines(stated), Refusal(Reason.SPEC_INVALID, sentence(error, "spec")))
    problem = _problem(spec)
    if problem:
        return Reading(None, _outlines(stated), Refusal(Reason.SPEC_INVALID, f"spec.roles: {problem}"))
    return Reading(spec, tuple(spec.roles))


def _problem(spec: ModelDeploymentSpec) -> str:
    """What the API server checks of the roles together, for a stored object that slipped past it."""
    role_names = [role.name for role in spec.roles]
    twice = [name for name in role_names if role_names.count(name) > 1]
    if twice:
        return f"the name {twice[0]} stands twice; rename one of the two"
    pods = sum(role.replicas * role.size for role in spec.roles)
    return f"{pods} Pods in all are more than {_MOST_PODS}; lower replicas" if pods > _MOST_PODS else ""


def _outlines(stated: Any) -> tuple[Role, ...]:
    found: dict[str, Role] = {}
    for raw in maps(mapping(stated).get("roles")):
        role = _outline(raw)
        if role is not None:
            found.setdefault(role.name, role)
    return tuple(found.values())


def _outline(raw: JSON) -> Role | None:
    """A role without the fields that do not validate; None where one of those that are counted does not."""
    try:
        return Role.model_validate(raw)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors(include_url=False) if problem["loc"]}
    if wrong & _COUNTED:
        return None
    return Role.model_validate({key: value for key, value in raw.items() if key not in wrong})
