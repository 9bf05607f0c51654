"""Deletion in background and foreground, orphaning, namespaces, and garbage collection (trials D, H1, H12)."""

from collections.abc import Iterator

import pytest

from app.kube.hook import JSON
from app.local.collector import DELAY
from app.local.deletion import Propagation
from app.local.errors import Forbidden, NotFound
from app.local.plane import Plane
from app.local.values import owners
from tests.local.scripted import (
    API,
    DEPLOYMENT,
    THING,
    Reply,
    ScriptedHook,
    World,
    an_object,
    config,
    crd,
    deployment,
    desired,
    pod,
    service,
)


@pytest.fixture
def plane() -> Iterator[Plane]:
    with Plane() as plane:
        yield plane


def _with_children(world: World, *hooks: str, grace: int = 30) -> None:
    """A Thing with a ConfigMap, a Service and a running Pod."""
    draining = pod("p")
    draining["spec"]["terminationGracePeriodSeconds"] = grace
    world.hook.answers("sync", desired(config("c"), service("s"), draining))
    world.controller(
        hooks or ("sync", "customize"),
        children={"pods": ("v1", "OnDelete"), "configmaps": ("v1", "InPlace"), "services": ("v1", "InPlace")},
    )
    world.thing()
    world.plane.run_for(100)
    world.hook.calls.clear()


def _left(world: World) -> list[str]:
    """What of the Thing and its children is left."""
    kinds = (THING, "ConfigMap.v1", "Service.v1", "Pod.v1")
    return [one["kind"] for kind in kinds for one in world.plane.all_of(kind, "t")]


def test_background_takes_the_parent_at_once_then_the_children_and_calls_no_hook(
    world: World, hook: ScriptedHook
) -> None:
    _with_children(world)
    world.plane.delete(THING, "t/a")
    assert _left(world) == ["ConfigMap", "Service", "Pod"]
    world.plane.run_for(0.07)
    assert _left(world) == ["Pod"], "it drains"
    world.plane.run_for(30)
    assert _left(world) == []
    assert hook.calls == []


def test_gated_pods_go_at_once_with_their_parent(world: World, hook: ScriptedHook) -> None:
    gated = pod("p")
    gated["spec"]["schedulingGates"] = [{"name": "x/gate"}]
    hook.answers("sync", desired(gated))
    world.controller()
    world.thing()
    world.plane.run_for(10)
    world.plane.delete(THING, "t/a")
    world.plane.run_for(0.13)
    assert _left(world) == []


def test_foreground_takes_the_children_first_and_the_parent_last(world: World, hook: ScriptedHook) -> None:
    _with_children(world)
    world.plane.delete(THING, "t/a", "Foreground")
    held = world.stored_thing()["metadata"]
    assert (held["finalizers"], held["deletionTimestamp"]) == (["foregroundDeletion"], "2026-01-01T00:01:40Z")
    world.plane.run_for(1)
    assert _left(world) == ["Thing", "Pod"]
    world.plane.run_for(30)
    assert _left(world) == []


def test_in_foreground_the_sync_hook_is_called_with_a_dying_parent_and_its_answers_make_no_children(
    world: World, hook: ScriptedHook
) -> None:
    _with_children(world)
    hook.answers("sync", desired(config("new"), status={"phase": "Late"}))
    world.plane.delete(THING, "t/a", "Foreground")
    world.plane.run_for(0.3)
    assert world.stored_thing()["status"] == {"phase": "Late", "observedGeneration": 2}, "the status is written"
    world.plane.run_for(30)
    syncs = [call.request for call in hook.calls if call.hook == "sync"]
    assert len(syncs) >= 3
    assert all("deletionTimestamp" in one["parent"]["metadata"] and not one["finalizing"] for one in syncs)
    assert len(hook.times("customize")) == 1, "the deletion is a new generation"
    assert world.plane.all_of("ConfigMap.v1", "t") == []


def test_in_foreground_the_finalize_hook_is_called_and_children_are_left_to_the_collector(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("finalize", {"children": [config("wanted")], "finalized": False})
    _with_children(world, "sync", "finalize")
    world.plane.delete(THING, "t/a", "Foreground")
    world.plane.run_for(1)
    assert hook.times("sync") == []
    assert len(hook.times("finalize")) > 1
    assert _left(world) == ["Thing", "Pod"], "the collector takes the children, and the answer makes none"
    world.plane.run_for(20)
    assert _left(world) == ["Thing", "ConfigMap"], "once the collector has done its part, the hook has its way"
    hook.answers("finalize", {"children": [], "finalized": True})
    world.poke()
    assert _left(world) == []


def test_what_does_not_block_its_owner_does_not_hold_it_up(plane: Plane) -> None:
    owner = plane.apply(config("owner"))
    for title, blocks in (("blocking", True), ("loose", False)):
        held = _owned(title, owner)
        held["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = blocks
        held["metadata"]["finalizers"] = ["x/hold"]
        plane.apply(held)
    plane.delete("ConfigMap.v1", "t/owner", "Foreground")
    plane.run_for(1)
    assert "owner" in _names(plane)
    plane.store.update(_without_finalizers(plane, "blocking"))
    plane.run_for(1)
    assert _names(plane) == ["loose"]


def test_foreground_goes_down_the_whole_chain(plane: Plane) -> None:
    one = plane.apply(config("one"))
    two = plane.apply(_blocking("two", one))
    three = _blocking("three", two)
    three["metadata"]["finalizers"] = ["x/hold"]
    plane.apply(three)
    plane.delete("ConfigMap.v1", "t/one", "Foreground")
    plane.run_for(1)
    assert _names(plane) == ["one", "three", "two"]
    plane.store.update(_without_finalizers(plane, "three"))
    plane.run_for(1)
    assert _names(plane) == []


def test_orphan_keeps_the_children_and_takes_the_owner_off_them(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(deployment()))
    world.controller(children={"deployments": ("apps/v1", "InPlace")})
    world.thing()
    world.plane.run_for(1)
    assert owners(world.stored(DEPLOYMENT, "d"))
    world.plane.delete(THING, "t/a", "Orphan")
    world.plane.run_for(5)
    assert world.plane.get(THING, "t/a") is None
    assert owners(world.stored(DEPLOYMENT, "d")) == []


@pytest.mark.parametrize(("propagation", "left"), [("Background", []), ("Orphan", ["dependent"])])
def test_the_last_word_on_dependents_counts_while_a_finalizer_holds_the_owner(
    plane: Plane, propagation: Propagation, left: list[str]
) -> None:
    held = config("owner")
    held["metadata"]["finalizers"] = ["x/hold"]
    owner = plane.apply(held)
    plane.apply(_blocking("dependent", owner))
    plane.delete("ConfigMap.v1", "t/owner")
    plane.delete("ConfigMap.v1", "t/owner", propagation)
    plane.run_for(1)
    plane.store.update(_without_finalizers(plane, "owner"))
    plane.run_for(1)
    assert _names(plane) == left


def test_the_collector_learns_of_a_new_kind_at_its_next_discovery_only(plane: Plane) -> None:
    plane.apply(_owned("known", plane.apply(config("owner"))))
    plane.run_for(8)
    plane.serve(crd("Late"))
    owner = plane.apply(an_object(API, "Late", "late"))
    dependent = config("dependent")
    reference = {"apiVersion": API, "kind": "Late", "name": "late", "uid": owner["metadata"]["uid"]}
    dependent["metadata"]["ownerReferences"] = [reference]
    plane.apply(dependent)
    plane.delete(f"Late.{API}", "t/late")
    plane.run_for(21.9)
    assert "dependent" in _names(plane), "22 seconds until the collector asks again"
    plane.run_for(0.1 + 2 * DELAY)
    assert _names(plane) == ["known", "owner"]


def test_a_dependent_of_a_kind_that_is_new_waits_for_the_next_discovery_too(plane: Plane) -> None:
    owner = plane.apply(config("owner"))
    plane.apply(_owned("known", owner))
    plane.run_for(8)
    plane.serve(crd("Late"))
    late = an_object(API, "Late", "late")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    late["metadata"]["ownerReferences"] = [reference]
    plane.apply(late)
    plane.delete("ConfigMap.v1", "t/owner")
    plane.run_for(21)
    assert plane.get(f"Late.{API}", "t/late") is not None
    plane.run_for(2)
    assert plane.get(f"Late.{API}", "t/late") is None


def test_a_cluster_scoped_object_that_names_a_namespaced_owner_is_never_collected(plane: Plane) -> None:
    space: JSON = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}}
    space["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"}]
    plane.apply(space)
    plane.run_for(60)
    assert plane.get("Namespace.v1", "made") is not None


# Namespaces


def test_a_namespace_goes_once_everything_in_it_is_gone(plane: Plane) -> None:
    plane.apply(config("c"))
    plane.apply(pod("p"))
    plane.run_for(60)
    plane.delete("Namespace.v1", "t")
    space = plane.get("Namespace.v1", "t")
    assert space is not None
    assert space["status"]["phase"] == "Terminating"
    plane.run_for(0.2)
    assert (_names(plane), len(plane.all_of("Pod.v1", "t"))) == ([], 1), "the Pod drains"
    plane.run_for(30)
    assert plane.get("Namespace.v1", "t") is None


def test_nothing_new_is_made_in_a_namespace_that_goes(plane: Plane) -> None:
    held = config("c")
    held["metadata"]["finalizers"] = ["x/hold"]
    plane.apply(held)
    plane.delete("Namespace.v1", "t")
    plane.run_for(1)
    words = 'configmaps "d" is forbidden: unable to create new content in namespace t because it is being terminated'
    with pytest.raises(Forbidden, match=words):
        plane.store.create(config("d"))
    plane.store.update(_without_finalizers(plane, "c"))
    plane.run_for(1)
    with pytest.raises(NotFound, match='namespaces "t" not found'):
        plane.store.create(config("d"))


def test_a_deployment_in_a_namespace_that_goes_is_told_of_no_error_for_ever(world: World, hook: ScriptedHook) -> None:
    hook.answers("finalize", lambda request: Reply({"finalized": not request["children"]["ConfigMap.v1"]}))
    hook.answers("sync", desired(config("c")))
    world.controller(("sync", "finalize"))
    world.thing()
    world.plane.run_for(1)
    world.plane.delete("Namespace.v1", "t")
    world.plane.run_for(5)
    assert world.plane.get("Namespace.v1", "t") is None
    assert world.plane.all_of(THING) == world.plane.all_of("ConfigMap.v1") == []


# Garbage collection


def _blocking(title: str, owner: JSON) -> JSON:
    obj = _owned(title, owner)
    obj["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = True
    return obj


def _without_finalizers(plane: Plane, title: str) -> JSON:
    found = plane.get("ConfigMap.v1", f"t/{title}")
    assert found is not None
    found["metadata"]["finalizers"] = [one for one in found["metadata"]["finalizers"] if one != "x/hold"]
    return found


def _owned(title: str, *owners: JSON) -> JSON:
    obj = config(title)
    obj["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
        for one in owners
    ]
    return obj


def _names(plane: Plane) -> list[str]:
    return [one["metadata"]["name"] for one in plane.all_of("ConfigMap.v1", "t")]


def test_a_dependent_goes_with_its_last_owner(plane: Plane) -> None:
    one, two = plane.apply(config("one")), plane.apply(config("two"))
    plane.apply(_owned("dependent", one, two))
    plane.delete("ConfigMap.v1", "t/one")
    plane.run_for(1)
    assert _names(plane) == ["dependent", "two"]
    found = plane.get("ConfigMap.v1", "t/dependent")
    assert found is not None
    assert [reference["name"] for reference in found["metadata"]["ownerReferences"]] == ["two"]
    plane.delete("ConfigMap.v1", "t/two")
    plane.run_for(1)
    assert _names(plane) == []


def test_dependents_of_dependents_go_too(plane: Plane) -> None:
    one = plane.apply(config("one"))
    two = plane.apply(_owned("two", one))
    plane.apply(_owned("three", two))
    plane.delete("ConfigMap.v1", "t/one")
    plane.run_for(1)
    assert _names(plane) == []


def test_an_owner_of_the_same_name_but_another_uid_is_no_owner(plane: Plane) -> None:
    old = plane.apply(config("one"))
    plane.delete("ConfigMap.v1", "t/one")
    plane.apply(config("one"))
    plane.apply(_owned("dependent", old))
    plane.run_for(1)
    assert _names(plane) == ["one"]


def test_an_owner_of_a_kind_that_is_not_served_deletes_nothing(plane: Plane) -> None:
    obj = config("dependent")
    obj["metadata"]["ownerReferences"] = [{"apiVersion": "x/v1", "kind": "Gone", "name": "g", "uid": "1"}]
    plane.apply(obj)
    plane.run_for(60)
    assert _names(plane) == ["dependent"]


def test_apply_edits_an_object_and_keeps_its_owners_and_finalizers(plane: Plane) -> None:
    one = plane.apply(config("one"))
    dependent = _owned("dependent", one)
    dependent["metadata"]["finalizers"] = ["x/hold"]
    plane.apply(dependent)
    found = plane.apply(config("dependent", a="1"))
    assert found["data"] == {"a": "1"}
    assert found["metadata"]["finalizers"] == ["x/hold"]
    assert found["metadata"]["ownerReferences"][0]["name"] == "one"
