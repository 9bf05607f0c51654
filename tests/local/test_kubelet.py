"""The kubelets: images that cannot be pulled, crashes, probes, evictions and refusals, in simulated time."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from app.kube.hook import JSON
from app.local.errors import NotFound
from app.local.faults import Ending, Fault, Pods
from app.local.plane import Plane
from app.local.podstatus import Words, condition
from app.local.probes import first_success, gives_up
from tests.local.scripted import pod
from tests.local.watched import (
    ANSWERING,
    EVEN,
    GATE,
    RUNNING,
    P,
    all_events,
    the_condition,
    the_container,
    the_pod,
    the_state,
)

GATES: JSON = {
    "startupProbe": {**GATE, "periodSeconds": 10, "failureThreshold": 9},
    "readinessProbe": {**GATE, "periodSeconds": 10, "failureThreshold": 3},
    "livenessProbe": {**GATE, "periodSeconds": 10, "failureThreshold": 6},
}


@pytest.fixture
def plane() -> Iterator[Plane]:
    with Plane(durations=EVEN) as plane:
        yield plane


def _serving(plane: Plane, **container: JSON) -> None:
    plane.apply(pod("p", **(container or GATES)))
    plane.run_for(60)
    assert the_condition(plane, "Ready")[0] == "True"


# Images


def test_an_image_that_is_not_there_is_tried_again_with_a_growing_delay(plane: Plane) -> None:
    plane.faults.add(Fault(image="registry.example.com/*"))
    plane.apply(pod("p", "registry.example.com/engine:9"))
    tried: list[float] = []
    reason = ""
    while plane.clock.elapsed < 700:
        plane.run_for(0.5)
        statuses = the_pod(plane)["status"].get("containerStatuses")
        seen = the_state(plane)[1] if statuses else ""
        if seen == "ErrImagePull" and reason != seen:
            tried.append(plane.clock.elapsed)
        reason = seen
    assert [round(b - a) for a, b in pairwise(tried)] == [12, 22, 42, 82, 162, 302]
    assert the_state(plane) == ("waiting", "ImagePullBackOff")
    message = the_container(plane)["state"]["waiting"]["message"]
    assert message.startswith('Back-off pulling image "registry.example.com/engine:9": ErrImagePull: failed to pull')
    assert the_pod(plane)["status"]["phase"] == "Pending"
    assert all_events(plane) == ["Failed"]


def test_an_image_that_comes_is_pulled_at_the_next_try(plane: Plane) -> None:
    plane.faults.add(Fault(image="engine:?", until=20))
    plane.apply(pod("p"))
    plane.run_for(60)
    assert the_state(plane)[0] == "running"


def test_a_cached_image_needs_no_registry_unless_it_is_always_asked(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(20)
    plane.faults.add(Fault(image="*"))
    for title, policy in (("cached", "IfNotPresent"), ("asked", "Always")):
        other = pod(title, imagePullPolicy=policy)
        other["spec"]["nodeName"] = the_pod(plane)["spec"]["nodeName"]
        plane.apply(other)
    plane.run_for(5)
    assert the_state(plane, "cached")[0] == "running"
    assert the_state(plane, "asked")[0] == "waiting"


# Crashes


def test_a_crash_loop_backs_off_from_ten_seconds_to_five_minutes(plane: Plane) -> None:
    plane.faults.add(Fault(ending=Ending(exit_code=3, reason="Error", after=1)))
    plane.apply(pod("p"))
    starts: list[str] = []
    while plane.clock.elapsed < 1200:
        plane.run_for(0.5)
        running = (the_pod(plane)["status"].get("containerStatuses") or [{}])[0].get("state", {}).get("running")
        if running and (not starts or starts[-1] != running["startedAt"]):
            starts.append(running["startedAt"])
    seconds = [int(one[14:16]) * 60 + int(one[17:19]) + 3600 * int(one[11:13]) for one in starts]
    assert [b - a for a, b in pairwise(seconds)] == [2, 11, 21, 41, 81, 161, 301, 301]
    found = the_container(plane)
    assert found["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert found["state"]["waiting"]["message"].startswith("back-off 5m0s restarting failed container=main pod=p_t(")
    assert found["lastState"]["terminated"]["exitCode"] == 3
    assert found["restartCount"] == 8
    assert the_pod(plane)["status"]["phase"] == "Running"
    assert the_condition(plane, "Ready")[0] == "False"
    assert "BackOff" in all_events(plane)


def test_ten_minutes_of_running_begin_the_back_off_anew(plane: Plane) -> None:
    _serving(plane)
    for _ in range(3):
        plane.kubelet.crash(P, Ending(1))
        plane.run_for(100)
    plane.run_for(20 * 60)
    restarts = the_container(plane)["restartCount"]
    plane.kubelet.crash(P, Ending(1))
    plane.run_for(1.5)
    assert the_container(plane)["restartCount"] == restarts + 1, "at once"


def test_a_crash_shows_its_exit_code_before_the_restart(plane: Plane) -> None:
    _serving(plane)
    plane.kubelet.crash(P, Ending(137, "OOMKilled"))
    ended = the_container(plane)
    assert ended["state"]["terminated"]["reason"] == "OOMKilled"
    assert (ended["ready"], ended["started"], ended["restartCount"]) == (False, False, 0)
    plane.run_for(1.5)
    again = the_container(plane)
    assert again["lastState"]["terminated"]["exitCode"] == 137
    assert again["restartCount"] == 1
    plane.run_for(60)
    assert the_condition(plane, "Ready")[0] == "True"


@pytest.mark.parametrize(
    ("policy", "exit_code", "phase"),
    [("Always", 0, "Running"), ("OnFailure", 1, "Running"), ("OnFailure", 0, "Succeeded"), ("Never", 1, "Failed")],
)
def test_the_restart_policy_says_whether_a_pod_ends(plane: Plane, policy: str, exit_code: int, phase: str) -> None:
    manifest = pod("p")
    manifest["spec"]["restartPolicy"] = policy
    plane.apply(manifest)
    plane.run_for(20)
    plane.kubelet.crash(P, Ending(exit_code))
    plane.run_for(10)
    assert the_pod(plane)["status"]["phase"] == phase
    assert the_container(plane)["restartCount"] == (1 if phase == "Running" else 0)


def test_only_the_starts_that_were_asked_for_crash(plane: Plane) -> None:
    plane.faults.add(Fault(ending=Ending(after=1), times=2))
    plane.apply(pod("p"))
    plane.run_for(200)
    assert the_state(plane)[0] == "running"
    assert the_container(plane)["restartCount"] == 2


def test_a_crash_of_a_container_that_is_not_there_names_those_that_are(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(20)
    with pytest.raises(NotFound, match='pods "p" has no container side: there are main'):
        plane.kubelet.crash(P, Ending(), "side")


def test_a_named_container_crashes_and_the_others_run_on(plane: Plane) -> None:
    both = pod("p")
    both["spec"]["containers"].append({"name": "side", "image": "side:1"})
    plane.apply(both)
    plane.run_for(20)
    plane.kubelet.crash(P, Ending(), "side")
    states = {one["name"]: next(iter(one["state"])) for one in the_pod(plane)["status"]["containerStatuses"]}
    assert states == {"main": "running", "side": "terminated"}


# Probes


def test_a_silence_shorter_than_readiness_allows_is_not_seen(plane: Plane) -> None:
    _serving(plane)
    version = the_pod(plane)["metadata"]["resourceVersion"]
    plane.kubelet.hang(P, 15)
    plane.run_for(120)
    assert the_pod(plane)["metadata"]["resourceVersion"] == version


def test_a_silence_takes_readiness_first_and_answering_gives_it_back(plane: Plane) -> None:
    _serving(plane)
    silent = plane.clock.elapsed
    plane.kubelet.hang(P, 40)
    plane.run_for(30)
    status, since = the_condition(plane, "Ready")
    assert status == "False"
    assert 20 <= since - silent <= 30, "the third probe in a row that fails"
    plane.run_for(30)
    assert the_condition(plane, "Ready")[0] == "True"
    assert the_container(plane)["restartCount"] == 0
    assert all_events(plane) == ["Unhealthy"]


def test_a_long_silence_is_ended_by_the_liveness_probe(plane: Plane) -> None:
    _serving(plane)
    plane.kubelet.hang(P, None)
    plane.run_for(70)
    assert the_container(plane)["restartCount"] == 1
    assert the_container(plane)["lastState"]["terminated"]["exitCode"] == 137
    plane.run_for(60)
    assert the_condition(plane, "Ready")[0] == "True", "the new process answers"


def test_an_engine_without_liveness_stays_silent_for_ever(plane: Plane) -> None:
    _serving(plane, readinessProbe=GATE)
    plane.kubelet.hang(P, None)
    plane.run_for(3600)
    assert the_condition(plane, "Ready")[0] == "False"
    assert the_container(plane)["restartCount"] == 0


def test_without_a_startup_gate_a_slow_load_is_killed_by_liveness(plane: Plane) -> None:
    plane.apply(pod("p", livenessProbe={**GATE, "failureThreshold": 2}))
    plane.run_for(RUNNING + 10 + 3 + 2)
    assert the_container(plane)["restartCount"] == 1


def test_a_slow_load_is_as_slow_as_it_was_asked_to_be(plane: Plane) -> None:
    plane.faults.add(Fault(Pods(labels={"role": "slow"}), load=300, times=1))
    slow = pod("p", readinessProbe=GATE)
    slow["metadata"]["labels"] = {"role": "slow"}
    plane.apply(slow)
    plane.apply(pod("other", readinessProbe=GATE))
    plane.run_for(100)
    assert the_condition(plane, "Ready", "other") == ("True", ANSWERING)
    assert the_condition(plane, "Ready")[0] == "False"
    plane.run_for(300)
    assert the_condition(plane, "Ready") == ("True", RUNNING + 300)


def test_a_readiness_gate_may_want_several_successes(plane: Plane) -> None:
    plane.apply(pod("p", readinessProbe={**GATE, "successThreshold": 3}))
    plane.run_for(100)
    assert the_condition(plane, "Ready") == ("True", ANSWERING + 20)


@pytest.mark.parametrize(
    ("probe", "silent_from", "end"),
    [({}, 0, 20), ({}, 1, 30), ({"failureThreshold": 1}, 40, 40), ({"initialDelaySeconds": 5}, 0, 25)],
)
def test_a_probe_gives_up_at_the_last_of_its_failures_in_a_row(probe: JSON, silent_from: float, end: float) -> None:
    assert gives_up(probe, silent_from) == end


def test_a_probe_never_succeeds_where_nothing_ever_answers() -> None:
    assert first_success({}, float("inf")) == float("inf")


# The end of a Pod


def test_an_evicted_pod_stays_as_failed_with_the_reason(plane: Plane) -> None:
    _serving(plane)
    plane.kubelet.evict(P, "memory")
    status = the_pod(plane)["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"].startswith("The node was low on resource: memory. ")
    target = condition(the_pod(plane), "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    assert condition(the_pod(plane), "Ready")["reason"] == "PodFailed"
    assert the_state(plane)[0] == "terminated"
    version = the_pod(plane)["metadata"]["resourceVersion"]
    plane.run_for(3600)
    assert the_pod(plane)["metadata"]["resourceVersion"] == version, "nobody restarts or removes it"
    plane.delete("Pod.v1", "t/p")
    assert plane.get("Pod.v1", "t/p") is None, "nothing runs that would have to end"


def test_a_node_refuses_a_pod_for_good(plane: Plane) -> None:
    plane.faults.add(Fault(until=10, refusal=Words("OutOfnvidia.com/gpu", "Node didn't have enough resource")))
    plane.apply(pod("p"))
    plane.run_for(100)
    status = the_pod(plane)["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfnvidia.com/gpu")
    assert status["message"] == "Pod was rejected: Node didn't have enough resource"
    assert "containerStatuses" not in status
    plane.apply(pod("later"))
    plane.run_for(100)
    assert the_pod(plane, "later")["status"]["phase"] == "Running"


def test_a_pod_without_processes_need_not_drain(plane: Plane) -> None:
    plane.apply(pod("p"))
    plane.run_for(5)
    plane.delete("Pod.v1", "t/p")
    plane.run_for(0.6)
    assert plane.get("Pod.v1", "t/p") is None


def test_two_runs_of_the_same_bad_day_are_equal() -> None:
    def told() -> list[JSON]:
        with Plane() as plane:
            for number in range(4):
                plane.apply(pod(f"p{number}", **GATES))
            plane.faults.add(Fault(Pods(name="p1"), ending=Ending(after=7)))
            plane.run_for(100)
            plane.kubelet.hang(Pods(name="p2"), 45)
            plane.kubelet.evict(Pods(name="p3"), "memory")
            plane.run_for(600)
            return [*plane.all_of("Pod.v1"), *plane.all_of("Event.v1")]

    assert told() == told()
