"""Between Metacontroller and a hook: Service names, lost, late and wrong answers, in simulated time."""

from collections.abc import Iterator

import pytest

from app.local.network import CallFault
from tests.local.scripted import ScriptedHook, World, config, desired

SERVICE = "hook.example.svc:8080"


@pytest.fixture
def named(world: World, hook: ScriptedHook) -> Iterator[World]:
    """A world whose controller calls its hook by the name of a Service."""
    world.plane.network.hosts[SERVICE] = hook.base_url
    hook.answers("sync", desired(config("a"), status={"up": True}))
    address, hook.base_url = hook.base_url, f"http://{SERVICE}"
    world.controller(("sync", "customize"))
    yield world
    hook.base_url = address


def _edit(world: World) -> None:
    world.thing(spec={"at": str(world.plane.clock.elapsed)})


def test_a_service_name_leads_to_the_hook(named: World, hook: ScriptedHook) -> None:
    named.thing()
    named.plane.run_for(1)
    assert hook.calls[0].headers["host"] == SERVICE
    assert named.names("ConfigMap.v1") == ["a"]


def test_nobody_listening_reads_as_metacontroller_says_it(named: World) -> None:
    named.plane.network.hosts[SERVICE] = "http://127.0.0.1:1"
    named.thing()
    named.plane.run_for(0.2)
    words = f'http error: Post "http://{SERVICE}/customize": dial tcp {SERVICE}: connect: connection refused'
    assert named.events()[0].endswith(words)


def test_a_late_answer_is_to_what_was_seen_then(named: World, hook: ScriptedHook) -> None:
    named.plane.network.fail(CallFault(hook="sync", delay=5, times=1))
    named.thing()
    named.plane.run_for(4)
    assert len(hook.times()) == 1
    assert named.names("ConfigMap.v1") == []
    hook.answers("sync", desired(config("b")))
    _edit(named)
    named.plane.run_for(0.9)
    assert len(hook.times()) == 1, "one parent is never in two hands"
    named.plane.run_for(0.17)
    assert named.names("ConfigMap.v1") == ["a"], "the old answer, late"
    named.plane.run_for(1)
    assert named.names("ConfigMap.v1") == ["b"], "and what came meanwhile is answered then"


def test_other_parents_are_not_held_up_by_a_late_answer(named: World) -> None:
    named.plane.network.fail(CallFault(hook="sync", delay=20, times=1))
    named.thing("a")
    named.thing("b")
    named.plane.run_for(1)
    assert "up" in named.stored_thing("b")["status"]
    assert "status" not in named.stored_thing("a")


def test_an_answer_later_than_the_timeout_is_an_error_after_it(named: World, hook: ScriptedHook) -> None:
    named.plane.network.fail(CallFault(hook="sync", delay=60, times=1))
    named.thing()
    named.plane.run_for(9)
    assert named.events() == []
    named.plane.run_for(2)
    words = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
    assert named.events()[0].endswith(words)
    assert named.names("ConfigMap.v1") == ["a"], "the next call is answered"


def test_a_call_that_is_cut_is_made_again(named: World, hook: ScriptedHook) -> None:
    cut: list[float] = []
    named.plane.network.fail(CallFault(hook="sync", cut=lambda: cut.append(named.plane.clock.elapsed), times=1))
    named.thing()
    named.plane.run_for(1)
    assert len(cut) == 1
    assert len(hook.times()) >= 2, "the hook got the first call too"
    assert named.events()[0].endswith("EOF")
    assert named.names("ConfigMap.v1") == ["a"]


def test_a_fault_ends_with_its_time_or_its_count(named: World, hook: ScriptedHook) -> None:
    network = named.plane.network
    network.fail(CallFault(hook="sync", status=503, body=b"busy", until=3))
    named.thing()
    named.plane.run_for(2.9)
    assert named.names("ConfigMap.v1") == []
    assert named.events()[0].endswith("unsupported status code: 503 body: busy")
    named.plane.run_for(5)
    assert named.names("ConfigMap.v1") == ["a"]
    network.fail(CallFault(hook="finalize", status=503, times=1))
    calls = len(hook.times())
    _edit(named)
    named.plane.run_for(1)
    assert len(hook.times()) == calls + 1, "a fault of another hook concerns nobody"


def test_failing_tells_whether_a_status_may_be_an_old_one(named: World) -> None:
    metacontroller = named.plane.metacontroller
    assert metacontroller.failing == []
    named.plane.network.fail(CallFault(status=500, until=1))
    named.thing()
    named.plane.run_for(0.5)
    assert metacontroller.failing == ["t/a"]
    named.plane.run_for(5)
    assert metacontroller.failing == []
