"""Deletion, the finalize hook, controllers that do not start, ETags (trials D, H3b, H4, H12)."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.webhook import url_of
from tests.local.scripted import API, THING, Reply, ScriptedHook, World, config, crd, desired, pod

FINALIZER = "metacontroller.io/compositecontroller-things"


def _labelled_again(world: World) -> None:
    thing = world.stored_thing()
    thing["metadata"]["labels"] = {"poke": str(world.plane.clock.elapsed)}
    world.plane.store.update(thing)
    world.plane.run_for(1)


def test_without_a_finalize_hook_a_deletion_calls_nothing_and_the_collector_takes_the_children(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(config("c"), pod("p")))
    world.controller()
    world.thing()
    world.plane.run_for(100)
    hook.calls.clear()
    world.plane.delete(THING, "t/a")
    world.plane.run_for(30)
    assert hook.calls == []
    assert world.plane.all_of("ConfigMap.v1") == world.plane.all_of("Pod.v1") == []
    assert world.plane.get(THING, "t/a") is None


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


def test_under_foreground_deletion_the_children_are_left_to_the_collector(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("c")))
    hook.answers("finalize", {"children": []})
    world.controller(("sync", "finalize"))
    world.thing()
    world.plane.run_for(1)
    thing = world.stored_thing()
    thing["metadata"]["finalizers"].append("foregroundDeletion")
    world.plane.store.update(thing)
    world.plane.delete(THING, "t/a")
    world.plane.run_for(1)
    assert hook.times("finalize") != []
    assert world.names("ConfigMap.v1") == ["c"]


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


# Controllers that do not start


def test_a_child_kind_that_is_not_served_keeps_the_whole_controller_from_starting(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired())
    world.controller(children={"extras": (API, "InPlace")})
    world.thing()
    world.plane.run_for(5)
    assert hook.calls == []
    assert world.events()[0] == (
        "Cannot create new controller: discovery: can't find resource extras in apiVersion test.example/v1"
    )
    world.plane.serve(crd("Extra"))
    world.plane.run_for(30)
    assert len(hook.calls) == 1, "it starts by itself once the kind is served"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "v1"}, "the sync hook has version 'v1': only v2 is spoken here"),
        ({"webhook": {}}, "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'"),
        ({"webhook": {"url": "http://x", "timeout": "soon"}}, "the timeout 'soon' is no duration"),
        (
            {"webhook": {"url": "http://x", "etag": {"enabled": True, "cacheTimeoutSeconds": 3}}},
            "cacheTimeoutSeconds without cacheCleanupSeconds",
        ),
    ],
)
def test_a_hook_that_cannot_be_read_keeps_the_controller_from_starting(world: World, change: JSON, words: str) -> None:
    controller = world.controller()
    controller["spec"]["hooks"]["sync"] |= change
    world.plane.store.update(controller)
    world.plane.run_for(1)
    assert words in world.events()[0]
    assert world.plane.metacontroller.running == {}


def test_an_update_strategy_that_is_not_imitated_is_refused(world: World) -> None:
    world.controller(children={"pods": ("v1", "RollingRecreate")})
    world.plane.run_for(1)
    assert "update strategy 'RollingRecreate' of pods is not imitated here" in world.events()[0]


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
    ("reference", "words"),
    [
        ({"name": "gone"}, "can't get authorization secret hangar/gone"),
        ({"key": "other"}, 'authorization secret hangar/token does not contain key "other"'),
    ],
)
def test_a_missing_token_keeps_the_controller_from_starting(world: World, reference: JSON, words: str) -> None:
    found = _secret(world)
    found["authorization"]["secretRef"] |= reference
    world.controller(endpointConfigs=[{"host": world.hook.base_url.removeprefix("http://"), **found}])
    world.plane.run_for(1)
    assert words in world.events()[0]


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
