"""No bound of a kind's schema is without a file of `tests/invalid/` that it refuses.

A constraint is a keyword at a place, written as `ModelDeployment spec.roles[].size: maximum`. The status is left out:
the hook writes it, and its tests hold it to the schema. CEL rules are counted in `test_refusals`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jsonschema

from app.api.crd import object_schema
from app.api.kinds import KINDS
from tests.api.test_refusals import INVALID, Invalid
from tests.support.apiserver import defaulted

JSON = dict[str, Any]

LIST_MAP = "x-kubernetes-list-map-keys"
# Keywords that hold no value to a bound; an amount's `anyOf` does what `x-kubernetes-int-or-string` announces.
BOUNDLESS = {
    "additionalProperties",
    "default",
    "description",
    "items",
    "properties",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}
# The API server has one sentence for a wrong type on every field, so one file per type tells as much as one per field.
OF_ANY_FIELD = {"type", "anyOf"}


def _constraints(schema: JSON, steps: tuple[str, ...]) -> Iterator[str]:
    for keyword in schema.keys() - BOUNDLESS:
        for value in schema[keyword] if keyword == "required" else (schema[keyword],):
            yield _constraint((*steps, keyword), value)
    for name, part in schema.get("properties", {}).items():
        if (*steps[1:], name) != ("status",):
            yield from _constraints(part, (*steps, "properties", name))
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from _constraints(schema[keyword], (*steps, keyword))


def _constraint(steps: Iterable[str], value: Any) -> str:
    """A constraint from the steps to its keyword in the schema, the kind first, and what the keyword says there."""
    kind, *inner, keyword = steps
    if keyword in OF_ANY_FIELD:
        return f"{keyword}: {value}"
    path = ".".join(step for step in inner if step != "properties").replace(".items", "[]")
    path = path.replace("additionalProperties", "*")
    if keyword == "required":
        path, value = f"{path}.{value}".lstrip("."), ""
    return f"{kind} {path}: {keyword}"


def _violated(case: Invalid, schemas: Mapping[str, JSON]) -> Iterator[str]:
    """The constraints that the file does not meet."""
    (document,) = case.documents
    kind = document["kind"]
    for error in jsonschema.Draft202012Validator(schemas[kind]).iter_errors(defaulted(schemas[kind], document)):
        value = error.message.split("'")[1] if error.validator == "required" else error.validator_value
        yield _constraint((kind, *map(str, error.absolute_schema_path)), value)
    twice = re.match(r"(.+)\[[0-9]+\]: Duplicate value", case.message)
    if twice:
        yield f"{kind} {re.sub('[0-9]+', '', twice[1])}: {LIST_MAP}"


def test_every_bound_has_a_file_that_it_refuses() -> None:
    schemas = {kind.kind: object_schema(kind) for kind in KINDS}
    declared = {found for kind, schema in schemas.items() for found in _constraints(schema, (kind,))}
    refused = {found for case in INVALID if case.by == "schema" for found in _violated(case, schemas)}
    assert declared - refused == set(), "write a file of tests/invalid/ for each of these"
    assert refused <= declared
