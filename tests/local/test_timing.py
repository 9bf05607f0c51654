"""When the hook is called: triggers, resyncs, backoff, 429 (trials H5, H6, H8)."""

from datetime import timedelta
from email.utils import format_datetime

import pytest

from app.local.clock import Clock
from app.local.events import EventRecorder
from app.local.workqueue import WorkQueue
from tests.local.scripted import Reply, ScriptedHook, World, config, desired


def _begin(world: World, reply: Reply) -> None:
    world.hook.answers("sync", reply)
    world.controller()
    world.thing()


def test_nothing_is_called_while_nothing_happens(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired()))
    world.plane.run_for(3600)
    assert len(hook.calls) == 1


@pytest.mark.parametrize(
    ("asked", "called"), [(1, [0.05, 1.05, 2.05, 3.05]), (0.5, [0.05, 0.55, 1.05, 1.55, 2.05, 2.55, 3.05])]
)
def test_resync_after_seconds_calls_again_on_time(
    world: World, hook: ScriptedHook, asked: float, called: list[float]
) -> None:
    _begin(world, Reply(desired(resyncAfterSeconds=asked)))
    world.plane.run_for(3.1)
    assert hook.times() == called


@pytest.mark.parametrize("asked", [0, -1, None])
def test_a_resync_of_zero_negative_or_null_is_none(world: World, hook: ScriptedHook, asked: float | None) -> None:
    _begin(world, Reply(desired(resyncAfterSeconds=asked)))
    world.plane.run_for(100)
    assert len(hook.calls) == 1


def test_a_resync_once_asked_for_comes_although_a_later_answer_asks_for_none(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired(resyncAfterSeconds=5)))
    world.plane.run_for(1)
    hook.answers("sync", desired())
    world.thing(spec={"v": 2})
    world.plane.run_for(60)
    assert hook.times() == [0.05, 1.05, 5.05]


def test_of_several_resyncs_asked_for_the_earliest_counts(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired(resyncAfterSeconds=5)))
    world.plane.run_for(1)
    hook.answers("sync", desired(resyncAfterSeconds=60))
    world.thing(spec={"v": 2})
    world.plane.run_for(70)
    assert hook.times() == [0.05, 1.05, 5.05, 65.05]


def test_resync_period_calls_for_every_parent(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired())
    world.controller(resyncPeriodSeconds=2)
    world.thing("a")
    world.thing("b")
    world.plane.run_for(4.1)
    assert hook.times() == [0.05, 0.05, 2.05, 2.05, 4.05, 4.05]


def test_several_changes_at_once_are_answered_by_one_sync(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired()))
    for version in range(5):
        world.thing(spec={"v": version})
    world.plane.run_for(10)
    assert len(hook.calls) == 1


def test_a_changed_child_wakes_its_parent(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired(config("c", a="1"))))
    world.plane.run_for(10)
    hook.calls.clear()
    child = world.plane.get("ConfigMap.v1", "t/c")
    assert child is not None
    child["data"]["b"] = "2"
    world.plane.store.update(child)
    world.plane.run_for(1)
    assert hook.times() == [10.05]


def test_own_status_write_calls_again_unless_status_changes_are_ignored(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", desired(status={"phase": "Up"}))
    world.controller(parent={"ignoreStatusChanges": False})
    world.thing()
    world.plane.run_for(10)
    assert len(hook.calls) == 2


def test_a_status_that_always_differs_is_a_hot_loop_and_still_time_passes(world: World, hook: ScriptedHook) -> None:
    hook.answers("sync", lambda _: Reply(desired(status={"count": len(hook.calls)})))
    world.controller(parent={"ignoreStatusChanges": False})
    world.thing()
    world.plane.run_for(10)
    assert 190 < len(hook.calls) <= 200


def test_a_label_change_calls_the_hook_and_moves_no_generation(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired()))
    world.plane.run_for(1)
    thing = world.stored_thing()
    thing["metadata"]["labels"] = {"a": "b"}
    world.plane.store.update(thing)
    world.plane.run_for(1)
    assert len(hook.calls) == 2
    assert world.stored_thing()["status"]["observedGeneration"] == 1


def test_a_failing_hook_is_called_again_with_a_delay_that_doubles(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(b"no", 500))
    world.plane.run_for(3)
    gaps = [round(later - earlier, 3) for earlier, later in zip(hook.times(), hook.times()[1:], strict=False)]
    assert gaps == [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28]


def test_the_delay_begins_anew_after_a_success(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(b"no", 500))
    world.plane.run_for(2)
    hook.answers("sync", desired())
    world.plane.run_for(3)
    hook.calls.clear()
    hook.answers("sync", Reply(b"no", 500))
    world.thing(spec={"v": 2})
    world.plane.run_for(0.1)
    assert hook.times() == [5.05, 5.055, 5.065, 5.085]


def test_the_delay_is_never_above_a_thousand_seconds() -> None:
    clock = Clock()
    called: list[float] = []

    def process(key: str) -> None:
        called.append(clock.elapsed)
        queue.add_rate_limited(key)

    queue = WorkQueue(clock, process)
    queue.add("t/a")
    while len(called) < 30:
        clock.step()
    assert called[-1] - called[-2] == 1000


def test_429_is_tried_again_after_the_stated_seconds_without_an_event(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(b"", 429, {"Retry-After": "2"}))
    world.plane.run_for(4.1)
    assert hook.times() == [0.05, 2.05, 4.05]
    assert world.events() == []


def test_429_may_state_a_date(world: World, hook: ScriptedHook) -> None:
    moment = world.plane.clock.now() + timedelta(seconds=7)
    _begin(world, Reply(b"", 429, {"Retry-After": format_datetime(moment, usegmt=True)}))
    world.plane.run_for(7)
    assert hook.times() == [0.05]
    world.plane.run_for(0.1)
    assert len(hook.times()) > 1


@pytest.mark.parametrize("header", [None, "1.5", "soon"])
def test_429_without_whole_seconds_is_called_300_times_a_second(
    world: World, hook: ScriptedHook, header: str | None
) -> None:
    _begin(world, Reply(b"", 429, {} if header is None else {"Retry-After": header}))
    world.plane.run_for(0.55)
    assert len(hook.calls) == pytest.approx(150, abs=2)


def test_429_leaves_children_and_status_as_they_are(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(desired(config("c"), status={"phase": "Up"})))
    world.plane.run_for(1)
    hook.answers("sync", Reply(b"", 429, {"Retry-After": "60"}))
    world.thing(spec={"v": 2})
    world.plane.run_for(10)
    assert world.names("ConfigMap.v1") == ["c"]
    assert world.stored_thing()["status"] == {"phase": "Up", "observedGeneration": 1}


def test_events_stop_at_25_and_a_later_message_never_shows(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(b"first", 500))
    world.plane.run_for(0.06)
    hook.answers("sync", lambda _: Reply(f"call {len(hook.calls)}".encode(), 500))
    for version in range(40):
        world.thing(spec={"v": version})
        world.plane.run_for(0.06)
    assert len(hook.calls) > 40
    assert world.event_count() == 25
    assert "body: first" in world.events()[0]


def test_after_25_events_one_more_is_let_through_every_five_minutes(world: World) -> None:
    recorder = EventRecorder(world.plane.clock, world.plane.store)
    thing, other = world.thing("a"), world.thing("b")
    for _ in range(30):
        recorder.warn(thing, "SyncError", "a message")
    recorder.warn(other, "SyncError", "another object's first")
    assert world.event_count() == 26
    world.plane.run_for(299)
    recorder.warn(thing, "SyncError", "too early")
    world.plane.run_for(2)
    recorder.warn(thing, "SyncError", "the next one")
    assert world.events() == ["a message", "another object's first", "the next one"]


def test_from_the_tenth_message_on_one_event_stands_for_all_that_are_similar(world: World) -> None:
    recorder = EventRecorder(world.plane.clock, world.plane.store)
    thing = world.thing("a")
    for number in range(12):
        recorder.warn(thing, "SyncError", f"message {number}")
    told = world.events()
    assert told[:9] == [f"message {number}" for number in range(9)]
    assert told[9:] == ["(combined from similar events): message 11"]
    assert world.event_count() == 12


def test_an_event_in_a_namespace_that_goes_is_lost_and_nothing_else_is(world: World) -> None:
    recorder = EventRecorder(world.plane.clock, world.plane.store)
    thing = world.thing("a")
    recorder.warn(thing, "SyncError", "first")
    world.plane.delete("Namespace.v1", "t")
    recorder.warn(thing, "SyncError", "second")
    world.plane.run_for(5)
    recorder.warn(thing, "SyncError", "first")
    assert world.events() == []


def test_equal_events_are_one_with_a_count(world: World, hook: ScriptedHook) -> None:
    _begin(world, Reply(b"no", 500))
    world.plane.run_for(1)
    assert len(world.plane.all_of("Event.v1")) == 1
    assert world.plane.all_of("Event.v1")[0]["count"] == len(hook.calls)
