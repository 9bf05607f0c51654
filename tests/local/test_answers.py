"""What Metacontroller does with an answer: strictness, status codes, and the status (trials H6, H7, H8)."""

from typing import Any

import pytest

from app.local.answers import COMPOSITE, CUSTOMIZE, AnswerError, read
from tests.local.scripted import Reply, ScriptedHook, World, config, desired, part, stub


def _settled(world: World, hook: ScriptedHook) -> None:
    """A Thing with one ConfigMap and a status."""
    hook.answers("sync", desired(config("a"), status={"phase": "Up"}))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    assert world.names("ConfigMap.v1") == ["a"]
    hook.calls.clear()


def _poke(world: World) -> None:
    """A label, so that the hook is called again."""
    thing = world.stored_thing()
    thing["metadata"]["labels"] = {"poke": str(world.plane.clock.elapsed)}
    world.plane.store.update(thing)
    world.plane.run_for(0.06)


@pytest.mark.parametrize("body", [{}, {"children": None}, {"children": []}], ids=["empty", "null", "no children"])
def test_an_answer_without_children_deletes_all_of_them_and_wipes_the_status(
    world: World, hook: ScriptedHook, body: Any
) -> None:
    _settled(world, hook)
    hook.answers("sync", body)
    _poke(world)
    assert world.names("ConfigMap.v1") == []
    assert world.stored_thing()["status"] == {"observedGeneration": 1}
    assert world.events() == []


@pytest.mark.parametrize("status", [{}, {"status": None}], ids=["missing", "null"])
def test_a_missing_status_wipes_the_stored_one(world: World, hook: ScriptedHook, status: Any) -> None:
    _settled(world, hook)
    hook.answers("sync", {"children": [stub(config("a"))], **status})
    _poke(world)
    assert world.stored_thing()["status"] == {"observedGeneration": 1}
    assert world.names("ConfigMap.v1") == ["a"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            b'{"children":[],"status":{},"foo":1}',
            'strict validation failed for v2 webhookResponse (type: sync, mode: strict): unknown field "foo"',
        ),
        (b'{"children":[],"children":[]}', 'duplicate field "children"'),
        (b'{"children":[],"status":{"a":{"b":1,"b":2}}}', 'duplicate field "status.a.b"'),
        (b"not json", "can't unmarshal webhookResponse (version: v2, type: sync)"),
        (b"[]", "cannot unmarshal array into Go value"),
        (b'{"resyncAfterSeconds":"3"}', "cannot unmarshal string into Go struct field"),
        (b'{"resyncAfterSeconds":true}', "cannot unmarshal bool into Go struct field"),
        (b'{"status":[]}', "CompositeHookResponse.status of type map[string]interface {}"),
        (b'{"children":{}}', "CompositeHookResponse.children"),
        (b'{"children":[null]}', "cannot unmarshal null"),
        (b'{"children":[{"apiVersion":"v1"}]}', "Object 'Kind' is missing in"),
        (b'{"finalized":"yes"}', "CompositeHookResponse.finalized of type bool"),
    ],
)
def test_an_answer_that_is_not_understood_is_an_error_and_changes_nothing(
    world: World, hook: ScriptedHook, body: bytes, words: str
) -> None:
    _settled(world, hook)
    before = world.stored_thing()["status"]
    hook.answers("sync", Reply(body))
    _poke(world)
    assert words in world.events()[0]
    assert world.events()[0].startswith("Sync error: sync hook failed for Thing t/a: sync hook failed (version=v2): ")
    assert world.names("ConfigMap.v1") == ["a"]
    assert world.stored_thing()["status"] == before


def test_duplicate_keys_inside_a_child_are_not_looked_at() -> None:
    body = b'{"children":[{"kind":"ConfigMap","data":{"a":"1","a":"2"}}]}'
    assert read(body, COMPOSITE, "sync")["children"][0]["data"] == {"a": "2"}


def test_an_unknown_field_of_a_related_rule_is_an_error() -> None:
    body = b'{"relatedResources":[{"apiVersion":"v1","resource":"pods","name":"x"}]}'
    with pytest.raises(AnswerError, match=r'unknown field "relatedResources\[0\].name"'):
        read(body, CUSTOMIZE, "customize")


@pytest.mark.parametrize("status", [201, 204, 304, 400, 412, 500, 503])
def test_any_status_but_200_is_an_error_with_the_whole_body(world: World, hook: ScriptedHook, status: int) -> None:
    _settled(world, hook)
    hook.answers("sync", Reply(b"" if status in {204, 304} else b'{"error":"kaput"}', status))
    _poke(world)
    shown = "" if status in {204, 304} else '{"error":"kaput"}'
    assert world.events()[0].endswith(f"unsupported status code: {status} body: {shown}")
    assert world.names("ConfigMap.v1") == ["a"]


def test_a_long_body_is_in_the_event_whole(world: World, hook: ScriptedHook) -> None:
    _settled(world, hook)
    hook.answers("sync", Reply(b"x" * 3000, 500))
    _poke(world)
    assert world.events()[0].endswith("body: " + "x" * 3000)


def test_a_hook_that_is_down_is_an_error_and_changes_nothing(world: World, hook: ScriptedHook) -> None:
    _settled(world, hook)
    controller = world.controller()
    controller["spec"]["hooks"]["sync"]["webhook"]["url"] = "http://127.0.0.1:1/sync"
    world.plane.store.update(controller)
    world.plane.run_for(0.2)
    words = 'http error: Post "http://127.0.0.1:1/sync": dial tcp 127.0.0.1:1: connect: connection refused'
    assert world.events()[0].endswith(words)
    assert world.names("ConfigMap.v1") == ["a"]


def test_observed_generation_is_metacontrollers_whatever_the_hook_says(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(status={"observedGeneration": 99}))
    world.controller()
    world.thing(spec={"v": 1})
    world.plane.run_for(1)
    world.thing(spec={"v": 2})
    world.plane.run_for(1)
    assert world.stored_thing()["status"] == {"observedGeneration": 2}


def test_observed_generation_is_written_although_children_fail_and_not_when_the_hook_does(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(stub(part("p"))))
    world.controller()
    world.thing(spec={"v": 1})
    world.plane.run_for(1)
    assert world.events() != []
    assert world.stored_thing()["status"] == {"observedGeneration": 1}
    hook.answers("sync", Reply(b"no", 500))
    world.thing(spec={"v": 2})
    world.plane.run_for(1)
    assert world.stored_thing()["status"] == {"observedGeneration": 1}


def test_what_somebody_else_writes_into_the_status_is_wiped_at_once(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(status={"phase": "Up"}))
    world.controller(parent={"ignoreStatusChanges": False})
    world.thing()
    world.plane.run_for(1)
    world.plane.store.update_status({**world.stored_thing(), "status": {"phase": "Up", "theirs": 1}})
    world.plane.run_for(0.06)
    assert world.stored_thing()["status"] == {"phase": "Up", "observedGeneration": 1}


def test_floats_and_nested_lists_in_a_status_survive_and_cause_no_further_sync(
    world: World, hook: ScriptedHook
) -> None:
    status = {"share": 0.5, "whole": 1.0, "nested": {"list": [1, {"a": None}]}}
    hook.answers("sync", desired(status=status))
    world.controller(parent={"ignoreStatusChanges": False})
    world.thing()
    world.plane.run_for(60)
    assert world.stored_thing()["status"] == {**status, "observedGeneration": 1}
    assert len(hook.calls) == 2, "one, and one for the status that it wrote"


def test_a_status_that_the_schema_refuses_is_an_error_and_the_children_stand(world: World, hook: ScriptedHook) -> None:
    strict = {"type": "object", "properties": {"status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    world.plane.serve(
        {
            "spec": {
                "group": "test.example",
                "names": {"kind": "Thing", "plural": "things"},
                "versions": [{"name": "v1", "subresources": {"status": {}}, "schema": {"openAPIV3Schema": strict}}],
            }
        }
    )
    hook.answers("sync", desired(config("a"), status={"n": "one"}))
    world.controller()
    world.thing()
    world.plane.run_for(0.2)
    assert "can't update status for Thing t/a" in world.events()[0]
    assert world.names("ConfigMap.v1") == ["a"]
