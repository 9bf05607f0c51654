"""Answers: only closed, complete ones leave; anything else is a fault of ours and never reaches Metacontroller."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from app.kube.hook import JSON, RelatedRule, SyncAnswer, SyncRequest
from app.wire.answers import (
    LARGEST_STATUS,
    BadAnswer,
    encode_customize,
    encode_sync,
    oversized_status,
    unchanged,
)
from tests.support.keeper import KEEPER, QUEUES


def asked(uid: str = "u-1", **children: JSON) -> SyncRequest:
    """A request around the parent t/d1; `children` by kind, all of version v1."""
    parent = {"metadata": {"name": "d1", "namespace": "t", "uid": uid}}
    return SyncRequest(parent, {f"{kind}.v1": found for kind, found in children.items()}, {})


def pod(name: Any, **metadata: Any) -> JSON:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}}


def test_a_sync_answer_has_the_three_fields_that_v2_allows() -> None:
    body, _ = encode_sync(SyncAnswer({"phase": "Ready"}, [pod("a")], 5), asked(), KEEPER, "sync")
    assert orjson.loads(body) == {"status": {"phase": "Ready"}, "children": [pod("a")], "resyncAfterSeconds": 5}


def test_a_finalize_answer_says_whether_it_is_final() -> None:
    body, _ = encode_sync(SyncAnswer({}, [], finalized=True), asked(), KEEPER, "finalize")
    assert orjson.loads(body) == {"status": {}, "children": [], "resyncAfterSeconds": 0, "finalized": True}


def test_a_status_that_is_too_large_is_sent_and_its_size_told() -> None:
    """The API server refuses the status alone; were the answer refused, the deployment could not scale either."""
    at, above = ({"text": "x" * (LARGEST_STATUS - len('{"text":""}') + more)} for more in (0, 1))
    for status, size in ((at, 0), (above, LARGEST_STATUS + 1)):
        answer = SyncAnswer(status, [pod("a")])
        body, _ = encode_sync(answer, asked(), KEEPER, "sync")
        assert orjson.loads(body)["status"] == status
        assert oversized_status(answer, body) == size


def test_a_long_list_of_children_makes_no_status_too_large() -> None:
    answer = SyncAnswer({"phase": "Ready"}, [pod(f"a-{number:0200d}") for number in range(1000)])
    body, _ = encode_sync(answer, asked(), KEEPER, "sync")
    assert len(body) > LARGEST_STATUS
    assert oversized_status(answer, body) == 0


class Opaque:
    pass


@pytest.mark.parametrize(
    "answer",
    [
        SyncAnswer(None, []),  # type: ignore[arg-type]
        SyncAnswer([], []),  # type: ignore[arg-type]
        SyncAnswer({}, [pod("a"), pod("a")]),
        SyncAnswer({}, [pod("a"), pod("a", namespace="t")]),
        SyncAnswer({}, [{"apiVersion": "v1", "kind": "Pod", "metadata": {}}]),
        SyncAnswer({}, [{"apiVersion": "v1", "kind": "Pod"}]),
        SyncAnswer({}, [{"kind": "Pod", "metadata": {"name": "a"}}]),
        SyncAnswer({}, [{"apiVersion": "v1", "kind": "Pod", "metadata": None}]),
        SyncAnswer({}, [None]),  # type: ignore[list-item]
        SyncAnswer({}, [pod("")]),
        SyncAnswer({}, [pod(None)]),
        SyncAnswer({}, [pod("a", namespace="elsewhere")]),
        SyncAnswer({}, [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}]),
        SyncAnswer({}, [], float("nan")),
        SyncAnswer({}, [], float("inf")),
        SyncAnswer({}, [], -1),
        SyncAnswer({"at": [{"x": float("nan")}]}, []),
        SyncAnswer({}, [{**pod("a"), "spec": {"x": (1.0, float("-inf"))}}]),
        SyncAnswer({"at": datetime(2026, 11, 29, tzinfo=UTC)}, []),
        SyncAnswer({"at": Opaque()}, []),
        SyncAnswer({"at": {1: "a number as key"}}, []),
    ],
)
def test_an_answer_that_would_lose_something_does_not_leave(answer: SyncAnswer) -> None:
    with pytest.raises(BadAnswer):
        encode_sync(answer, asked(), KEEPER, "sync")


def test_nulls_that_are_meant_may_leave() -> None:
    body, _ = encode_sync(SyncAnswer({"at": None, "text": "null", "x": 1.5}, []), asked(), KEEPER, "sync")
    assert orjson.loads(body)["status"] == {"at": None, "text": "null", "x": 1.5}


def test_an_observed_child_of_a_kind_that_is_not_made_here_may_be_kept() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    body, _ = encode_sync(SyncAnswer({}, [secret]), asked(Secret={"t/s": secret}), KEEPER, "sync")
    assert orjson.loads(body)["children"] == [secret]


def test_the_same_name_may_stand_for_two_kinds() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    body, _ = encode_sync(SyncAnswer({}, [pod("a"), service]), asked(), KEEPER, "sync")
    assert len(orjson.loads(body)["children"]) == 2


def test_a_parent_made_again_under_its_name_is_not_given_the_old_answer() -> None:
    answer = SyncAnswer({}, [pod("a")])
    _, first = encode_sync(answer, asked(), KEEPER, "sync")
    _, same = encode_sync(answer, asked(), KEEPER, "sync")
    _, other = encode_sync(answer, asked("u-2"), KEEPER, "sync")
    assert first == same
    assert first != other


def test_another_answer_has_another_tag() -> None:
    _, one = encode_sync(SyncAnswer({}, [pod("a")]), asked(), KEEPER, "sync")
    _, two = encode_sync(SyncAnswer({}, [pod("b")]), asked(), KEEPER, "sync")
    assert one != two


def test_if_none_match_is_read_as_http_says() -> None:
    assert unchanged('"a"', '"a"')
    assert unchanged('"b", W/"a"', '"a"')
    assert not unchanged('"b"', '"a"')
    assert not unchanged("a", '"a"')


def test_customize_names_what_it_wants_to_see() -> None:
    rules = [RelatedRule(QUEUES, "workloads", ("d1",), "t"), RelatedRule(QUEUES, "localqueues", ("x", "y"))]
    assert orjson.loads(encode_customize(rules, KEEPER)) == {
        "relatedResources": [
            {"apiVersion": QUEUES, "resource": "workloads", "names": ["d1"], "namespace": "t"},
            {"apiVersion": QUEUES, "resource": "localqueues", "names": ["x", "y"]},
        ]
    }


@pytest.mark.parametrize(
    "rule",
    [
        RelatedRule(QUEUES, "workloads", (), "t"),
        RelatedRule(QUEUES, "workloads", ("",), "t"),
        RelatedRule(QUEUES, "workloads", ("d1",), ""),
        RelatedRule("v1", "secrets", ("d1",), "t"),
    ],
)
def test_a_rule_that_would_see_more_than_was_meant_does_not_leave(rule: RelatedRule) -> None:
    with pytest.raises(BadAnswer):
        encode_customize([rule], KEEPER)
