"""Structural schemas: defaults, pruning, and refusals in the words of kube-apiserver 1.35."""

import pytest

from app.kube.hook import JSON
from app.local.crds import admit_by
from app.local.schema import Structural

SCHEMA: JSON = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "default": 1, "minimum": 0, "maximum": 9},
        "roles": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 2}},
            },
        },
        "nested": {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}, "required": ["on"]},
        "spare": {"type": "object", "required": ["part"], "properties": {"part": {"type": "string"}}},
        "filled": {"type": "object", "default": {}, "properties": {"deep": {"type": "string", "default": "x"}}},
        "name": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"},
        "kind": {"type": "string", "enum": ["A", "B"]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
        "amount": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"type": "string", "nullable": True, "default": "d"},
        "ratio": {"type": "number"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "wait": {"type": "string", "format": "duration"},
    },
}


def _stored(value: JSON) -> JSON:
    found: JSON = Structural(SCHEMA).take(value)[0]
    return found


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ({}, {"count": 1, "filled": {"deep": "x"}, "maybe": "d"}),
        ({"count": 0}, {"count": 0, "filled": {"deep": "x"}, "maybe": "d"}),
        ({"count": None, "maybe": None}, {"count": 1, "maybe": None, "filled": {"deep": "x"}}),
        ({"roles": [{}, {"size": 5}]}, {"roles": [{"size": 2}, {"size": 5}]}),
        ({"nested": {}}, {"nested": {"on": True}}),
        ({"filled": {}}, {"filled": {"deep": "x"}}),
    ],
)
def test_defaults_are_filled_at_every_depth_that_is_present(value: JSON, filled: JSON) -> None:
    assert filled.items() <= _stored(value).items()


def test_a_default_is_not_shared_between_objects() -> None:
    first = _stored({})
    first["filled"]["deep"] = "changed"
    assert _stored({})["filled"] == {"deep": "x"}


def test_a_level_that_is_absent_stays_absent() -> None:
    assert "nested" not in _stored({})


def test_a_null_that_is_not_allowed_counts_as_absent() -> None:
    assert "kind" not in _stored({"kind": None})


def test_unknown_fields_are_pruned_except_where_the_schema_keeps_them() -> None:
    value = {"typo": 1, "free": {"any": 1}, "map": {"a": "b"}, "roles": [{"typo": 1, "size": 1}]}
    filled = {"count": 1, "filled": {"deep": "x"}, "maybe": "d"}
    assert _stored(value) == {"free": {"any": 1}, "map": {"a": "b"}, "roles": [{"size": 1}], **filled}


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({"count": -1}, "count", "Invalid value: -1: count in body should be greater than or equal to 0"),
        ({"count": 10}, "count", "Invalid value: 10: count in body should be less than or equal to 9"),
        ({"count": True}, "count", 'Invalid value: "boolean": count in body must be of type integer: "boolean"'),
        ({"ratio": "1"}, "ratio", 'Invalid value: "string": ratio in body must be of type number: "string"'),
        ({"name": "a"}, "name", 'Invalid value: "a": name in body should be at least 2 chars long'),
        ({"name": "abcd"}, "name", "Too long: may not be more than 3 bytes"),
        ({"name": "A-bcd"}, "name", "Too long: may not be more than 3 bytes"),
        ({"name": "A1"}, "name", "Invalid value: \"A1\": name in body should match '^[a-z]+$'"),
        ({"kind": "C"}, "kind", 'Unsupported value: "C": supported values: "A", "B"'),
        ({"roles": []}, "roles", "Invalid value: 0: roles in body should have at least 1 items"),
        ({"roles": [{"name": "a"}, {"name": "a"}]}, "roles[1]", 'Duplicate value: {"name":"a"}'),
        (
            {"roles": [{"size": "x"}]},
            "roles[0].size",
            'Invalid value: "string": roles[0].size in body must be of type integer: "string"',
        ),
        ({"map": {"a": "1", "b": "2"}}, "map", "Too many: 2: must have at most 1 items"),
        ({"map": {"a": 1}}, "map.a", 'Invalid value: "integer": map.a in body must be of type string: "integer"'),
        ({"spare": {}}, "spare.part", "Required value"),
        (
            {"amount": 1.5},
            "amount",
            'Invalid value: "number": amount in body must be of type integer,string: "number"',
        ),
        ({"tags": ["a", "b", "a"]}, "tags[2]", 'Duplicate value: "a"'),
        ({"wait": "soon"}, "wait", 'Invalid value: "soon": wait in body must be of type duration: "soon"'),
    ],
)
def test_what_breaks_the_schema_is_named_with_its_path(value: JSON, path: str, words: str) -> None:
    assert Structural(SCHEMA).take(value)[1] == [(path, words)]


@pytest.mark.parametrize(
    "value",
    [{}, {"maybe": None}, {"amount": 4}, {"amount": "4Gi"}, {"ratio": 1}, {"ratio": 0.5}, {"wait": "1m30s"}],
)
def test_what_fits_the_schema_is_accepted(value: JSON) -> None:
    assert Structural(SCHEMA).take(value)[1] == []


def test_an_update_is_held_to_the_parts_that_it_changes() -> None:
    """What was accepted once, before the schema grew, does not stand in the way of a status."""
    grown: JSON = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}},
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
    }
    admit = admit_by(grown)
    stored = {"kind": "Thing", "metadata": {"name": "a"}, "spec": {"n": 5}}
    assert admit({**stored, "status": {"n": 1, "typo": 2}}, stored) == ({**stored, "status": {"n": 1}}, [])
    _, found = admit({**stored, "spec": {"n": 4}}, stored)
    assert [path for path, _ in found] == ["spec.n"]
    _, found = admit({**stored, "status": {"n": "x"}}, stored)
    assert [path for path, _ in found] == ["status.n"]
