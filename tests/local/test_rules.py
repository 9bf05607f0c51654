"""CEL rules: what a real API server refuses is refused here, in its words."""

import logging
from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.errors import Invalid
from app.local.plane import Plane
from app.local.rules import ABSENT, problems, ruled
from tests.local.scripted import an_object, crd


def _found(rule: str, value: Any, old: Any = ABSENT, **more: str) -> list[str]:
    schema = {"x-kubernetes-validations": [{"rule": rule, "message": "no", **more}]}
    return [f"{path}: {words}" for path, words in problems(schema, value, old, "p")]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self > 0", 1),
        ("self.all(x, x > 0)", [1, 2]),
        ("self.map(r, r.n).sum() == 3", [{"n": 1}, {"n": 2}]),
        ("self.min() == 1 && self.max() == 3 && !self.isSorted()", [2, 1, 3]),
        ("self.indexOf(3) == 1 && self.indexOf(9) == -1", [1, 3]),
        ("self.matches('^a') && self.startsWith('a') && self.size() == 2", "ab"),
        ("self.lowerAscii() == 'ab' && self.upperAscii() == 'AB'", "aB"),
        ("self.split(',').size() == 2 && self.indexOf(',') == 1", "a,b"),
        ("self.replace('a', 'b') == 'bb' && self.substring(1) == 'b' && self.substring(0, 1) == 'a'", "ab"),
        ("self.trim() == 'a' && ['a', 'b'].join('-') == 'a-b'", " a "),
        ("quantity(self).isGreaterThan(quantity('1k')) && quantity(self).isLessThan(quantity('1Mi'))", "2Ki"),
        ("quantity(self).compareTo(quantity('1000m')) == 0", "1"),
        ("isQuantity(self)", "16Gi"),
        ("!isQuantity(self)", "16 Gi"),
        ("has(self.a) && !has(self.b)", {"a": 1}),
    ],
)
def test_rules_are_evaluated_with_the_functions_of_kubernetes(rule: str, value: Any) -> None:
    assert _found(rule, value) == []
    negated = _found(f"!({rule})", value)
    assert len(negated) == 1
    assert negated[0].endswith("no")


def test_a_broken_rule_shows_its_message_and_a_plain_value() -> None:
    assert _found("self > 1", 1) == ["p: Invalid value: 1: no"]
    assert _found("self.size() > 1", [1]) == ["p: Invalid value: no"]


def test_a_rule_may_point_at_a_field_and_make_up_its_message() -> None:
    assert _found("self.n > 1", {"n": 1}, fieldPath=".n") == ["p.n: Invalid value: no"]
    assert _found("self > 1", 1, messageExpression="'not ' + string(self)") == ["p: Invalid value: 1: not 1"]
    assert _found("self > 1", 1, messageExpression="self.x") == ["p: Invalid value: 1: no"]


def test_a_rule_that_compares_is_looked_at_on_updates_alone() -> None:
    assert _found("self == oldSelf", 2) == []
    assert _found("self == oldSelf", 2, 2) == []
    assert _found("self == oldSelf", 2, 1) == ["p: Invalid value: 2: no"]


def test_a_rule_that_stumbles_is_a_refusal() -> None:
    assert _found("self.x == 1", {}) == ["p: Invalid value: rule evaluation error: no such key: x"]
    assert "rule evaluation error: division by zero" in _found("self.x / 0 == 1", {"x": 1})[0]
    assert "which is no boolean" in _found("self.size()", [1])[0]


@pytest.mark.parametrize("rule", ["url(self).getHost() == 'one'", "self.?two.hasValue()"])
def test_a_rule_beyond_the_evaluator_refuses_nothing_and_says_so_once(
    rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert _found(rule, {}) == _found(rule, {}) == []
    (record,) = caplog.records
    assert record.getMessage().startswith(f"the rule {rule!r} is not evaluated here")


def _listed(rule: str) -> JSON:
    items = {"type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "no"}]}
    return {"type": "array", "x-kubernetes-list-map-keys": ["name"], "items": items}


def test_items_of_a_list_map_are_found_again_by_their_keys() -> None:
    schema = _listed("self.n == oldSelf.n")
    old = [{"name": "a", "n": 1}, {"name": "b", "n": 2}]
    assert list(problems(schema, [{"name": "b", "n": 2}, {"name": "c", "n": 3}], old)) == []
    assert list(problems(schema, [{"name": "b", "n": 1}], old)) == [("[0]", "Invalid value: no")]


def test_only_what_leads_to_rules_is_walked() -> None:
    schema = {"type": "object", "properties": {"a": _listed("true"), "b": {"type": "object", "properties": {"c": {}}}}}
    assert ruled(schema)["properties"].keys() == {"a"}
    assert ruled({"type": "object", "properties": {"b": {"type": "string"}}}) == {}


def test_rules_at_every_level_are_held_to_on_create_and_update() -> None:
    spec = {
        "type": "object",
        "properties": {"name": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}},
        "x-kubernetes-validations": [{"rule": "self.low <= self.high", "message": "low is above high"}],
    }
    spec["properties"] |= {"low": {"type": "integer"}, "high": {"type": "integer"}}  # type: ignore[operator]
    with Plane([crd("Range", {"type": "object", "properties": {"spec": spec}})]) as plane:
        with pytest.raises(Invalid, match=r'"r" is invalid: spec: Invalid value: low is above high'):
            plane.apply(an_object("test.example/v1", "Range", "r", spec={"name": "x", "low": 2, "high": 1}))
        plane.apply(an_object("test.example/v1", "Range", "r", spec={"name": "x", "low": 0, "high": 1}))
        with pytest.raises(Invalid, match=r'spec\.name: Invalid value: "y": failed rule: self == oldSelf'):
            plane.apply(an_object("test.example/v1", "Range", "r", spec={"name": "y", "low": 0, "high": 1}))
