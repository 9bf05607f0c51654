"""Adoption and release, as the trials H1 and J saw them."""

from app.kube.hook import JSON
from app.local.values import owners
from tests.local.scripted import ScriptedHook, World, config, crd, desired, part, stub


def _marked(parent: JSON) -> dict[str, str]:
    return {"controller-uid": parent["metadata"]["uid"]}


def _child(world: World, title: str) -> JSON:
    found = world.plane.get("ConfigMap.v1", f"t/{title}")
    assert found is not None
    return found


def test_an_orphan_with_the_parents_label_is_among_the_children_that_the_hook_sees(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(config("orphan")))
    world.controller()
    parent = world.thing()
    world.plane.apply(config("orphan", _marked(parent)))
    world.plane.run_for(1)
    assert "t/orphan" in hook.calls[0].request["children"]["ConfigMap.v1"], "claimed before the hook was called"
    assert owners(_child(world, "orphan"))[0]["uid"] == parent["metadata"]["uid"]


def test_an_orphan_with_the_label_that_the_hook_does_not_return_is_deleted(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    world.controller()
    parent = world.thing()
    world.plane.run_for(1)
    world.plane.apply(config("orphan", _marked(parent)))
    world.plane.run_for(1)
    assert world.names("ConfigMap.v1") == []


def test_an_adopted_object_keeps_what_the_hook_does_not_name(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(part("orphan", size=1)))
    world.controller()
    parent = world.thing()
    orphan = part("orphan", size=3, colour="red")
    orphan["metadata"]["labels"] = _marked(parent)
    world.plane.apply(orphan)
    world.plane.run_for(1)
    found = world.plane.get("Part.test.example/v1", "t/orphan")
    assert found is not None
    assert found["spec"] == {"size": 1, "colour": "red", "finish": "matt"}


def test_an_adopted_object_answered_as_a_stub_is_left_alone(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(stub(part("orphan"))))
    world.controller()
    parent = world.thing()
    orphan = part("orphan", size=3)
    orphan["metadata"]["labels"] = _marked(parent)
    world.plane.apply(orphan)
    world.plane.run_for(1)
    found = world.plane.get("Part.test.example/v1", "t/orphan")
    assert found is not None
    assert found["spec"]["size"] == 3
    assert owners(found)


def test_a_child_whose_label_a_person_removes_is_released_and_then_out_of_reach(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(config("a", mode="on")))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    child = _child(world, "a")
    del child["metadata"]["labels"]
    child["data"]["mode"] = "off"
    world.plane.store.update(child)
    world.plane.run_for(1)
    released = _child(world, "a")
    assert owners(released) == []
    assert released["data"] == {"mode": "off"}
    assert hook.last()["children"]["ConfigMap.v1"] == {}
    assert world.events() == [], "the name is taken, and nobody says so"


def test_a_released_child_survives_the_parents_deletion(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("a")))
    world.controller()
    world.thing()
    world.plane.run_for(1)
    child = _child(world, "a")
    del child["metadata"]["labels"]
    del child["metadata"]["ownerReferences"]
    world.plane.store.update(child)
    world.plane.run_for(1)
    world.plane.delete("Thing.test.example/v1", "t/a")
    world.plane.run_for(5)
    assert world.names("ConfigMap.v1") == ["a"]


def test_a_parent_without_a_readable_selector_adopts_nothing_and_does_not_hinder_others(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(config("orphan", {"app": "a"})))
    world.controller(generateSelector=False)
    world.thing("broken")
    world.thing("good", {"selector": {"matchLabels": {"app": "a"}}})
    world.plane.run_for(1)
    world.plane.delete("ConfigMap.v1", "t/orphan")
    world.plane.apply(config("orphan", {"app": "a"}))
    world.plane.run_for(1)
    assert owners(_child(world, "orphan"))[0]["name"] == "good"


def test_what_another_controller_owns_is_never_adopted_whatever_its_labels_say(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired())
    world.controller()
    parent = world.thing()
    boss = world.plane.apply(config("boss"))
    owned = config("owned", _marked(parent))
    owned["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "boss",
            "uid": boss["metadata"]["uid"],
            "controller": True,
        }
    ]
    world.plane.apply(owned)
    world.plane.run_for(1)
    assert hook.last()["children"]["ConfigMap.v1"] == {}
    assert world.names("ConfigMap.v1") == ["boss", "owned"]


def test_a_desired_child_with_another_parents_label_stops_the_whole_sync(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(config("good"), config("lab", {"controller-uid": "other"}), status={"phase": "x"}))
    world.controller()
    world.thing()
    world.plane.run_for(0.2)
    assert world.events()[0] == "Sync error: labels on desired child ConfigMap t/lab don't match parent selector"
    assert world.names("ConfigMap.v1") == []
    assert "status" not in world.stored_thing()


def test_a_cluster_scoped_parent_owns_and_adopts_in_every_namespace(world: World, hook: ScriptedHook) -> None:
    world.plane.serve(crd("Thing", scope="Cluster"))
    hook.answers("sync", desired(config("made"), config("orphan")))
    world.controller()
    parent = world.thing()
    world.plane.apply(config("orphan", _marked(parent)))
    world.plane.run_for(1)
    assert set(hook.last()["children"]["ConfigMap.v1"]) == {"t/made", "t/orphan"}
    assert owners(_child(world, "orphan"))[0]["uid"] == parent["metadata"]["uid"]
