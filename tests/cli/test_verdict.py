"""Metacontroller's verdict on an answer: every trap of the protocol that a hook's author should hear of."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.recording import Answer
from app.cli.verdict import Verdict, judge
from app.kube.hook import JSON
from tests.support.recorded import CUSTOMIZE, DECORATOR, FINALIZES, RUNNING, recorded

REQUEST = recorded(RUNNING)
PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name.partition("/")[2]}}
    for name in REQUEST["children"]["Pod.v1"]
]
NAMES = ["controller", "spec", "hooks", "sync", "version", "parent", "object", "children", "attachments", "metadata"]
NAMES += ["name", "namespace", "labels", "kind", "apiVersion", "status", "related", "relatedResources", "resource"]
STATUS: JSON = {"phase": "Ready"}


def verdict(document: Any, request: JSON = REQUEST, status: int = 200, retry_after: str | None = None) -> Verdict:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return judge(request, Answer.of(httpx.Response(status, content=body, headers=headers)))


def config_map(name: str, **metadata: str) -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def test_an_answer_that_keeps_makes_and_deletes_is_told_in_one_sentence() -> None:
    found = verdict({"status": STATUS, "children": [*PODS[:2], config_map("new")], "resyncAfterSeconds": 5})
    assert not found.refusal
    assert found.warnings == ()
    assert found.effect == (
        "takes this answer: makes ConfigMap t/new; keeps or updates Pod t/d1-r0, Pod t/d1-r1; deletes Pod t/d1-r2; "
        "calls again in 5 s"
    )


@pytest.mark.parametrize("document", [{}, {"children": None}, {"children": [], "status": STATUS}])
def test_an_answer_without_children_is_a_deletion_of_all(document: JSON) -> None:
    found = verdict(document)
    assert "deletes Pod t/d1-r0, Pod t/d1-r1, Pod t/d1-r2" in found.effect
    assert "it lists no child, so every one of them is deleted" in found.warnings


def test_a_missing_status_is_a_wiped_one() -> None:
    assert any("the stored one is wiped" in warning for warning in verdict({"children": PODS}).warnings)
    assert verdict({"children": PODS, "status": STATUS}).warnings == ()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"children": PODS, "status": STATUS, "foo": 1}, 'unknown field "foo"'),
        (b'{"status": {"a": 1, "a": 2}, "children": []}', 'duplicate field "status.a"'),
        ({"children": {}}, "cannot unmarshal object into Go struct field CompositeHookResponse.children"),
        ({"children": [], "resyncAfterSeconds": "3"}, "cannot unmarshal string"),
        ({"children": [{"apiVersion": "v1", "metadata": {"name": "x"}}]}, "Object 'Kind' is missing"),
        ({"children": [{"apiVersion": "v1", "kind": "Pod", "metadata": []}]}, "cannot unmarshal array into an object"),
        (b"not json", "can't unmarshal webhookResponse"),
        (b"null", "cannot unmarshal null"),
        (
            {"children": [{**config_map("x"), "metadata": {"name": "x", "labels": {"controller-uid": "y"}}}]},
            "labels on desired child ConfigMap t/x don't match parent selector",
        ),
    ],
)
def test_an_answer_that_metacontroller_refuses_is_refused_in_its_words(document: Any, words: str) -> None:
    found = verdict(document)
    assert words in found.refusal
    assert found.effect == ""
    assert next(iter(found.lines())).startswith("Metacontroller refuses this answer and changes nothing: ")


@pytest.mark.parametrize("status", [201, 204, 304, 400, 500, 503])
def test_any_other_status_code_is_an_error(status: int) -> None:
    assert verdict(b"kaput", status=status).refusal == f"unsupported status code: {status} body: kaput"


def test_busy_is_no_refusal_as_long_as_it_says_for_how_long() -> None:
    assert verdict(b"busy", status=429, retry_after="5") == Verdict(
        effect="changes nothing and calls again in 5 s, without an event"
    )


@pytest.mark.parametrize("retry_after", [None, "1.5", "0", "soon"])
def test_busy_without_whole_seconds_is_a_hot_loop(retry_after: str | None) -> None:
    found = verdict(b"busy", status=429, retry_after=retry_after)
    assert found.effect == "changes nothing and calls again at once"
    assert "300 times a second" in found.warnings[0]


def test_a_child_of_an_undeclared_kind_is_made_and_never_seen_again() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    (warning,) = verdict({"status": STATUS, "children": [*PODS, secret]}).warnings
    assert warning.startswith("Secret.v1 is no declared child kind")


@pytest.mark.parametrize(
    ("child", "words"),
    [
        (config_map(""), "a ConfigMap.v1 has no metadata.name"),
        (config_map("x", namespace="elsewhere"), "is in another namespace than its parent"),
    ],
)
def test_a_child_that_will_not_stay_is_named(child: JSON, words: str) -> None:
    (warning,) = verdict({"status": STATUS, "children": [*PODS, child]}).warnings
    assert words in warning


def test_many_children_are_counted_rather_than_listed() -> None:
    found = verdict({"status": STATUS, "children": [*PODS, *(config_map(f"c{n}") for n in range(8))]})
    assert "ConfigMap t/c4 and 3 more" in found.effect


def test_letting_a_parent_go_with_children_still_there_is_told() -> None:
    found = verdict({"status": STATUS, "children": [], "finalized": True}, recorded(FINALIZES[1]))
    assert "lets the parent go, with 2 children still there" in found.effect
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"names": ["a"], "namespace": "t"}, ""),
        ({"labelSelector": {}, "namespace": "t"}, "selects every object of the kind"),
        ({"namespace": "t"}, "selects every object of the kind"),
        ({"labelSelector": {"matchLabels": {"a": "b"}}}, "has no namespace, so it selects in all of them"),
    ],
)
def test_a_related_rule_that_selects_too_much_is_named(rule: JSON, words: str) -> None:
    rules = [{"apiVersion": "v1", "resource": "services", **rule}]
    found = verdict({"relatedResources": rules}, recorded(CUSTOMIZE))
    assert found.effect == "takes this answer: 1 rule for related objects"
    assert [warning for warning in found.warnings if words in warning] == list(found.warnings)
    assert bool(found.warnings) == bool(words)


def test_an_unknown_field_of_a_related_rule_is_refused() -> None:
    rules = {"relatedResources": [{"apiVersion": "v1", "resource": "services", "nam": ["a"]}]}
    assert 'unknown field "relatedResources[0].nam"' in verdict(rules, recorded(CUSTOMIZE)).refusal


def thing(name: str) -> JSON:
    return {"apiVersion": "test.example/v1alpha1", "kind": "AttachThing", "metadata": {"name": name}}


def test_a_decorators_answer_is_judged_by_its_own_fields() -> None:
    request = recorded(DECORATOR)
    found = verdict({"attachments": [thing("new")], "labels": {"seen": "yes"}, "annotations": {"x": None}}, request)
    assert not found.refusal
    assert found.effect == (
        "takes this answer: makes AttachThing t/new; deletes AttachThing t/dt; writes the labels seen to the "
        "Deployment; writes the annotations x to the Deployment"
    )
    assert found.warnings == ()  # no status: a decorator's stays as it is


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"children": []}, 'unknown field "children"'),
        ({"attachments": [{"apiVersion": "v1"}]}, "Object 'Kind' is missing in"),
        ({"labels": []}, "DecoratorHookResponse.labels of type map[string]*string"),
    ],
)
def test_a_decorators_answer_is_read_strictly_too(document: JSON, words: str) -> None:
    assert words in verdict(document, recorded(DECORATOR)).refusal


def test_version_1_of_the_protocol_is_not_judged() -> None:
    request = recorded(DECORATOR)
    del request["controller"]["spec"]["hooks"]["sync"]["version"]
    assert "hook version v1" in verdict({"anything": 1}, request).effect


def test_a_hook_that_is_read_loosely_may_answer_more() -> None:
    request = recorded(DECORATOR)
    request["controller"]["spec"]["hooks"]["sync"]["webhook"]["responseUnMarshallMode"] = "loose"
    assert not verdict({"attachments": [thing("dt")], "more": 1}, request).refusal


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner),
    max_leaves=20,
)


@given(ANYTHING, st.sampled_from([RUNNING, FINALIZES[1], CUSTOMIZE, DECORATOR]))
def test_any_answer_gets_a_verdict(document: Any, name: str) -> None:
    """A hook's author sends what they send: the verdict is a sentence, never a trace."""
    assert any(line for line in verdict(document, recorded(name)).lines())


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING))
def test_any_request_gets_a_verdict(request: JSON) -> None:
    assert list(verdict({"status": STATUS, "children": PODS}, request).lines())
