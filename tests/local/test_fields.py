"""managedFields: requests carry them, so that they have the size that a cluster's have (trial H9)."""

import pytest

from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local.builtin import BUILTIN
from app.local.clock import Clock
from app.local.crds import from_crd
from app.local.fields import changed, field_set, present, united, without
from app.local.resources import Discovery
from app.local.store import Store
from tests.local.scripted import PART_SCHEMA, ScriptedHook, World, config, crd, desired, part, pod
from tests.support.recorded import RUNNING, recorded


@pytest.fixture
def store() -> Store:
    store = Store(Clock(), Discovery([*BUILTIN, *from_crd(crd("Part", PART_SCHEMA))]))
    store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    return store


def _managers(obj: JSON) -> dict[str, JSON]:
    return {one["manager"]: one["fieldsV1"] for one in obj["metadata"]["managedFields"]}


def test_a_created_object_belongs_to_its_maker_field_by_field(store: Store) -> None:
    (entry,) = store.create(part("p", size=1), manager="metacontroller")["metadata"]["managedFields"]
    assert entry == {
        "manager": "metacontroller",
        "operation": "Update",
        "apiVersion": "test.example/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {".": {}, "f:finish": {}, "f:size": {}}},
    }


def test_items_are_told_apart_by_the_keys_of_their_list() -> None:
    port = {"containerPort": 80, "protocol": "TCP"}
    fields = field_set({"containers": [{"name": "m", "args": ["a"], "ports": [port], "resources": {}}]})
    assert fields["f:containers"] == {
        ".": {},
        'k:{"name":"m"}': {
            ".": {},
            "f:name": {},
            "f:args": {},
            "f:resources": {},
            "f:ports": {
                ".": {},
                'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
            },
        },
    }
    assert field_set({"selector": {"app": "a"}})["f:selector"] == {}, "a selector is one field"


def test_a_field_changes_hands_when_somebody_else_writes_it(store: Store) -> None:
    obj = store.create(config("c", a="1", b="1"), manager="one")
    obj["data"]["b"] = "2"
    obj = store.update(obj, manager="two")
    assert {manager: fields["f:data"] for manager, fields in _managers(obj).items()} == {
        "one": {".": {}, "f:a": {}},
        "two": {"f:b": {}},
    }
    obj["data"]["a"] = "2"
    del obj["data"]["b"]
    obj = store.update(obj, manager="two")
    assert {manager: fields["f:data"] for manager, fields in _managers(obj).items()} == {"two": {"f:a": {}}}


def test_the_status_is_owned_apart_and_by_its_writer(store: Store) -> None:
    obj = store.create(part("p", size=1), manager="one")
    obj = store.update_status({**obj, "status": {"n": 1}}, manager="two")
    assert [(one["manager"], one.get("subresource")) for one in obj["metadata"]["managedFields"]] == [
        ("one", None),
        ("two", "status"),
    ]
    assert "f:status" not in _managers(obj)["one"]


def test_the_time_moves_only_when_the_set_of_fields_does() -> None:
    clock = Clock()
    store = Store(clock, Discovery(BUILTIN))
    obj = store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t", "labels": {"a": "1"}}})
    clock.jump(5)
    obj["metadata"]["labels"]["a"] = "2"
    obj = store.update(obj)
    assert obj["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:00Z"
    obj["metadata"]["labels"]["b"] = "1"
    assert store.update(obj)["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:05Z"


def test_field_sets_unite_and_part_without_touching_each_other() -> None:
    left: JSON = {"f:a": {"f:x": {}}}
    right: JSON = {"f:a": {"f:y": {}}, "f:b": {}}
    both = united(left, right)
    assert both == {"f:a": {"f:x": {}, "f:y": {}}, "f:b": {}}
    assert without(both, left) == right
    assert without(both, both) == {}
    assert present(both, {"a": {"y": 1}}) == {"f:a": {"f:y": {}}}
    assert (left, right) == ({"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}, "f:b": {}})
    assert changed({"a": [1]}, {"a": [1]}) is None


def test_a_running_pod_in_a_request_is_about_as_large_as_a_recorded_one(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(pod("p")))
    world.controller()
    world.thing()
    world.plane.run_for(100)
    world.poke()
    ours = hook.last()["children"]["Pod.v1"]["t/p"]
    theirs = next(iter(recorded(RUNNING)["children"]["Pod.v1"].values()))
    assert {one["manager"] for one in ours["metadata"]["managedFields"]} == {"metacontroller", "kubelet"}
    sizes = [len(dumps(one["metadata"]["managedFields"])) for one in (ours, theirs)]
    assert 0.6 < sizes[0] / sizes[1] < 1.6


def test_parent_children_and_related_objects_all_carry_them(world: World, hook: ScriptedHook) -> None:
    world.plane.apply(config("related", a="1"))
    rule = {"apiVersion": "v1", "resource": "configmaps", "namespace": "t", "names": ["related"]}
    hook.answers("customize", {"relatedResources": [rule]})
    hook.answers("sync", desired(config("child", a="1")))
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(1)
    request = hook.last()
    seen = [
        request["parent"],
        request["children"]["ConfigMap.v1"]["t/child"],
        request["related"]["ConfigMap.v1"]["t/related"],
    ]
    assert all(one["metadata"]["managedFields"] for one in seen)
