"""The customize hook and related objects (trials H3, H13)."""

import pytest

from app.kube.hook import JSON
from tests.local.scripted import Reply, ScriptedHook, World, config, desired

CONFIGS: JSON = {"apiVersion": "v1", "resource": "configmaps", "namespace": "t"}


def _begin(world: World, *rules: JSON, spec: JSON | None = None) -> None:
    world.hook.answers("sync", desired())
    world.hook.answers("customize", {"relatedResources": list(rules)})
    world.controller(("sync", "customize"))
    world.thing(spec=spec)
    world.plane.run_for(1)


def _related(hook: ScriptedHook, kind_key: str = "ConfigMap.v1") -> list[str]:
    return list(hook.last()["related"][kind_key])


def test_customize_is_asked_once_per_generation(world: World, hook: ScriptedHook) -> None:
    _begin(world)
    thing = world.stored_thing()
    thing["metadata"]["annotations"] = {"a": "b"}
    world.plane.store.update(thing)
    world.plane.run_for(1)
    assert (len(hook.times("sync")), len(hook.times("customize"))) == (2, 1)
    world.thing(spec={"v": 2})
    world.plane.run_for(1)
    assert (len(hook.times("sync")), len(hook.times("customize"))) == (3, 2)
    assert set(hook.last("customize")) == {"controller", "parent"}


def test_customize_is_asked_again_after_twenty_minutes(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(resyncAfterSeconds=300))
    hook.answers("customize", {"relatedResources": []})
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(1700)
    assert hook.times("customize") == [0.05, 1500.05]


def test_a_kind_that_was_asked_for_is_there_even_where_no_object_is(world: World, hook: ScriptedHook) -> None:
    _begin(world, {**CONFIGS, "names": ["x"]})
    assert hook.last()["related"] == {"ConfigMap.v1": {}}


def test_a_rule_by_name_shows_these_and_no_others(world: World, hook: ScriptedHook) -> None:
    for title in ("x", "y"):
        world.plane.apply(config(title))
    _begin(world, {**CONFIGS, "names": ["x", "absent"]})
    assert _related(hook) == ["t/x"]


def test_hundreds_of_names_most_of_which_do_not_exist_show_those_that_do(world: World, hook: ScriptedHook) -> None:
    for title in ("x-7", "foreign"):
        world.plane.apply(config(title))
    _begin(world, {**CONFIGS, "names": [f"x-{number}" for number in range(300)]})
    assert _related(hook) == ["t/x-7"]


def test_an_object_of_another_namespace_calls_the_hook_as_well(world: World, hook: ScriptedHook) -> None:
    _begin(world, {"apiVersion": "v1", "resource": "configmaps", "namespace": "u", "names": ["x"]})
    elsewhere = config("x")
    elsewhere["metadata"]["namespace"] = "u"
    world.plane.apply(elsewhere)
    world.plane.run_for(1)
    assert _related(hook) == ["u/x"]
    assert len(hook.times("sync")) == 2


def test_several_rules_of_one_kind_are_united(world: World, hook: ScriptedHook) -> None:
    for title in ("x", "y", "z"):
        world.plane.apply(config(title))
    _begin(world, {**CONFIGS, "names": ["x"]}, {**CONFIGS, "names": ["z"]})
    assert _related(hook) == ["t/x", "t/z"]


def test_a_rule_without_a_namespace_sees_all_of_them(world: World, hook: ScriptedHook) -> None:
    for space in ("t", "u"):
        elsewhere = config("x")
        elsewhere["metadata"]["namespace"] = space
        world.plane.apply(elsewhere)
    _begin(world, {"apiVersion": "v1", "resource": "configmaps", "names": ["x"]})
    assert _related(hook) == ["t/x", "u/x"]


@pytest.mark.parametrize(
    ("selector", "seen"),
    [
        ({"matchLabels": {"app": "a"}}, ["t/one"]),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, ["t/one", "t/two"]),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, ["t/three", "t/two"]),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, ["t/one", "t/two"]),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, ["t/three"]),
        ({}, ["t/one", "t/three", "t/two"]),
    ],
)
def test_a_rule_by_label(world: World, hook: ScriptedHook, selector: JSON, seen: list[str]) -> None:
    for title, labels in (("one", {"app": "a"}), ("two", {"app": "b"}), ("three", None)):
        world.plane.apply(config(title, labels))
    _begin(world, {**CONFIGS, "labelSelector": selector})
    assert _related(hook) == seen


def test_a_rule_by_the_labels_of_namespaces(world: World, hook: ScriptedHook) -> None:
    world.plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "u", "labels": {"team": "u"}}})
    for space in ("t", "u"):
        elsewhere = config("x")
        elsewhere["metadata"]["namespace"] = space
        world.plane.apply(elsewhere)
    rule = {"apiVersion": "v1", "resource": "configmaps", "namespaceSelector": {"matchLabels": {"team": "u"}}}
    _begin(world, rule)
    assert _related(hook) == ["u/x"]


def test_cluster_scoped_objects_are_keyed_by_their_name_alone(world: World, hook: ScriptedHook) -> None:
    _begin(world, {"apiVersion": "v1", "resource": "namespaces", "names": ["t"]})
    assert _related(hook, "Namespace.v1") == ["t"]


@pytest.mark.parametrize(
    "rule",
    [{**CONFIGS, "names": ["x"]}, {**CONFIGS, "labelSelector": {"matchLabels": {"app": "a"}}}],
    ids=["by name", "by label"],
)
def test_a_related_object_that_comes_changes_or_goes_calls_the_hook(
    world: World, hook: ScriptedHook, rule: JSON
) -> None:
    _begin(world, rule)
    hook.calls.clear()
    world.plane.apply(config("x", {"app": "a"}))
    world.plane.apply(config("unrelated"))
    world.plane.run_for(1)
    assert (len(hook.calls), _related(hook)) == (1, ["t/x"])
    world.plane.apply(config("x", {"app": "a"}, new="1"))
    world.plane.run_for(1)
    assert len(hook.calls) == 2
    world.plane.delete("ConfigMap.v1", "t/x")
    world.plane.run_for(1)
    assert (len(hook.calls), _related(hook)) == (3, [])


def test_an_object_that_leaves_the_selector_calls_the_hook(world: World, hook: ScriptedHook) -> None:
    world.plane.apply(config("x", {"app": "a"}))
    _begin(world, {**CONFIGS, "labelSelector": {"matchLabels": {"app": "a"}}})
    assert _related(hook) == ["t/x"]
    world.plane.apply(config("x", {"app": "b"}))
    world.plane.run_for(1)
    assert _related(hook) == []


def test_one_kind_may_be_child_and_related(world: World, hook: ScriptedHook) -> None:
    world.plane.apply(config("theirs"))
    hook.answers("sync", desired(config("ours"), config("theirs", taken="no")))
    hook.answers("customize", {"relatedResources": [{**CONFIGS, "names": ["ours", "theirs"]}]})
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(1)
    assert _related(hook) == ["t/ours", "t/theirs"]
    assert list(hook.last()["children"]["ConfigMap.v1"]) == ["t/ours"]


def test_a_related_kind_that_is_not_served_stops_that_parent_until_its_spec_drops_the_rule(
    world: World, hook: ScriptedHook
) -> None:
    rule = {"apiVersion": "nope.example/v1", "resource": "things"}
    hook.answers("sync", desired())
    hook.answers(
        "customize",
        lambda request: Reply({"relatedResources": [rule] if request["parent"]["spec"].get("nope") else []}),
    )
    world.controller(("sync", "customize"))
    world.thing("a", {"nope": True})
    world.thing("b")
    world.plane.run_for(1)
    assert world.events()[0] == "Sync error: discovery: can't find resource things in apiVersion nope.example/v1"
    assert {call.request["parent"]["metadata"]["name"] for call in hook.calls if call.hook == "sync"} == {"b"}
    world.thing("a", {"nope": False})
    world.plane.run_for(0.1)
    assert hook.last()["parent"]["metadata"]["name"] == "a"


def test_a_customize_that_fails_keeps_the_sync_from_being_called(world: World, hook: ScriptedHook) -> None:
    hook.answers("customize", Reply(b"custom boom", 500))
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(1)
    assert hook.times("sync") == []
    assert world.events()[0] == "Sync error: unsupported status code: 500 body: custom boom"
    assert len(hook.times("customize")) > 3


def test_a_customize_that_is_busy_is_asked_again_in_time_without_an_event(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    hook.answers("customize", Reply(b"", 429, {"Retry-After": "3"}))
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(4)
    assert (hook.times("customize"), hook.times("sync"), world.events()) == ([0.05, 3.05], [], [])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({**CONFIGS, "names": ["x"], "labelSelector": {}}, "cannot have both names and labelSelector"),
        ({**CONFIGS, "namespaceSelector": {}}, "cannot have both namespace and namespaceSelector"),
        ({"apiVersion": "v1", "resource": "nodes", "namespaceSelector": {}}, "only supported for namespaced"),
        (
            {**CONFIGS, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
            "'Near' is not a valid label selector operator",
        ),
    ],
)
def test_a_rule_that_contradicts_itself_is_an_error(world: World, hook: ScriptedHook, rule: JSON, words: str) -> None:
    world.plane.apply(config("x"))
    _begin(world, rule)
    assert words in world.events()[0]
    assert hook.times("sync") == []
