"""Partial desired objects over a Deployment, and children that are kept by stubs (trials H1 and J)."""

import json

from app.kube.hook import JSON
from app.local.merge import LAST_APPLIED
from app.local.values import owners
from tests.local.scripted import (
    DEPLOYMENT,
    THING,
    Reply,
    ScriptedHook,
    World,
    an_object,
    config,
    deployment,
    desired,
    pod,
    stub,
)

STUB = stub(deployment())


def _partial(**spec: object) -> JSON:
    return an_object("apps/v1", "Deployment", "d", spec=spec)


def _orphan(world: World) -> JSON:
    """Somebody's Deployment of two containers, with annotations and a strategy of their own."""
    orphan = deployment(strategy={"type": "Recreate"})
    orphan["metadata"]["annotations"] = {"theirs": "1"}
    container = orphan["spec"]["template"]["spec"]["containers"][0]
    container |= {"args": ["--fast"], "env": [{"name": "A", "value": "1"}]}
    orphan["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "side:1"})
    return world.plane.apply(orphan)


def _begin(world: World, *children: JSON) -> None:
    world.hook.answers("sync", desired(*children))
    world.controller(children={"deployments": ("apps/v1", "InPlace"), "configmaps": ("v1", "InPlace")})
    world.thing()
    world.plane.run_for(1)


def _hand_over(world: World) -> None:
    """Labels the orphan as the parent's."""
    uid = world.stored_thing()["metadata"]["uid"]
    world.edit(DEPLOYMENT, "d", metadata={"labels": {"controller-uid": uid}})
    world.plane.run_for(1)


def _spec(world: World) -> JSON:
    found: JSON = world.stored(DEPLOYMENT, "d")["spec"]
    return found


def _stubs_of_what_is_seen(request: JSON) -> Reply:
    live = [one for group in request["children"].values() for one in group.values()]
    return Reply(desired(*(stub(one) for one in live if "deletionTimestamp" not in one["metadata"])))


# H1: a partial object


def test_of_an_adopted_deployment_only_the_named_fields_change(world: World, hook: ScriptedHook) -> None:
    before = _orphan(world)["spec"]
    limits = {"limits": {"cpu": "2"}}
    template = {"spec": {"containers": [{"name": "m", "resources": limits}]}}
    _begin(world, _partial(replicas=3, template=template))
    _hand_over(world)
    after = _spec(world)
    first, second = after["template"]["spec"]["containers"]
    old_first, old_second = before["template"]["spec"]["containers"]
    assert after["replicas"] == 3
    assert first == old_first | {"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}
    assert (second, after["strategy"]) == (old_second, before["strategy"])
    metadata = world.stored(DEPLOYMENT, "d")["metadata"]
    assert metadata["annotations"]["theirs"] == "1"
    assert json.loads(metadata["annotations"][LAST_APPLIED])["spec"] == {"replicas": 3, "template": template}


def test_a_stub_adopts_and_leaves_the_spec_alone(world: World, hook: ScriptedHook) -> None:
    before = _orphan(world)["spec"]
    _begin(world, STUB)
    _hand_over(world)
    assert owners(world.stored(DEPLOYMENT, "d"))
    assert _spec(world) == before


def test_what_the_hook_names_is_put_back_at_once_and_what_it_does_not_name_is_kept(
    world: World, hook: ScriptedHook
) -> None:
    _begin(world, deployment(replicas=1))
    world.edit(DEPLOYMENT, "d", spec={"replicas": 5, "minReadySeconds": 9})
    world.plane.run_for(0.1)
    assert (_spec(world)["replicas"], _spec(world)["minReadySeconds"]) == (1, 9)


def test_a_settled_deployment_is_never_written_again(world: World, hook: ScriptedHook) -> None:
    _begin(world, deployment(replicas=1))
    version = world.stored(DEPLOYMENT, "d")["metadata"]["resourceVersion"]
    for _ in range(3):
        world.poke()
    assert world.stored(DEPLOYMENT, "d")["metadata"]["resourceVersion"] == version


def test_dropping_one_key_of_a_partial_object_takes_it_off_the_child(world: World, hook: ScriptedHook) -> None:
    _begin(world, deployment(replicas=3, minReadySeconds=5))
    hook.answers("sync", desired(deployment(replicas=3)))
    world.poke()
    assert "minReadySeconds" not in _spec(world)


def test_dropping_a_whole_map_takes_what_others_set_in_it_too_and_the_api_refuses_that_of_a_deployment(
    world: World, hook: ScriptedHook
) -> None:
    _begin(world, deployment(replicas=3))
    before = _spec(world)
    hook.answers("sync", desired(STUB, status={"phase": "Up"}))
    world.poke()
    assert 'Deployment.apps "d" is invalid: [spec.selector: Required value' in world.events()[0]
    assert world.event_count() > 3, "over and over"
    assert _spec(world) == before
    assert world.stored_thing()["status"]["phase"] == "Up", "the status is written all the same"


def test_a_partial_object_is_tried_as_a_create_while_there_is_none_and_the_others_are_handled(
    world: World, hook: ScriptedHook
) -> None:
    _begin(world, STUB, config("c"))
    assert 'Deployment.apps "d" is invalid: [spec.selector: Required value' in world.events()[0]
    assert world.names("ConfigMap.v1") == ["c"]
    assert world.names(DEPLOYMENT) == []


def test_a_partial_object_is_refused_before_a_taken_name_is_looked_at_and_a_whole_one_is_passed_over(
    world: World, hook: ScriptedHook
) -> None:
    _orphan(world)
    _begin(world, STUB)
    assert 'Deployment.apps "d" is invalid' in world.events()[0]
    told = world.event_count()
    hook.answers("sync", desired(deployment(replicas=9)))
    world.poke(seconds=30)
    assert world.event_count() == told
    assert (_spec(world)["replicas"], hook.last()["children"][DEPLOYMENT]) == (1, {})


def test_an_orphan_with_the_label_that_is_not_returned_is_adopted_and_deleted_within_70_ms(
    world: World, hook: ScriptedHook
) -> None:
    _orphan(world)
    _begin(world)
    uid = world.stored_thing()["metadata"]["uid"]
    world.edit(DEPLOYMENT, "d", metadata={"labels": {"controller-uid": uid}})
    world.plane.run_for(0.07)
    assert world.names(DEPLOYMENT) == []


# J: keeping by stubs


def test_a_stub_keeps_a_running_pod_and_makes_none_that_was_deleted(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(pod("p")))
    world.controller()
    world.thing()
    world.plane.run_for(100)
    version = world.stored("Pod.v1", "p")["metadata"]["resourceVersion"]
    hook.answers("sync", _stubs_of_what_is_seen)
    for _ in range(3):
        world.poke()
    assert world.stored("Pod.v1", "p")["metadata"]["resourceVersion"] == version
    world.plane.delete("Pod.v1", "t/p")
    world.plane.run_for(60)
    assert (world.names("Pod.v1"), world.events()) == ([], [])


def test_a_hook_that_only_keeps_what_it_sees_adopts_an_orphan_in_that_same_sync(
    world: World, hook: ScriptedHook
) -> None:
    before = _orphan(world)
    _begin(world)
    hook.answers("sync", _stubs_of_what_is_seen)
    _hand_over(world)
    found = world.stored(DEPLOYMENT, "d")
    assert found["spec"] == before["spec"]
    assert owners(found)[0]["uid"] == world.stored_thing()["metadata"]["uid"]
    assert json.loads(found["metadata"]["annotations"][LAST_APPLIED])["metadata"]["name"] == "d"
    assert found["metadata"]["generation"] == before["metadata"]["generation"] + 1, "it counts annotations"
    assert world.events() == []


def test_an_asserted_field_is_held_and_the_way_back_to_the_stub_is_refused_without_harm(
    world: World, hook: ScriptedHook
) -> None:
    _orphan(world)
    _begin(world, STUB)
    _hand_over(world)
    hook.answers("sync", desired(_partial(replicas=3)))
    world.poke()
    held = _spec(world)
    assert (held["replicas"], held["template"]["spec"]["containers"][0]["args"]) == (3, ["--fast"])
    world.edit(DEPLOYMENT, "d", spec={"replicas": 5})
    world.plane.run_for(1)
    assert _spec(world)["replicas"] == 3
    hook.answers("sync", desired(STUB))
    world.poke()
    assert "spec.selector: Required value" in world.events()[-1]
    assert _spec(world) == held


def test_label_and_owner_taken_off_in_one_edit_release_for_good(world: World, hook: ScriptedHook) -> None:
    _orphan(world)
    _begin(world, STUB)
    _hand_over(world)
    hook.answers("sync", _stubs_of_what_is_seen)
    told = world.events()
    world.edit(DEPLOYMENT, "d", metadata={"labels": {"controller-uid": None}, "ownerReferences": None})
    world.plane.run_for(1)
    world.plane.delete(THING, "t/a")
    world.plane.run_for(5)
    assert (world.names(DEPLOYMENT), world.events()) == (["d"], told)
