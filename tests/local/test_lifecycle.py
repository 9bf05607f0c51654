"""The finalize hook, what a hook is called with, ETags (trials H4, H12)."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.authorization import url_of
from app.local.network import CallFault
from tests.local.scripted import THING, Reply, ScriptedHook, World, config, desired, pod

FINALIZER = "metacontroller.io/compositecontroller-things"


def _labelled_again(world: World) -> None:
    thing = world.stored_thing()
    thing["metadata"]["labels"] = {"poke": str(world.plane.clock.elapsed)}
    world.plane.store.update(thing)
    world.plane.run_for(1)


def test_the_finalize_hook_decides_when_the_parent_goes(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(pod("p")))
    hook.answers("finalize", lambda request: Reply(_drained(request)))
    world.controller(("sync", "finalize"))
    world.thing()
    world.plane.run_for(100)
    assert world.stored_thing()["metadata"]["finalizers"] == [FINALIZER]
    hook.calls.clear()
    world.plane.delete(THING, "t/a")
    world.plane.run_for(0.1)
    assert world.stored_thing()["status"]["phase"] == "Deleting", "the status is written while it drains"
    assert hook.last("finalize")["finalizing"] is True
    world.plane.run_for(30)
    assert hook.times("sync") == []
    assert len(hook.times("finalize")) == 3, "at the deletion, when the Pod terminates, when it is gone"
    assert world.plane.get(THING, "t/a") is None
    assert world.events() == []


def _drained(request: JSON) -> JSON:
    return {"children": [], "status": {"phase": "Deleting"}, "finalized": not request["children"]["Pod.v1"]}


def test_a_finalizer_is_in_the_first_request_already(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    world.controller(("sync", "finalize"))
    world.thing()
    world.plane.run_for(1)
    assert hook.calls[0].request["parent"]["metadata"]["finalizers"] == [FINALIZER]
    assert len(hook.calls) == 1


def test_a_parent_already_finalized_waits_for_the_other_finalizers_unmanaged(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("c")))
    hook.answers("finalize", {"children": [], "finalized": True})
    world.controller(("sync", "finalize"))
    thing = world.thing()
    thing["metadata"]["finalizers"] = ["other.example/hold"]
    world.plane.store.update(thing)
    world.plane.run_for(1)
    world.plane.delete(THING, "t/a")
    world.plane.run_for(1)
    assert world.stored_thing()["metadata"]["finalizers"] == ["other.example/hold"]
    assert world.names("ConfigMap.v1") == ["c"], "after its finalizer is gone children are not managed any more"


def test_a_controller_without_a_finalize_hook_takes_an_old_finalizer_off(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    world.controller(("sync", "finalize"))
    world.thing()
    world.plane.run_for(1)
    world.controller(("sync",))
    world.plane.run_for(1)
    assert "finalizers" not in world.stored_thing()["metadata"]


def test_a_parent_that_leaves_the_label_selector_is_finalized(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("c")))
    hook.answers("finalize", lambda request: Reply({"finalized": not request["children"]["ConfigMap.v1"]}))
    world.controller(("sync", "finalize"), parent={"labelSelector": {"matchLabels": {"ours": "yes"}}})
    thing = world.thing()
    world.plane.run_for(1)
    assert hook.calls == [], "not selected: none of our business"
    thing["metadata"]["labels"] = {"ours": "yes"}
    world.plane.store.update(thing)
    world.plane.run_for(1)
    assert world.names("ConfigMap.v1") == ["c"]
    left = world.stored_thing()
    left["metadata"]["labels"] = {"ours": "no"}
    world.plane.store.update(left)
    world.plane.run_for(1)
    assert world.names("ConfigMap.v1") == []
    assert "finalizers" not in world.stored_thing()["metadata"]


def test_without_a_generated_selector_the_parent_must_state_one(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("c", {"app": "a"})))
    world.controller(generateSelector=False)
    world.thing("a", {"selector": {"matchLabels": {"app": "a"}}})
    world.thing("b")
    world.plane.run_for(1)
    assert world.names("ConfigMap.v1") == ["c"]
    assert world.events()[0] == "Sync error: .spec.selector must have either matchLabels, matchExpressions, or both"


def test_a_deleted_controller_calls_nothing_any_more(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(resyncAfterSeconds=1))
    world.controller(resyncPeriodSeconds=1)
    world.thing()
    world.plane.run_for(1)
    world.plane.delete("CompositeController.metacontroller.k8s.io/v1alpha1", "things")
    hook.calls.clear()
    world.plane.run_for(10)
    assert hook.calls == []


@pytest.mark.parametrize(
    ("webhook", "url"),
    [
        ({"url": "http://x/sync"}, "http://x/sync"),
        ({"service": {"name": "s", "namespace": "n"}, "path": "/sync"}, "http://s.n:80/sync"),
        (
            {"service": {"name": "s", "namespace": "n", "port": 8443, "protocol": "https"}, "path": "/sync"},
            "https://s.n:8443/sync",
        ),
    ],
)
def test_the_address_of_a_hook(webhook: JSON, url: str) -> None:
    assert url_of(webhook) == url


# Authorization


def _secret(world: World, value: str = "s3cret\n") -> JSON:
    world.plane.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "token", "namespace": "hangar"},
            "stringData": {"token": value},
        }
    )
    return {"authorization": {"secretRef": {"namespace": "hangar", "name": "token", "key": "token"}}}


def test_the_bearer_token_comes_from_the_secret_of_the_hooks_host(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    other, host = {"host": "other.example"}, {"host": hook.base_url.removeprefix("http://")}
    world.controller(endpointConfigs=[other, {**host, **_secret(world)}])
    world.thing()
    world.plane.run_for(1)
    assert hook.calls[0].headers["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"authorization": {"secretRef": {"namespace": "hangar", "name": "gone", "key": "token"}}},
            "can't resolve authorization: can't get authorization secret hangar/gone: secrets \"gone\" not found",
        ),
        (
            {"authorization": {"secretRef": {"namespace": "hangar", "name": "token", "key": "other"}}},
            'authorization secret hangar/token does not contain key "other"',
        ),
        ({"authorization": {"type": "basic"}}, 'authorization type "basic" is not supported; use the basicAuth field'),
        ({"basicAuth": {"usernameKey": "token"}, "authorization": {"type": "x"}}, "are mutually exclusive"),
        (
            {"basicAuth": {"secretRef": {"namespace": "hangar", "name": "token"}}},
            'can\'t resolve basicAuth: basicAuth secret hangar/token does not contain key "username"',
        ),
    ],
)
def test_a_token_that_cannot_be_had_keeps_the_controller_from_starting(
    world: World, settings: JSON, words: str
) -> None:
    _secret(world)
    world.controller(endpointConfigs=[{"host": world.hook.base_url.removeprefix("http://"), **settings}])
    world.plane.run_for(1)
    assert words in world.events()[0]


def test_basic_auth_comes_from_a_secret_of_the_hook_itself(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "hangar"}}
    world.plane.apply({**secret, "stringData": {"username": "me", "password": "x\n"}})
    controller = world.controller(endpointConfigs=[{"host": "other.example", **_secret(world)}])
    reference = {"namespace": "hangar", "name": "login"}
    controller["spec"]["hooks"]["sync"]["webhook"]["basicAuth"] = {"secretRef": reference}
    world.plane.store.update(controller)
    world.thing()
    world.plane.run_for(1)
    assert hook.calls[0].headers["authorization"] == "Basic bWU6eA=="


# Answers that take time


def test_a_hook_that_takes_its_time_is_waited_for_and_called_once_more_for_what_came_meanwhile(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(config("c")))
    world.plane.network.fail(CallFault(hook="sync", delay=4, times=1))
    world.controller()
    world.thing()
    world.plane.run_for(2)
    world.thing(spec={"v": 2})
    world.plane.run_for(1)
    assert (hook.times(), world.names("ConfigMap.v1")) == ([0.05], [])
    world.plane.run_for(1.1)
    assert (hook.times(), world.names("ConfigMap.v1")) == ([0.05, 4.1], ["c"])


def test_a_hook_slower_than_its_time_out_is_an_error_after_the_time_out(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    world.plane.network.fail(CallFault(hook="sync", delay=60, times=1))
    world.controller()
    world.thing()
    world.plane.run_for(10.04)
    assert world.events() == []
    world.plane.run_for(0.05)
    assert world.events()[0].endswith("net/http: request canceled (Client.Timeout exceeded while awaiting headers)")


def test_a_slow_customize_holds_the_sync_up(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    world.plane.network.fail(CallFault(hook="customize", delay=3, times=1))
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(5)
    assert (hook.times("customize"), hook.times("sync")) == ([0.05], [3.05])


def test_a_controller_that_ends_while_it_waits_acts_on_no_answer(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("c")))
    world.plane.network.fail(CallFault(hook="sync", delay=4, times=1))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    world.plane.delete("CompositeController.metacontroller.k8s.io/v1alpha1", "things")
    world.plane.run_for(10)
    assert world.names("ConfigMap.v1") == []


# ETags

ETAG: JSON = {"enabled": True, "cacheTimeoutSeconds": 3, "cacheCleanupSeconds": 1}


def _tagged(request_headers: dict[str, str], body: Any) -> Reply:
    return Reply(b"", 304) if request_headers.get("if-none-match") == '"abc"' else Reply(body, 200, {"ETag": '"abc"'})


def _begin_tagged(world: World, etag: JSON) -> None:
    hook = world.hook
    hook.answers("sync", lambda _: _tagged(hook.calls[-1].headers, desired(config("c"), status={"phase": "Up"})))
    world.controller(etag=etag)
    world.thing()
    world.plane.run_for(0.2)


def test_a_304_is_answered_from_the_cache_in_full(world: World, hook: ScriptedHook) -> None:
    _begin_tagged(world, {"enabled": True})
    world.plane.delete("ConfigMap.v1", "t/c")
    world.plane.run_for(0.2)
    assert hook.calls[-1].headers["if-none-match"] == '"abc"'
    assert world.names("ConfigMap.v1") == ["c"], "made again from the cached body"
    assert world.stored_thing()["status"]["phase"] == "Up"


def test_without_etag_in_the_controller_no_tag_is_sent(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", Reply(desired(), 200, {"ETag": '"abc"'}))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    _labelled_again(world)
    assert all("if-none-match" not in call.headers for call in hook.calls)


def test_the_tag_is_forgotten_after_its_timeout(world: World, hook: ScriptedHook) -> None:
    _begin_tagged(world, ETAG)
    world.plane.run_for(5)
    _labelled_again(world)
    assert "if-none-match" not in hook.calls[-1].headers


def test_without_a_time_out_the_tag_is_never_forgotten(world: World, hook: ScriptedHook) -> None:
    _begin_tagged(world, {"enabled": True})
    world.plane.run_for(30 * 24 * 3600)
    _labelled_again(world)
    assert hook.calls[-1].headers["if-none-match"] == '"abc"'


def test_a_parent_made_anew_under_its_name_meets_the_old_answer(world: World, hook: ScriptedHook) -> None:
    _begin_tagged(world, {"enabled": True})
    world.plane.delete(THING, "t/a")
    world.plane.run_for(5)
    hook.answers("sync", lambda _: _tagged(hook.calls[-1].headers, desired(status={"phase": "New"})))
    world.thing()
    world.plane.run_for(1)
    assert hook.calls[-1].headers["if-none-match"] == '"abc"', "the cache is keyed by name, not by UID"
    assert world.stored_thing()["status"]["phase"] == "Up"
    assert world.names("ConfigMap.v1") == ["c"]


# What changes while a hook answers


def test_a_child_made_anew_while_the_hook_answers_is_not_deleted_in_the_place_of_the_old_one(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(config("c")))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    hook.answers("sync", desired())
    world.plane.network.fail(CallFault(hook="sync", delay=4, times=1))
    world.thing(spec={"v": 2})
    world.plane.run_for(1)
    world.plane.delete("ConfigMap.v1", "t/c")
    world.plane.apply(config("c", theirs="1"))
    world.plane.run_for(5)
    assert world.stored("ConfigMap.v1", "c")["data"] == {"theirs": "1"}
    assert "can't delete ConfigMap t/c: Operation cannot be fulfilled on ConfigMap" in world.events()[0]


def test_a_child_edited_while_the_hook_answers_is_updated_by_the_next_sync(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("c", a="1")))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    hook.answers("sync", desired(config("c", a="2")))
    world.plane.network.fail(CallFault(hook="sync", delay=4, times=1))
    world.thing(spec={"v": 2})
    world.plane.run_for(1)
    world.edit("ConfigMap.v1", "c", data={"theirs": "1"})
    world.plane.run_for(3.07)
    assert world.stored("ConfigMap.v1", "c")["data"] == {"a": "1", "theirs": "1"}, "a conflict, and no event"
    world.plane.run_for(1)
    assert world.stored("ConfigMap.v1", "c")["data"] == {"a": "2", "theirs": "1"}
    assert world.events() == []


def test_a_parent_that_goes_while_the_hook_answers_is_no_error(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(status={"phase": "Up"}))
    world.plane.network.fail(CallFault(hook="sync", delay=4, times=1))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    world.plane.delete(THING, "t/a")
    world.plane.run_for(10)
    assert world.events() == []


def test_an_unselected_parent_loses_the_finalizer_of_a_controller_that_finalizes_no_more(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired())
    world.controller(("sync", "finalize"))
    world.thing()
    world.plane.run_for(1)
    hook.calls.clear()
    world.controller(("sync",), parent={"labelSelector": {"matchLabels": {"ours": "yes"}}})
    world.plane.run_for(1)
    assert "finalizers" not in world.stored_thing()["metadata"]
    assert hook.calls == []


def test_a_controller_with_a_finalize_hook_alone_says_that_there_is_no_sync_hook(
    world: World, hook: ScriptedHook
) -> None:
    world.controller(("finalize",))
    world.thing()
    world.plane.run_for(0.1)
    assert world.events() == ["Sync error: sync hook nil//not defined for Thing t/a: %!w(<nil>)"]
