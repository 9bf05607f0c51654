"""Creating, updating and deleting children, as the trials H1, H2, H6, H12 and J saw it."""

import json

from app.kube.hook import JSON
from app.local.merge import LAST_APPLIED
from tests.local.scripted import PART, Reply, ScriptedHook, World, an_object, config, desired, part, pod, stub


def _part(world: World, title: str = "p") -> JSON:
    found = world.plane.get(PART, f"t/{title}")
    assert found is not None
    return found


def _pod(world: World, title: str = "p") -> JSON:
    found = world.plane.get("Pod.v1", f"t/{title}")
    assert found is not None
    return found


def _resync(world: World, seconds: float = 1) -> None:
    """Calls the hook again through an edit of the parent's labels, and lets the result settle."""
    thing = world.stored_thing()
    thing["metadata"]["labels"] = {"poke": str(world.plane.clock.elapsed)}
    world.plane.store.update(thing)
    world.plane.run_for(seconds)


def _start(world: World, hook: ScriptedHook, *children: JSON) -> None:
    hook.answers("sync", desired(*children))
    world.controller()
    world.thing()
    world.plane.run_for(1)


def test_a_created_child_carries_owner_label_and_what_was_applied(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, part("p", size=1))
    parent, metadata = world.stored_thing(), _part(world)["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "test.example/v1",
            "kind": "Thing",
            "name": "a",
            "uid": parent["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    labels = {"controller-uid": parent["metadata"]["uid"]}
    assert metadata["labels"] == labels
    applied = part("p", size=1)
    applied["metadata"]["labels"] = labels
    assert json.loads(metadata["annotations"][LAST_APPLIED]) == applied


def test_every_declared_kind_is_in_the_request_even_where_there_is_none(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, config("a"))
    assert hook.calls[0].request["children"] == {"Pod.v1": {}, "ConfigMap.v1": {}, PART: {}}
    assert set(hook.last()) == {"controller", "parent", "children", "related", "finalizing"}
    assert hook.last()["related"] == {}
    assert hook.last()["finalizing"] is False


def test_an_in_place_child_follows_the_answer_and_keeps_what_the_answer_does_not_name(
    world: World, hook: ScriptedHook
) -> None:
    _start(world, hook, part("p", size=1))
    edited = _part(world)
    edited["spec"] |= {"size": 5, "colour": "red"}
    world.plane.store.update(edited)
    world.plane.run_for(1)
    assert _part(world)["spec"] == {"size": 1, "colour": "red", "finish": "matt"}, "what it names is put back"


def test_a_field_that_the_answer_drops_is_removed_from_the_child(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, part("p", size=1, colour="red"))
    hook.answers("sync", desired(part("p", size=1)))
    _resync(world)
    assert _part(world)["spec"] == {"size": 1, "finish": "matt"}


def test_dropping_a_whole_map_is_refused_by_the_server_over_and_over_and_harms_nothing(
    world: World, hook: ScriptedHook
) -> None:
    _start(world, hook, part("p", size=1))
    hook.answers("sync", desired(stub(part("p"))))
    _resync(world)
    assert 'Part.test.example "p" is invalid: spec: Required value' in world.events()[0]
    assert world.event_count() > 3
    assert _part(world)["spec"] == {"size": 1, "finish": "matt"}


def test_nothing_is_written_on_further_syncs_when_nothing_differs(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, part("p", size=1), config("c", a="1"), pod("p"))
    world.plane.run_for(200)
    before = [one["metadata"]["resourceVersion"] for kind in (PART, "Pod.v1") for one in world.plane.all_of(kind)]
    calls = len(hook.calls)
    for _ in range(3):
        _resync(world)
    after = [one["metadata"]["resourceVersion"] for kind in (PART, "Pod.v1") for one in world.plane.all_of(kind)]
    assert len(hook.calls) == calls + 3
    assert after == before


def test_on_delete_never_updates_a_running_pod(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, pod("p", "engine:1"))
    before = _pod(world)["metadata"]["uid"]
    hook.answers("sync", desired(pod("p", "engine:2")))
    _resync(world, 60)
    assert _pod(world)["spec"]["containers"][0]["image"] == "engine:1"
    assert _pod(world)["metadata"]["uid"] == before


def test_an_on_delete_pod_that_a_person_deletes_is_made_again_as_now_desired_under_the_same_name(
    world: World, hook: ScriptedHook
) -> None:
    _start(world, hook, pod("p", "engine:1"))
    hook.answers("sync", desired(pod("p", "engine:2")))
    before = _pod(world)["metadata"]["uid"]
    hook.calls.clear()
    world.plane.delete("Pod.v1", "t/p")
    world.plane.run_for(10)
    assert {} in [call.request["children"]["Pod.v1"] for call in hook.calls], "a sync in between sees none"
    assert _pod(world)["metadata"]["uid"] != before
    assert _pod(world)["spec"]["containers"][0]["image"] == "engine:2"


def test_a_stub_keeps_a_running_pod_and_cannot_make_a_new_one(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, pod("p"))
    hook.answers("sync", lambda request: _stubs_of(request))
    world.plane.run_for(100)
    before = _pod(world)["metadata"]["resourceVersion"]
    _resync(world)
    assert _pod(world)["metadata"]["resourceVersion"] == before
    world.plane.delete("Pod.v1", "t/p")
    world.plane.run_for(60)
    assert world.names("Pod.v1") == []
    assert world.events() == []


def _stubs_of(request: JSON) -> Reply:
    live = [one for one in request["children"]["Pod.v1"].values() if "deletionTimestamp" not in one["metadata"]]
    return Reply(desired(*(stub(one) for one in live)))


def test_recreate_deletes_first_and_creates_on_the_next_sync(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(part("p", size=1)))
    world.controller(children={"parts": ("test.example/v1", "Recreate")})
    world.thing()
    world.plane.run_for(1)
    before = _part(world)["metadata"]["uid"]
    hook.answers("sync", desired(part("p", size=2)))
    _resync(world)
    assert _part(world)["metadata"]["uid"] != before
    assert _part(world)["spec"]["size"] == 2


def test_a_child_pending_deletion_is_not_updated(world: World, hook: ScriptedHook) -> None:
    held = part("p", size=1)
    held["metadata"]["finalizers"] = ["test.example/hold"]
    _start(world, hook, held)
    world.plane.delete(PART, "t/p")
    held["spec"]["size"] = 2
    hook.answers("sync", desired(held))
    _resync(world)
    assert _part(world)["spec"]["size"] == 1


def test_what_is_observed_and_not_returned_is_deleted_and_the_new_is_made_in_the_same_sync(
    world: World, hook: ScriptedHook
) -> None:
    _start(world, hook, config("old"))
    hook.answers("sync", desired(config("new")))
    _resync(world, 0.06)
    assert world.names("ConfigMap.v1") == ["new"]


def test_a_name_taken_by_somebody_else_is_passed_over_in_silence(world: World, hook: ScriptedHook) -> None:
    world.plane.apply(config("a", mode="theirs"))
    _start(world, hook, config("a", mode="ours"))
    found = world.plane.get("ConfigMap.v1", "t/a")
    assert found is not None
    assert found["data"] == {"mode": "theirs"}
    assert hook.last()["children"]["ConfigMap.v1"] == {}
    assert world.events() == []


def test_a_partial_object_is_refused_before_the_server_looks_whether_the_name_is_taken(
    world: World, hook: ScriptedHook
) -> None:
    world.plane.apply(part("p", size=1))
    _start(world, hook, stub(part("p")), config("c"))
    assert "spec: Required value" in world.events()[0]
    assert world.names("ConfigMap.v1") == ["c"], "the other children are handled"


def test_the_status_is_written_although_a_child_failed(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(stub(part("p")), status={"phase": "Up"}))
    world.controller()
    world.thing()
    world.plane.run_for(0.2)
    assert world.stored_thing()["status"] == {"phase": "Up", "observedGeneration": 1}
    assert world.events()[0].startswith("Sync error: can't reconcile children for Thing t/a: ")


def test_a_child_without_a_name_is_an_error_and_the_status_is_written(world: World, hook: ScriptedHook) -> None:
    nameless: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    hook.answers("sync", desired(nameless, config("c"), status={"phase": "Up"}))
    world.controller()
    world.thing()
    world.plane.run_for(0.2)
    assert "name or generateName is required" in world.events()[0]
    assert world.names("ConfigMap.v1") == ["c"]
    assert world.stored_thing()["status"]["phase"] == "Up"


def test_a_child_of_a_kind_that_is_not_served_is_an_error_and_the_others_are_applied(
    world: World, hook: ScriptedHook
) -> None:
    _start(world, hook, an_object("nope.example/v1", "Thing", "x"), config("c"))
    assert "discovery: can't find kind Thing in apiVersion nope.example/v1" in world.events()[0]
    assert world.names("ConfigMap.v1") == ["c"]


def test_a_child_of_an_undeclared_kind_is_made_never_seen_and_never_deleted(world: World, hook: ScriptedHook) -> None:
    secret = an_object("v1", "Secret", "s", data={})
    _start(world, hook, secret)
    assert world.names("Secret.v1") == ["s"]
    assert "Secret.v1" not in hook.last()["children"]
    hook.answers("sync", desired())
    _resync(world)
    assert world.names("Secret.v1") == ["s"]
    assert world.events() == []


def test_even_a_namespace_is_made_for_a_namespaced_parent_and_stays(world: World, hook: ScriptedHook) -> None:
    space: JSON = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}}
    _start(world, hook, space)
    assert world.plane.get("Namespace.v1", "made") is not None
    hook.answers("sync", desired())
    _resync(world)
    world.plane.delete("Thing.test.example/v1", "t/a")
    world.plane.run_for(60)
    assert world.plane.get("Namespace.v1", "made") is not None
    assert world.events() == []


def test_a_child_in_another_namespace_is_collected_because_its_owner_is_not_there(
    world: World, hook: ScriptedHook
) -> None:
    world.plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    elsewhere = config("c")
    elsewhere["metadata"]["namespace"] = "other"
    _start(world, hook, elsewhere)
    world.plane.run_for(3)
    assert world.plane.all_of("ConfigMap.v1", "other") == []


def test_of_two_children_of_one_name_the_later_counts(world: World, hook: ScriptedHook) -> None:
    _start(world, hook, part("p", size=1), part("p", size=2))
    assert _part(world)["spec"]["size"] == 2
