"""Scheduler and kubelets over simulated time."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import START, Clock
from app.local.durations import Durations
from app.local.plane import Plane
from app.local.probes import first_success, startup_budget
from tests.local.scripted import config, pod

EVEN = Durations(bind=1, pull=10, start=1, load=30, drain=3, spread=0)
GATE = {"httpGet": {"port": 8000}}


@pytest.fixture
def plane() -> Iterator[Plane]:
    with Plane(durations=EVEN) as plane:
        yield plane


def _pod(plane: Plane, title: str = "p") -> JSON:
    found = plane.get("Pod.v1", f"t/{title}")
    assert found is not None
    return found


def _condition(plane: Plane, kind: str, title: str = "p") -> tuple[str, float]:
    """Status of a condition, and the simulated second since when it has it."""
    conditions = {one["type"]: one for one in _pod(plane, title)["status"]["conditions"]}
    since = times.parse(conditions[kind]["lastTransitionTime"])
    assert since is not None
    return conditions[kind]["status"], (since - START).total_seconds()


def test_a_pod_without_probes_is_ready_once_its_process_runs(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(11.5)
    assert _pod(plane)["status"]["phase"] == "Pending"
    assert _pod(plane)["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    plane.run_for(1)
    status = _pod(plane)["status"]
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": "2026-01-01T00:00:12Z"}}
    assert _condition(plane, "Ready") == ("True", 12)
    assert status["podIP"] != status["hostIP"]


def test_a_gated_pod_is_ready_when_its_engine_has_loaded_and_a_probe_has_seen_it(plane: Plane) -> None:
    plane.apply(pod("p", startupProbe={**GATE, "periodSeconds": 20, "failureThreshold": 9}, readinessProbe=GATE))
    plane.run_for(51)
    container = _pod(plane)["status"]["containerStatuses"][0]
    assert (container["started"], container["ready"]) == (False, False)
    assert _condition(plane, "PodScheduled") == ("True", 1)
    assert _condition(plane, "Initialized") == ("True", 1)
    plane.run_for(2)
    assert _condition(plane, "ContainersReady") == ("True", 52), "12 s to start, 30 s of loading, the probe at 40 s"
    assert _pod(plane)["status"]["containerStatuses"][0]["started"] is True


def test_a_slow_readiness_probe_comes_after_the_startup_gate(plane: Plane) -> None:
    plane.apply(
        pod(
            "p",
            startupProbe={**GATE, "periodSeconds": 10, "failureThreshold": 9},
            readinessProbe={**GATE, "initialDelaySeconds": 60},
        )
    )
    plane.run_for(60)
    container = _pod(plane)["status"]["containerStatuses"][0]
    assert (container["started"], container["ready"]) == (True, False)
    plane.run_for(15)
    assert _condition(plane, "Ready") == ("True", 72)


def test_a_load_beyond_the_startup_budget_is_a_restart_loop(plane: Plane) -> None:
    plane.apply(pod("p", startupProbe={**GATE, "periodSeconds": 5, "failureThreshold": 3}))
    plane.run_for(12 + 15 + 3 + 1)
    container = _pod(plane)["status"]["containerStatuses"][0]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 137
    assert container["state"]["running"]["startedAt"] == "2026-01-01T00:00:31Z", "its budget, its drain, and at once"
    plane.run_for(300)
    container = _pod(plane)["status"]["containerStatuses"][0]
    assert container["restartCount"] == 5, "after waits of 10, 20, 40 and 80 seconds"
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert _condition(plane, "Ready")[0] == "False"


def test_all_containers_of_a_pod_must_be_ready(plane: Plane) -> None:
    both = pod("p", readinessProbe=GATE)
    both["spec"]["containers"].append({"name": "side", "image": "side:1"})
    plane.apply(both)
    plane.run_for(20)
    ready = {one["name"]: one["ready"] for one in _pod(plane)["status"]["containerStatuses"]}
    assert ready == {"main": False, "side": True}
    unready = next(one for one in _pod(plane)["status"]["conditions"] if one["type"] == "Ready")
    assert unready["message"] == "containers with unready status: [main]"
    plane.run_for(60)
    assert _condition(plane, "Ready")[0] == "True"


def test_an_image_is_pulled_once_per_node() -> None:
    with Plane(durations=EVEN, nodes=["only"]) as plane:
        plane.apply(pod("first"))
        plane.run_for(60)
        plane.apply(pod("second"))
        plane.run_for(2.5)
        assert _pod(plane, "second")["status"]["phase"] == "Running", "1 s to bind and 1 s to start"


def test_pods_are_spread_over_the_nodes(plane: Plane) -> None:
    for number in range(6):
        plane.apply(pod(f"p{number}"))
    plane.run_for(2)
    nodes = [one["spec"]["nodeName"] for one in plane.all_of("Pod.v1")]
    assert sorted(nodes) == ["node-a"] * 2 + ["node-b"] * 2 + ["node-c"] * 2
    plane.delete("Pod.v1", "t/p1")
    plane.run_for(10)
    plane.apply(pod("next"))
    plane.run_for(2)
    assert _pod(plane, "next")["spec"]["nodeName"] == "node-b", "where one has left"


def test_a_pod_with_scheduling_gates_waits_for_their_removal(plane: Plane) -> None:
    gated = pod("p")
    gated["spec"]["schedulingGates"] = [{"name": "x/gate"}]
    plane.apply(gated)
    plane.run_for(60)
    found = _pod(plane)
    assert "nodeName" not in found["spec"]
    assert found["status"]["conditions"][0]["reason"] == "SchedulingGated"
    del found["spec"]["schedulingGates"]
    plane.store.update(found)
    plane.run_for(20)
    assert _condition(plane, "PodScheduled") == ("True", 61)
    assert _condition(plane, "Ready")[0] == "True"


def test_a_terminating_pod_drains_and_then_goes(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(20)
    plane.delete("Pod.v1", "t/p")
    plane.run_for(2.9)
    assert "deletionTimestamp" in _pod(plane)["metadata"]
    plane.run_for(0.2)
    assert plane.get("Pod.v1", "t/p") is None


def test_a_grace_period_shorter_than_the_drain_ends_it(plane: Plane) -> None:
    short = pod("p")
    short["spec"]["terminationGracePeriodSeconds"] = 1
    plane.apply(short)
    plane.run_for(20)
    plane.delete("Pod.v1", "t/p")
    plane.run_for(1.1)
    assert plane.get("Pod.v1", "t/p") is None


def test_a_pod_deleted_while_its_image_is_pulled_never_starts(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(5)
    plane.delete("Pod.v1", "t/p")
    plane.run_for(60)
    assert plane.get("Pod.v1", "t/p") is None


def test_a_pod_made_again_under_its_name_is_another_one(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(20)
    plane.delete("Pod.v1", "t/p")
    plane.run_for(4)
    plane.apply(pod("p", readinessProbe=GATE))
    plane.run_for(5)
    assert _condition(plane, "Ready")[0] == "False"


def test_pods_differ_a_little_and_every_run_is_the_same() -> None:
    def ready_at() -> list[str]:
        with Plane(durations=Durations()) as plane:
            for number in range(8):
                plane.apply(pod(f"p{number}"))
            plane.run_for(60)
            return [one["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] for one in _all(plane)]

    def _all(plane: Plane) -> list[JSON]:
        return plane.all_of("Pod.v1")

    first = ready_at()
    assert first == ready_at()
    assert len(set(first)) > 1


@pytest.mark.parametrize(
    ("probe", "answers_after", "seen"),
    [({}, 0, 0), ({}, 30, 30), ({}, 31, 40), ({"periodSeconds": 7}, 15, 21), ({"initialDelaySeconds": 5}, 2, 5)],
)
def test_a_probe_sees_an_answer_at_its_next_period(probe: JSON, answers_after: float, seen: float) -> None:
    assert first_success(probe, answers_after) == seen


def test_the_startup_budget_is_delay_and_all_failures() -> None:
    assert startup_budget({"initialDelaySeconds": 5, "periodSeconds": 10, "failureThreshold": 180}) == 1805


# Time


def test_time_jumps_to_what_is_due_and_stops_at_the_limit() -> None:
    with Plane() as plane:
        seen: list[float] = []
        plane.clock.after(100, lambda: seen.append(plane.clock.elapsed))
        assert plane.run_until(lambda: bool(seen), 99) is False
        assert plane.clock.elapsed == 99
        assert plane.run_until(lambda: bool(seen), 50) is True
        assert plane.clock.elapsed == 100
        assert plane.clock.now() == START + timedelta(seconds=100)


def test_the_pace_is_told_each_jump_before_it_is_made() -> None:
    with Plane() as plane:
        jumps: list[tuple[float, float]] = []
        plane.clock.after(4, lambda: None)
        plane.run_until(lambda: False, 10, pace=lambda seconds: jumps.append((plane.clock.elapsed, seconds)))
        assert jumps == [(0, 4), (4, 6)]


def test_a_clock_never_goes_back_or_past_what_is_due() -> None:
    clock = Clock()
    clock.after(5, lambda: None)
    with pytest.raises(ValueError, match="cannot jump"):
        clock.jump(6)
    with pytest.raises(ValueError, match="cannot be due"):
        clock.after(-1, lambda: None)
    assert clock.step() is True
    assert clock.step() is False
    with pytest.raises(ValueError, match="cannot jump"):
        clock.jump(4)


def test_apply_makes_a_missing_namespace_and_defaults_to_default(plane: Plane) -> None:
    found = plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert found["metadata"]["namespace"] == "default"
    plane.apply(config("c"))
    assert plane.get("Namespace.v1", "t") is not None
