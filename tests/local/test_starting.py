"""Controllers that do not start, and kinds that come and go (trials H3, H3b, H4)."""

import pytest

from app.kube.hook import JSON
from app.local.errors import Invalid, UnknownKind
from tests.local.scripted import API, PART, PART_SCHEMA, THING, Reply, ScriptedHook, World, crd, desired, part

COMPOSITE = ("CompositeController", "things")


def _begin(world: World, **how: JSON) -> None:
    world.hook.answers("sync", desired())
    world.controller(**how)  # type: ignore[arg-type]
    world.thing()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("InPlace", 'can\'t find child resource "extras" in test.example/v1'),
        (
            "OnDelete",
            "can't create informer for child resource: can't create client for extras.test.example/v1 shared informer: "
            "discovery: can't find resource extras in apiVersion test.example/v1",
        ),
    ],
)
def test_a_child_kind_that_is_not_served_keeps_the_whole_controller_from_starting(
    world: World, hook: ScriptedHook, method: str, words: str
) -> None:
    _begin(world, children={"extras": (API, method)})
    world.plane.run_for(5)
    assert hook.calls == []
    assert world.events() == [f"Cannot create new controller: {words}"]
    assert world.plane.metacontroller.waiting == {COMPOSITE: words}
    world.plane.serve(crd("Extra"))
    world.plane.run_for(60)
    assert len(hook.calls) == 1, "it starts by itself, at a retry after the next discovery"
    assert world.plane.metacontroller.waiting == {}


def test_a_start_is_tried_again_with_growing_delays_and_told_25_times_at_most(world: World) -> None:
    _begin(world, children={"extras": (API, "InPlace")})
    world.plane.run_for(4)
    assert world.event_count() == 10, "after 5 ms, doubled each time"


def test_a_child_kind_that_goes_stops_every_parent_at_the_next_discovery_until_it_is_back(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired(part("p", size=1)))
    world.controller()
    world.thing("a")
    world.thing("b")
    world.plane.run_for(5)
    world.plane.withdraw(crd("Part", PART_SCHEMA))
    with pytest.raises(UnknownKind):
        world.plane.all_of(PART)
    hook.answers("sync", desired())
    hook.calls.clear()
    world.poke(seconds=1)
    assert hook.calls, "what it knew is good until it asks again"
    world.plane.run_for(25)
    hook.calls.clear()
    for title in ("a", "b"):
        world.poke(THING, title)
    assert hook.calls == []
    assert set(world.events()) == {"Sync error: discovery: can't find resource parts in apiVersion test.example/v1"}
    world.plane.serve(crd("Part", PART_SCHEMA))
    world.plane.run_for(60)
    assert {call.request["parent"]["metadata"]["name"] for call in hook.calls} == {"a", "b"}


def test_a_kind_is_served_until_its_last_object_is_gone(world: World) -> None:
    held = part("p", size=1)
    held["metadata"]["finalizers"] = ["x/hold"]
    world.plane.apply(held)
    world.plane.withdraw(crd("Part", PART_SCHEMA))
    world.plane.run_for(5)
    found = world.stored(PART, "p")
    found["metadata"].pop("finalizers")
    world.plane.store.update(found)
    world.plane.run_for(1)
    with pytest.raises(UnknownKind):
        world.plane.all_of(PART)


def test_a_related_kind_that_is_served_later_heals_the_parent_at_the_next_discovery(
    world: World, hook: ScriptedHook
) -> None:
    hook.answers("sync", desired())
    hook.answers("customize", {"relatedResources": [{"apiVersion": API, "resource": "extras", "namespace": "t"}]})
    world.controller(("sync", "customize"))
    world.thing()
    world.plane.run_for(1)
    world.plane.serve(crd("Extra"))
    world.plane.run_for(28)
    assert hook.times() == []
    world.plane.run_for(15)
    assert hook.last()["related"] == {"Extra.test.example/v1": {}}


def test_a_parent_kind_that_is_not_served_is_waited_for_without_an_event(world: World, hook: ScriptedHook) -> None:
    _begin(world, parent={"resource": "extras"})
    world.plane.run_for(5)
    assert world.events() == []
    reason = 'customresourcedefinitions.apiextensions.k8s.io "extras.test.example" not found'
    assert world.plane.metacontroller.waiting == {COMPOSITE: reason}
    world.plane.serve(crd("Extra"))
    world.plane.run_for(60)
    assert world.plane.metacontroller.waiting == {}


def test_a_composite_over_a_kind_of_kubernetes_itself_never_starts(world: World) -> None:
    _begin(world, parent={"apiVersion": "apps/v1", "resource": "deployments"})
    world.plane.run_for(60)
    assert world.plane.metacontroller.running == {}
    assert '"deployments.apps" not found' in world.plane.metacontroller.waiting[COMPOSITE]


def test_a_parent_kind_without_a_status_subresource_is_ignored_and_told_once(world: World, hook: ScriptedHook) -> None:
    plain = crd("Thing")
    plain["spec"]["versions"][0].pop("subresources")
    world.plane.serve(plain)
    _begin(world)
    world.plane.run_for(60)
    assert hook.calls == []
    assert world.events() == [
        "[things] Sync error - ignoring, CRD [things.test.example] does not have subresource 'Status' enabled"
    ]


def test_a_selector_that_cannot_be_read_keeps_the_controller_from_starting(world: World) -> None:
    _begin(world, parent={"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}})
    world.plane.run_for(0.001)
    assert "'Near' is not a valid label selector operator" in world.events()[0]


def test_an_update_strategy_that_is_not_imitated_is_refused(world: World) -> None:
    _begin(world, children={"pods": ("v1", "RollingRecreate")})
    world.plane.run_for(1)
    assert "update strategy 'RollingRecreate' of pods is not imitated here" in world.events()[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "v1"}, "the sync hook has version 'v1': only v2 is spoken here"),
        (
            {"webhook": {"timeout": "1s"}},
            "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
        ),
        (
            {"webhook": {"service": {"name": "s"}, "path": "/"}},
            "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
        ),
        ({"webhook": {"url": "https://x", "caBundle": {"inline": "x"}}}, "caBundle is not imitated here"),
    ],
)
def test_a_hook_that_cannot_be_called_keeps_the_controller_from_starting(
    world: World, change: JSON, words: str
) -> None:
    controller = world.controller()
    controller["spec"]["hooks"]["sync"] |= change
    world.plane.store.update(controller)
    world.plane.run_for(1)
    assert words in world.events()[0]
    assert world.plane.metacontroller.running == {}


def test_a_controller_without_hooks_does_not_start(world: World) -> None:
    world.controller(hooks=())
    world.plane.run_for(1)
    assert world.events() == ["Cannot create new controller: no hooks defined"]


@pytest.mark.parametrize("alone", ["cacheTimeoutSeconds", "cacheCleanupSeconds"])
def test_an_etag_time_out_without_its_cleanup_panics_for_ever_and_no_event_says_so(
    world: World, hook: ScriptedHook, alone: str
) -> None:
    hook.answers("sync", desired())
    world.controller(etag={"enabled": True, alone: 3})
    world.thing()
    world.plane.run_for(60)
    assert world.events() == []
    starts = alone == "cacheCleanupSeconds"
    assert bool(hook.calls) is starts
    reasons = list(world.plane.metacontroller.waiting.values())
    assert [one for one in reasons if "cacheTimeoutSeconds without cacheCleanupSeconds" not in one] == []
    assert bool(reasons) is not starts


def test_a_controller_is_started_anew_when_its_spec_changes_and_only_then(world: World, hook: ScriptedHook) -> None:
    _begin(world)
    world.plane.run_for(1)
    before = world.plane.metacontroller.running[COMPOSITE]
    labelled = world.controller()
    labelled["metadata"]["labels"] = {"a": "b"}
    world.plane.store.update(labelled)
    world.plane.run_for(1)
    assert world.plane.metacontroller.running[COMPOSITE] is before
    world.controller(resyncPeriodSeconds=60)
    world.plane.run_for(1)
    assert world.plane.metacontroller.running[COMPOSITE] is not before


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "spec.parentResource: Required value"),
        (
            {"hooks": {"sync": {"version": "v3"}}, "parentResource": {"apiVersion": API, "resource": "things"}},
            'spec.hooks.sync.version: Unsupported value: "v3": supported values: "v1", "v2"',
        ),
        (
            {
                "hooks": {"sync": {"webhook": {"timeout": "soon"}}},
                "parentResource": {"apiVersion": API, "resource": "things"},
            },
            'spec.hooks.sync.webhook.timeout in body must be of type duration: "soon"',
        ),
        (
            {
                "parentResource": {"apiVersion": API, "resource": "things"},
                "childResources": [{"apiVersion": "v1", "resource": "pods", "updateStrategy": {"method": "Never"}}],
            },
            "spec.childResources[0].updateStrategy.method: Unsupported value",
        ),
    ],
)
def test_a_controller_object_that_its_schema_refuses_is_never_stored(world: World, spec: JSON, words: str) -> None:
    metadata = {"name": "things"}
    version = "metacontroller.k8s.io/v1alpha1"
    with pytest.raises(Invalid) as refusal:
        world.plane.apply({"apiVersion": version, "kind": "CompositeController", "metadata": metadata, "spec": spec})
    assert words in str(refusal.value)


def test_a_hook_without_a_version_gets_the_default_of_the_schema(world: World) -> None:
    controller = world.controller()
    del controller["spec"]["hooks"]["sync"]["version"]
    assert world.plane.store.update(controller)["spec"]["hooks"]["sync"]["version"] == "v1"


def test_a_reply_in_loose_mode_may_hold_unknown_fields(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", Reply({"status": {"phase": "Up"}, "foo": 1}))
    controller = world.controller()
    controller["spec"]["hooks"]["sync"]["webhook"]["responseUnMarshallMode"] = "loose"
    world.plane.store.update(controller)
    world.thing()
    world.plane.run_for(1)
    assert world.stored_thing()["status"]["phase"] == "Up"
