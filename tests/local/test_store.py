"""The API server's promises: versions, generations, conflicts, finalizers, graceful deletion, watches."""

import pytest

from app.kube.hook import JSON
from app.local.builtin import BUILTIN
from app.local.clock import Clock
from app.local.crds import from_crd
from app.local.errors import AlreadyExists, Conflict, Invalid, NotFound, UnknownKind
from app.local.resources import Discovery
from app.local.store import Store
from app.local.table import Change
from tests.local.scripted import API, PART_SCHEMA, config, crd, part, pod


@pytest.fixture
def store() -> Store:
    discovery = Discovery([*BUILTIN, *from_crd(crd("Part", PART_SCHEMA)), *from_crd(crd("Box", scope="Cluster"))])
    store = Store(Clock(), discovery)
    store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    return store


def _get(store: Store, obj: JSON) -> JSON:
    return store.get(store.discovery.of(obj), "t", obj["metadata"]["name"])


def _delete(store: Store, obj: JSON, **how: object) -> None:
    store.delete(store.discovery.of(obj), "t", obj["metadata"]["name"], **how)  # type: ignore[arg-type]


def test_a_new_object_has_an_identity_and_the_schemas_defaults(store: Store) -> None:
    found = store.create(part("p", size=1, unknown="x"))
    assert found["spec"] == {"size": 1, "finish": "matt"}, "unknown fields are pruned"
    assert found["metadata"]["generation"] == 1
    assert found["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert len(found["metadata"]["uid"]) == 36


def test_the_same_run_gives_the_same_uids_and_no_two_are_equal() -> None:
    def run() -> list[str]:
        store = Store(Clock(), Discovery(BUILTIN))
        nodes = store.discovery.kind("v1", "Node")
        made = []
        for _ in range(3):
            made.append(store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))
            store.delete(nodes, "", "n")
        return [str(one["metadata"]["uid"]) for one in made]

    assert run() == run()
    assert len(set(run())) == 3


def test_what_is_read_is_a_copy(store: Store) -> None:
    given = config("c", a="1")
    created = store.create(given)
    updated = store.update({**created, "metadata": {**created["metadata"], "labels": {"a": "b"}}})
    for copy in (given, created, updated, _get(store, given), store.all_of(store.discovery.of(given))[0]):
        copy["data"]["a"] = "changed"
    assert _get(store, given)["data"] == {"a": "1"}


def test_generation_counts_spec_changes_only(store: Store) -> None:
    obj = store.create(part("p", size=1))
    obj["metadata"]["labels"] = {"a": "b"}
    obj = store.update(obj)
    assert obj["metadata"]["generation"] == 1
    obj = store.update_status({**obj, "status": {"n": 1}})
    assert obj["metadata"]["generation"] == 1
    obj["spec"]["size"] = 2
    assert store.update(obj)["metadata"]["generation"] == 2


def test_without_a_status_subresource_the_status_counts_as_well(store: Store) -> None:
    plain = crd("Plain")
    del plain["spec"]["versions"][0]["subresources"]
    store.discovery.add(*from_crd(plain))
    obj = store.create({"apiVersion": API, "kind": "Plain", "metadata": {"name": "p", "namespace": "t"}})
    assert store.update({**obj, "status": {"n": 1}})["metadata"]["generation"] == 2


def test_status_and_the_rest_are_written_apart(store: Store) -> None:
    obj = store.create({**part("p", size=1), "status": {"n": 0}})
    assert "status" not in obj
    obj = store.update_status({**obj, "spec": {"size": 9}, "status": {"n": 1}})
    assert (obj["spec"]["size"], obj["status"]) == (1, {"n": 1})
    obj = store.update({**obj, "spec": {"size": 2}, "status": {"n": 5}})
    assert (obj["spec"]["size"], obj["status"]) == (2, {"n": 1})


def test_a_write_over_a_newer_version_is_a_conflict(store: Store) -> None:
    old = store.create(part("p", size=1))
    store.update({**old, "spec": {"size": 2}})
    with pytest.raises(Conflict, match="the object has been modified"):
        store.update({**old, "spec": {"size": 3}})
    with pytest.raises(Conflict):
        store.update_status({**old, "status": {}})


def test_a_custom_object_is_never_updated_blindly_and_kubernetes_own_kinds_may_be(store: Store) -> None:
    obj = store.create(part("p", size=1))
    del obj["metadata"]["resourceVersion"]
    with pytest.raises(Invalid, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified for an update"):
        store.update(obj)
    free = store.create(config("c"))
    del free["metadata"]["resourceVersion"]
    assert store.update({**free, "data": {"a": "1"}})["data"] == {"a": "1"}


def test_a_write_without_a_difference_is_none(store: Store) -> None:
    obj = store.create(part("p", size=1))
    seen: list[Change] = []
    store.watch(seen.append)
    assert store.update(obj)["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]
    assert seen == []


def test_system_metadata_cannot_be_written(store: Store) -> None:
    obj = store.create(part("p", size=1))
    changed = {**obj["metadata"], "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 7, "labels": {"a": "b"}}
    found = store.update({**obj, "metadata": changed})
    assert (found["metadata"]["creationTimestamp"], found["metadata"]["generation"]) == ("2026-01-01T00:00:00Z", 1)


@pytest.mark.parametrize(
    ("obj", "error", "words"),
    [
        (part("p"), Invalid, 'Part.test.example "p" is invalid: spec.size: Required value'),
        (part("p", size="1"), Invalid, "spec.size in body must be of type integer"),
        (pod("p", ""), Invalid, r"spec.containers\[0\].image: Required value"),
        ({**config("c"), "metadata": {"name": "c"}}, Invalid, "metadata.namespace: Required value"),
        ({**config("c"), "metadata": {"namespace": "t"}}, Invalid, "metadata.name: Required value"),
        ({**config("c"), "metadata": {"name": "c", "namespace": "no"}}, NotFound, 'namespaces "no" not found'),
        ({"apiVersion": "x/v1", "kind": "Y", "metadata": {"name": "y"}}, UnknownKind, "can't find kind Y"),
    ],
)
def test_what_is_refused_on_create(store: Store, obj: JSON, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        store.create(obj)


def test_a_taken_name_is_refused_but_what_is_invalid_is_refused_first(store: Store) -> None:
    store.create(part("p", size=1))
    with pytest.raises(AlreadyExists, match=r'parts\.test\.example "p" already exists'):
        store.create(part("p", size=1))
    with pytest.raises(Invalid):
        store.create(part("p"))


def test_a_namespace_on_a_cluster_scoped_object_is_dropped(store: Store) -> None:
    found = store.create({"apiVersion": API, "kind": "Box", "metadata": {"name": "b", "namespace": "t"}})
    assert "namespace" not in found["metadata"]
    assert store.find(store.discovery.of(found), "t", "b") is not None


def test_finalizers_hold_a_deleted_object_until_the_last_is_removed(store: Store) -> None:
    obj = part("p", size=1)
    obj["metadata"]["finalizers"] = ["x/a", "x/b"]
    store.create(obj)
    _delete(store, obj)
    held = _get(store, obj)
    assert held["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert held["metadata"]["generation"] == 2
    held["metadata"]["finalizers"] = ["x/b"]
    held = store.update(held)
    _delete(store, obj)
    assert _get(store, obj)["metadata"]["generation"] == 2, "a second deletion changes nothing"
    held["metadata"].pop("finalizers")
    store.update(held)
    with pytest.raises(NotFound, match=r'parts\.test\.example "p" not found'):
        _get(store, obj)


def test_a_deletion_meant_for_another_object_of_the_name_is_a_conflict(store: Store) -> None:
    obj = store.create(part("p", size=1))
    with pytest.raises(Conflict, match="does not match the UID in record"):
        _delete(store, obj, uid_is="other")
    _delete(store, obj, uid_is=obj["metadata"]["uid"])
    with pytest.raises(NotFound):
        _delete(store, obj)


def test_an_unbound_pod_goes_at_once_and_a_bound_one_waits_for_its_kubelet(store: Store) -> None:
    for title in ("free", "bound"):
        store.create(pod(title))
    store.bind(pod("bound"), "node-a")
    _delete(store, pod("free"))
    _delete(store, pod("bound"))
    assert [one["metadata"]["name"] for one in store.all_of(store.discovery.of(pod("x")))] == ["bound"]
    held = _get(store, pod("bound"))["metadata"]
    assert (held["deletionTimestamp"], held["deletionGracePeriodSeconds"]) == ("2026-01-01T00:00:30Z", 30)
    _delete(store, pod("bound"), grace=0)
    assert store.all_of(store.discovery.of(pod("x"))) == []


def test_binding_counts_no_generation(store: Store) -> None:
    store.create(pod("p"))
    store.bind(pod("p"), "node-a")
    found = _get(store, pod("p"))
    assert (found["spec"]["nodeName"], found["metadata"]["generation"]) == ("node-a", 1)


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        (("containers", 0, "image"), "x:2", True),
        (("schedulingGates",), [], True),
        (("containers", 0, "command"), ["x"], False),
        (("nodeSelector",), {"a": "b"}, True),
        (("priority",), 5, False),
    ],
)
def test_of_a_pods_spec_only_a_few_fields_may_change(
    store: Store, path: tuple[str | int, ...], value: object, allowed: bool
) -> None:
    gated = pod("p")
    gated["spec"]["schedulingGates"] = [{"name": "x/gate"}]
    obj = store.create(gated)
    target = obj["spec"]
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    if allowed:
        assert store.update(obj)["metadata"]["generation"] == 2
    else:
        with pytest.raises(Invalid, match="pod updates may not change fields other than"):
            store.update(obj)


def test_a_node_selector_grows_only_while_the_pod_is_gated(store: Store) -> None:
    gated = pod("p")
    gated["spec"] |= {"schedulingGates": [{"name": "x/gate"}], "nodeSelector": {"a": "b"}}
    obj = store.create(gated)
    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        store.update({**obj, "spec": {**obj["spec"], "nodeSelector": {"a": "c"}}})
    obj = store.update({**obj, "spec": {**obj["spec"], "schedulingGates": [], "nodeSelector": {"a": "b", "c": "d"}}})
    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        store.update({**obj, "spec": {**obj["spec"], "nodeSelector": {"a": "b", "c": "d", "e": "f"}}})


def test_watchers_are_told_of_every_change_in_order(store: Store) -> None:
    seen: list[Change] = []
    store.watch(seen.append)
    obj = store.create(part("p", size=1))
    store.update({**obj, "spec": {"size": 2}})
    _delete(store, obj)
    assert [(change.type, change.old is None) for change in seen] == [
        ("ADDED", True),
        ("MODIFIED", False),
        ("DELETED", False),
    ]
    versions = [int(change.new["metadata"]["resourceVersion"]) for change in seen]
    assert versions == sorted(set(versions)), "the deletion has a version of its own"


def test_owned_objects_and_orphans_are_found_as_owners_come_and_go(store: Store) -> None:
    configs = store.discovery.kind("v1", "ConfigMap")
    boss = store.create(config("boss"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": boss["metadata"]["uid"]}
    owned = config("owned")
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    obj = store.create(owned)
    assert [one["metadata"]["name"] for one in store.owned_by(boss["metadata"]["uid"], configs)] == ["owned"]
    assert [one["metadata"]["name"] for one in store.orphans(configs, "t")] == ["boss"]
    obj["metadata"]["ownerReferences"] = [reference]
    obj = store.update(obj)
    assert [one["metadata"]["name"] for one in store.orphans(configs, "t")] == ["boss", "owned"]
    assert store.dependents(boss["metadata"]["uid"]) == [obj]
    _delete(store, obj)
    assert store.dependents(boss["metadata"]["uid"]) == []
