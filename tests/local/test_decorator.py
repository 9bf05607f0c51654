"""DecoratorControllers (trial H2): what they write to an object that is somebody else's, and their attachments."""

import json

import pytest

from app.kube.hook import JSON
from app.local.merge import LAST_APPLIED
from app.local.network import CallFault
from app.local.values import owners
from tests.local.scripted import (
    API,
    DEPLOYMENT,
    PART,
    Reply,
    ScriptedHook,
    World,
    config,
    deployment,
    part,
)
from tests.support.recorded import recorded

FINALIZER = "metacontroller.io/decoratorcontroller-dec"
ANNOTATED: JSON = {
    "apiVersion": "apps/v1",
    "resource": "deployments",
    "annotationSelector": {"matchExpressions": [{"key": "test/dec", "operator": "Exists"}]},
}


def _attach(*attachments: JSON, **answer: object) -> JSON:
    return {"attachments": list(attachments), **answer}


def _begin(world: World, *attachments: JSON, hooks: tuple[str, ...] = ("sync",), **answer: object) -> JSON:
    """A Deployment `d` that is decorated; as it was before."""
    world.hook.answers("sync", _attach(*attachments, **answer))
    before = world.plane.apply(deployment())
    world.decorator(hooks)
    world.plane.run_for(1)
    return before


def test_a_decorator_writes_nothing_to_the_object_that_it_decorates(world: World, hook: ScriptedHook) -> None:
    before = _begin(world, part("p", size=1))
    world.plane.run_for(60)
    found = world.stored(DEPLOYMENT, "d")
    assert found == before
    assert found["metadata"]["generation"] == 1
    assert [one["manager"] for one in found["metadata"]["managedFields"]] == ["kubectl"]


def test_an_attachment_carries_owner_and_the_decorators_annotation_and_no_label(
    world: World, hook: ScriptedHook
) -> None:
    before = _begin(world, part("p", size=1))
    metadata = world.stored(PART, "p")["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "d",
            "uid": before["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert metadata["annotations"]["metacontroller.k8s.io/decorator-controller"] == "dec"
    applied = json.loads(metadata["annotations"][LAST_APPLIED])
    assert applied["metadata"]["annotations"] == {"metacontroller.k8s.io/decorator-controller": "dec"}
    assert "labels" not in metadata
    assert "finalizers" not in metadata


@pytest.mark.parametrize(
    ("hook_name", "sample"),
    [("sync", "decorator-sync-v2-with-attachment"), ("customize", "decorator-customize-v2")],
)
def test_requests_have_the_keys_that_were_recorded(
    world: World, hook: ScriptedHook, hook_name: str, sample: str
) -> None:
    hook.answers("customize", {"relatedResources": []})
    _begin(world, part("p", size=1), hooks=("sync", "customize"))
    real = recorded(sample)
    found = hook.last(hook_name)
    assert found.keys() == real.keys()
    assert found["controller"].keys() - {"status"} <= real["controller"].keys()
    if hook_name == "sync":
        assert list(found["attachments"]) == [PART]
        assert list(found["attachments"][PART]) == ["t/p"]
        attached, theirs = found["attachments"][PART]["t/p"], real["attachments"]["AttachThing.test.example/v1alpha1"]
        assert attached["metadata"].keys() == theirs["t/dt"]["metadata"].keys()


def test_with_on_delete_neither_a_persons_edit_nor_a_new_answer_changes_an_attachment(
    world: World, hook: ScriptedHook
) -> None:
    _begin(world, part("p", size=1))
    world.edit(PART, "p", spec={"size": 7})
    hook.answers("sync", _attach(part("p", size=2)))
    world.poke(DEPLOYMENT, "d")
    assert world.stored(PART, "p")["spec"]["size"] == 7
    world.plane.delete(PART, "t/p")
    world.plane.run_for(0.1)
    assert world.stored(PART, "p")["spec"]["size"] == 2, "made again as it is desired now"


def test_in_place_attachments_follow_the_answer(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach(part("p", size=1)))
    world.plane.apply(deployment())
    world.decorator(attachments={"parts": (API, "InPlace")})
    world.plane.run_for(1)
    world.edit(PART, "p", spec={"size": 7, "colour": "red"})
    world.plane.run_for(1)
    assert world.stored(PART, "p")["spec"] == {"size": 1, "colour": "red", "finish": "matt"}


def test_recreated_attachments_are_deleted_and_made_anew(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach(part("p", size=1)))
    world.plane.apply(deployment())
    world.decorator(attachments={"parts": (API, "Recreate")})
    world.plane.run_for(1)
    before = world.stored(PART, "p")["metadata"]["uid"]
    hook.answers("sync", _attach(part("p", size=2)))
    world.poke(DEPLOYMENT, "d")
    found = world.stored(PART, "p")
    assert (found["spec"]["size"], found["metadata"]["uid"] != before) == (2, True)


def test_an_attachment_that_the_answer_omits_is_deleted(world: World, hook: ScriptedHook) -> None:
    _begin(world, part("p", size=1))
    hook.answers("sync", _attach())
    world.poke(DEPLOYMENT, "d", seconds=0.1)
    assert world.names(PART) == []


def test_attachments_are_collected_with_their_object(world: World, hook: ScriptedHook) -> None:
    _begin(world, part("p", size=1))
    world.plane.delete(DEPLOYMENT, "t/d")
    world.plane.run_for(0.1)
    assert world.names(PART) == []


def test_an_object_that_leaves_the_selector_keeps_its_attachments(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach(part("p", size=1)))
    marked = deployment()
    marked["metadata"]["annotations"] = {"test/dec": "yes"}
    world.plane.apply(marked)
    world.decorator(resources=[ANNOTATED])
    world.plane.run_for(1)
    world.edit(DEPLOYMENT, "d", metadata={"annotations": {"test/dec": None}})
    hook.calls.clear()
    world.plane.run_for(5)
    assert world.names(PART) == ["p"]
    assert hook.calls == []


@pytest.mark.parametrize(
    ("rule", "decorated"),
    [
        ({}, ["both", "labelled", "noted", "plain"]),
        ({"labelSelector": {"matchLabels": {"a": "b"}}}, ["both", "labelled"]),
        ({"annotationSelector": {"matchAnnotations": {"n": "m"}}}, ["both", "noted"]),
        (ANNOTATED, []),
        (
            {"labelSelector": {"matchLabels": {"a": "b"}}, "annotationSelector": {"matchAnnotations": {"n": "m"}}},
            ["both"],
        ),
    ],
    ids=["all", "labels", "annotations", "expression", "both"],
)
def test_objects_are_selected_by_labels_and_annotations(
    world: World, hook: ScriptedHook, rule: JSON, decorated: list[str]
) -> None:
    hook.answers("sync", _attach())
    for title in ("plain", "labelled", "noted", "both"):
        one = deployment(title)
        one["metadata"] |= {"labels": {"a": "b"}} if title in {"labelled", "both"} else {}
        one["metadata"] |= {"annotations": {"n": "m"}} if title in {"noted", "both"} else {}
        world.plane.apply(one)
    world.decorator(resources=[{"apiVersion": "apps/v1", "resource": "deployments", **rule}])
    world.plane.run_for(1)
    assert sorted(call.request["object"]["metadata"]["name"] for call in hook.calls) == decorated


def test_one_decorator_may_decorate_several_kinds(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach())
    world.plane.apply(deployment())
    world.plane.apply(config("c"))
    kinds = [{"apiVersion": "apps/v1", "resource": "deployments"}, {"apiVersion": "v1", "resource": "configmaps"}]
    world.decorator(resources=kinds)
    world.plane.run_for(1)
    assert sorted(call.request["object"]["kind"] for call in hook.calls) == ["ConfigMap", "Deployment"]


def test_an_object_of_an_attachments_name_that_is_not_ours_is_passed_over_in_silence(
    world: World, hook: ScriptedHook
) -> None:
    world.plane.apply(part("p", size=9))
    _begin(world, part("p", size=1))
    found = world.stored(PART, "p")
    assert (found["spec"]["size"], owners(found)) == (9, [])
    assert hook.last()["attachments"] == {PART: {}}
    assert world.events() == []


def test_a_decorator_adopts_no_orphan_and_sees_no_other_decorators_attachments(
    world: World, hook: ScriptedHook
) -> None:
    before = _begin(world)
    foreign = part("theirs", size=1)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": before["metadata"]["uid"]}
    foreign["metadata"] |= {
        "ownerReferences": [{**reference, "controller": True}],
        "annotations": {"metacontroller.k8s.io/decorator-controller": "another"},
    }
    world.plane.apply(foreign)
    world.plane.apply(part("orphan", size=1))
    world.plane.run_for(1)
    assert hook.last()["attachments"] == {PART: {}}
    assert world.names(PART) == ["orphan", "theirs"]


# What an answer may write to the object


def test_labels_and_annotations_of_the_answer_are_written_and_null_takes_them_away(
    world: World, hook: ScriptedHook
) -> None:
    marked = deployment()
    marked["metadata"] |= {"labels": {"keep": "1", "drop": "1"}, "annotations": {"theirs": "1"}}
    world.plane.apply(marked)
    hook.answers("sync", _attach(labels={"drop": None, "new": "1"}, annotations={"seen": "yes"}))
    world.decorator()
    world.plane.run_for(1)
    metadata = world.stored(DEPLOYMENT, "d")["metadata"]
    assert metadata["labels"] == {"keep": "1", "new": "1"}
    assert metadata["annotations"] == {"theirs": "1", "seen": "yes"}
    assert {one["manager"] for one in metadata["managedFields"]} == {"kubectl", "metacontroller"}
    assert metadata["generation"] == 2, "a Deployment counts its annotations"
    version = metadata["resourceVersion"]
    world.plane.run_for(60)
    assert world.stored(DEPLOYMENT, "d")["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("status", [{}, {"status": None}], ids=["missing", "null"])
def test_a_missing_status_leaves_the_stored_one_alone(world: World, hook: ScriptedHook, status: JSON) -> None:
    _begin(world, **status)
    obj = world.stored(DEPLOYMENT, "d")
    world.plane.store.update_status({**obj, "status": {"replicas": 3}})
    world.plane.run_for(1)
    assert world.stored(DEPLOYMENT, "d")["status"] == {"replicas": 3}


def test_a_status_of_the_answer_is_written_as_it_is(world: World, hook: ScriptedHook) -> None:
    _begin(world, status={"replicas": 3})
    assert world.stored(DEPLOYMENT, "d")["status"] == {"replicas": 3}, "without observedGeneration"
    world.plane.run_for(60)
    assert len(hook.calls) == 2, "one, and one for the status that it wrote"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"children": []}, 'unknown field "children"'),
        ({"labels": {"a": 1}}, "cannot unmarshal number into Go struct field DecoratorHookResponse.labels"),
        ({"attachments": {}}, "DecoratorHookResponse.attachments"),
    ],
)
def test_an_answer_that_is_not_a_decorators_is_refused(
    world: World, hook: ScriptedHook, answer: JSON, words: str
) -> None:
    hook.answers("sync", answer)
    world.plane.apply(deployment())
    world.decorator()
    world.plane.run_for(0.1)
    assert words in world.events()[0]
    assert world.events()[0].startswith("Sync error: sync hook failed (version=v2): ")


def test_an_attachment_that_is_refused_is_told_on_the_decorated_object(world: World, hook: ScriptedHook) -> None:
    _begin(world, {"apiVersion": API, "kind": "Part", "metadata": {"name": "p"}})
    assert world.events()[0].startswith("Sync error: can't reconcile children for Deployment t/d: ")
    assert world.plane.all_of("Event.v1")[0]["involvedObject"]["kind"] == "Deployment"


# Related objects, resync, retries


def test_related_objects_of_a_decorator_wake_it(world: World, hook: ScriptedHook) -> None:
    rule = {"apiVersion": "v1", "resource": "configmaps", "namespace": "t", "names": ["c"]}
    hook.answers("customize", {"relatedResources": [rule]})
    _begin(world, hooks=("sync", "customize"))
    assert hook.last()["related"] == {"ConfigMap.v1": {}}
    world.plane.apply(config("c"))
    world.plane.run_for(1)
    assert list(hook.last()["related"]["ConfigMap.v1"]) == ["t/c"]
    assert len(hook.times("customize")) == 1


def test_a_decorator_is_called_again_as_its_answer_and_its_object_ask(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach(resyncAfterSeconds=7))
    world.plane.apply(deployment())
    world.decorator(resyncPeriodSeconds=10)
    world.plane.run_for(15)
    assert hook.times() == [0.05, 7.05, 10.05, 14.05]


def test_status_changes_of_the_object_are_ignored_where_the_rule_says_so(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach())
    world.plane.apply(deployment())
    world.decorator(resources=[{"apiVersion": "apps/v1", "resource": "deployments", "ignoreStatusChanges": True}])
    world.plane.run_for(1)
    world.plane.store.update_status({**world.stored(DEPLOYMENT, "d"), "status": {"replicas": 1}})
    world.plane.run_for(1)
    assert len(hook.calls) == 1
    world.poke(DEPLOYMENT, "d")
    assert len(hook.calls) == 2


def test_a_decorator_that_fails_is_tried_again(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", Reply(b"no", 500))
    world.plane.apply(deployment())
    world.decorator()
    world.plane.run_for(0.1)
    hook.answers("sync", _attach(part("p", size=1)))
    world.plane.run_for(1)
    assert world.names(PART) == ["p"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"resources": [{"apiVersion": API, "resource": "extras"}]},
            'can\'t find resource "extras" in apiVersion "test.example/v1"',
        ),
        (
            {"attachments": {"extras": (API, "InPlace")}},
            'can\'t find child resource "extras" in test.example/v1',
        ),
    ],
    ids=["decorated", "attached"],
)
def test_a_kind_that_is_not_served_keeps_a_decorator_from_starting(world: World, how: JSON, words: str) -> None:
    world.plane.apply(deployment())
    world.decorator(**how)
    world.plane.run_for(1)
    assert world.events() == [f"Cannot create new controller: {words}"]


# The finalize hook


def test_a_finalize_hook_puts_a_finalizer_on_the_object_and_decides_when_it_goes(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("finalize", lambda request: Reply({"finalized": not request["attachments"][PART]}))
    _begin(world, part("p", size=1), hooks=("sync", "finalize"))
    metadata = world.stored(DEPLOYMENT, "d")["metadata"]
    assert metadata["finalizers"] == [FINALIZER]
    world.plane.delete(DEPLOYMENT, "t/d")
    world.plane.run_for(1)
    assert hook.calls[-1].request["finalizing"] is True
    assert hook.last("finalize").keys() == recorded("decorator-finalize-v2").keys()
    assert world.plane.get(DEPLOYMENT, "t/d") is None
    assert world.names(PART) == []


def test_with_a_finalize_hook_an_object_that_leaves_the_selector_is_finalized(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", _attach(part("p", size=1)))
    hook.answers("finalize", lambda request: Reply({"finalized": not request["attachments"][PART]}))
    marked = deployment()
    marked["metadata"]["annotations"] = {"test/dec": "yes"}
    world.plane.apply(marked)
    world.decorator(("sync", "finalize"), resources=[ANNOTATED])
    world.plane.run_for(1)
    world.edit(DEPLOYMENT, "d", metadata={"annotations": {"test/dec": None}})
    world.plane.run_for(1)
    assert world.names(PART) == []
    assert "finalizers" not in world.stored(DEPLOYMENT, "d")["metadata"]


def test_an_object_edited_while_the_hook_answers_is_left_alone_until_the_next_sync(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", _attach(part("p", size=1), labels={"seen": "yes"}))
    world.plane.apply(deployment())
    world.plane.network.fail(CallFault(hook="sync", delay=4, times=1))
    world.decorator()
    world.plane.run_for(1)
    world.edit(DEPLOYMENT, "d", metadata={"labels": {"theirs": "1"}})
    world.plane.run_for(3.07)
    assert world.stored(DEPLOYMENT, "d")["metadata"]["labels"] == {"theirs": "1"}
    assert world.names(PART) == [], "with a conflict attachments are not made either"
    world.plane.run_for(1)
    assert world.stored(DEPLOYMENT, "d")["metadata"]["labels"] == {"theirs": "1", "seen": "yes"}
    assert (world.names(PART), world.events()) == (["p"], [])


def test_a_label_that_the_api_refuses_is_told_and_attachments_wait(world: World, hook: ScriptedHook) -> None:
    _begin(world, part("p", size=1), labels={"seen": "not a label"})
    assert world.events()[0].startswith("Sync error: can't update Deployment t/d: Deployment.apps")
    assert world.names(PART) == []


def test_a_decorator_with_a_finalize_hook_alone_says_that_no_hook_answers(world: World, hook: ScriptedHook) -> None:
    world.plane.apply(deployment())
    world.decorator(("finalize",))
    world.plane.run_for(0.1)
    assert world.events() == ["Sync error: no enabled hooks found"]
