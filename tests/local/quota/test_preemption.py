"""Preemption within a ClusterQueue, deactivation and reactivation (trials C)."""

import pytest

from app.local.faults import Fault
from app.local.quota.options import KueueOptions
from tests.local.quota.scene import HIGH, LOW, Scene, a_cluster_queue, a_flavor, a_local_queue, a_pod, a_priority

DEACTIVATED = "The workload is deactivated"


def _victims(scene: Scene, size: int = 2, gpu: int = 4) -> list[str]:
    """A running group that holds all quota."""
    names = scene.group("victim", size, gpu, priority=LOW)
    scene.until(lambda: scene.running(*names))
    scene.passes(2)
    return names


def test_a_preempted_group_keeps_its_quota_until_its_last_pod_is_gone() -> None:
    scene = Scene()
    names = _victims(scene)
    scene.group("high", 1, 4, priority=HIGH)
    scene.until(lambda: scene.leaves(names[0]), within=0.3)
    assert all(scene.leaves(one) for one in names), "all members go"
    assert scene.admitted("victim")
    assert (scene.says("victim", "Preempted") or ())[:2] == ("True", "InClusterQueue")
    scene.passes(0.1)
    assert (scene.says("victim", "WaitingForReplacementPods") or ())[:2] == ("True", "Preempted")
    scene.until(lambda: len(scene.pods()) == 2)
    assert scene.admitted("victim")
    assert not scene.admitted("high")
    scene.until(lambda: len(scene.pods()) == 1)
    assert 0.05 < scene.until(lambda: "victim" not in scene.workloads()) <= 0.12
    assert scene.until(lambda: scene.admitted("high")) <= 0.1, "and only then"


def test_a_preempted_pod_says_who_took_its_place_and_goes_with_its_own_grace() -> None:
    scene = Scene()
    names = _victims(scene)
    scene.group("high", 1, 4, priority=HIGH)
    scene.until(lambda: scene.leaves(names[0]))
    preemptor = scene.workload("high")["metadata"]["uid"]
    words = (
        f"Preempted to accommodate a workload (UID: {preemptor}, JobUID: UNKNOWN) due to prioritization in the "
        "ClusterQueue; preemptor path: /cq; preemptee path: /cq"
    )
    assert scene.pod_says(names[0], "TerminationTarget") == ("True", "WorkloadEvictedDueToPreempted", words)
    pod = scene.pod(names[0])
    assert pod is not None
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert scene.says("victim", "Evicted") == ("True", "Preempted", words)
    assert scene.workload("victim")["status"]["schedulingStats"]["evictions"] == [{"count": 1, "reason": "Preempted"}]


def test_a_preemptor_says_what_it_waits_for() -> None:
    scene = Scene()
    _victims(scene)
    scene.group("high", 1, 4, priority=HIGH)
    scene.passes(0.2)
    status, reason, words = scene.says("high", "QuotaReserved") or ("", "", "")
    assert (status, reason) == ("False", "Pending")
    assert words.startswith("couldn't assign flavors to pod set ")
    assert words.endswith(
        ": insufficient unused quota for nvidia.com/gpu in flavor default-flavor, 4 more needed. Pending the "
        "preemption of 1 workload(s)"
    )


def test_a_group_whose_pods_have_not_run_yet_gives_its_quota_back_at_once() -> None:
    scene = Scene()
    scene.group("victim", 2, 4, priority=LOW)
    scene.until(lambda: scene.admitted("victim"))
    scene.passes(1)
    assert not scene.running("victim-0"), "the image is being pulled"
    scene.group("high", 1, 4, priority=HIGH)
    assert scene.until(lambda: scene.admitted("high")) <= 0.3
    assert scene.said("victim", "QuotaReserved") == [("True", "QuotaReserved"), ("False", "Pending")]


def test_a_stuck_pod_keeps_the_quota_of_its_group_no_longer_than_twice_its_grace() -> None:
    scene = Scene()
    names = _victims(scene)
    pod = scene.pod(names[0])
    assert pod is not None
    for node in ("node-a", "node-b"):
        scene.plane.nodes.kill(node)
    scene.group("high", 1, 4, priority=HIGH)
    assert 58 <= scene.until(lambda: scene.admitted("high")) <= 65
    assert set(names) <= set(scene.pods()), "the nodes do not answer, so the Pods are still there"


def test_only_as_many_as_needed_are_preempted_and_the_youngest_of_them_first() -> None:
    scene = Scene()
    for title in ("a", "b", "c"):
        scene.group(title, 1, 2, priority=LOW)
        scene.passes(30)
    scene.group("high", 1, 4, priority=HIGH)
    scene.passes(1)
    assert [title for title in ("a", "b", "c") if scene.leaves(f"{title}-0")] == ["c"]


def test_the_lowest_priority_goes_first_whenever_it_came() -> None:
    scene = Scene()
    scene.group("low", 1, 4, priority=LOW)
    scene.passes(30)
    scene.given(a_priority("mid", 50))
    scene.group("mid", 1, 4, priority="mid")
    scene.passes(30)
    scene.group("high", 1, 4, priority=HIGH)
    scene.passes(1)
    assert [title for title in ("low", "mid") if scene.leaves(f"{title}-0")] == ["low"]


def test_one_that_turns_out_not_to_be_needed_is_spared() -> None:
    scene = Scene()
    scene.group("large", 1, 6, priority=LOW)
    scene.passes(30).group("small", 1, 1, priority=LOW)
    scene.passes(30).group("high", 1, 7, priority=HIGH)
    scene.passes(1)
    assert scene.leaves("large-0"), "it alone makes room"
    assert not scene.leaves("small-0"), "though it would have gone first"


@pytest.mark.parametrize(("policy", "priority"), [("LowerPriority", LOW), ("Never", HIGH)])
def test_nobody_is_preempted_where_the_queue_does_not_allow_it(policy: str, priority: str) -> None:
    scene = Scene(a_flavor(), a_cluster_queue(preemption={"withinClusterQueue": policy}), a_local_queue())
    _victims(scene)
    scene.group("later", 1, 4, priority=priority)
    scene.passes(5)
    assert not scene.leaves("victim-0")


def test_an_older_workload_displaces_a_newer_one_of_its_priority_where_the_queue_says_so() -> None:
    policy = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    scene = Scene(a_flavor(), a_cluster_queue(preemption=policy, flavors={"default-flavor": 4}), a_local_queue())
    scene.group("first", 1, 2, priority=HIGH)
    scene.passes(1)
    scene.group("older", 1, 4, priority=LOW)
    scene.passes(1)
    scene.group("newer", 1, 2, priority=LOW)
    scene.until(lambda: scene.running("newer-0", "first-0"))
    scene.delete("first-0")
    scene.until(lambda: scene.leaves("newer-0"), within=60)
    scene.until(lambda: scene.admitted("older"))


def test_nobody_is_preempted_for_what_would_not_fit_even_then() -> None:
    scene = Scene()
    scene.group("top", 1, 6, priority=HIGH)
    scene.group("victim", 1, 2, priority=LOW)
    scene.until(lambda: scene.admitted("top", "victim"))
    scene.given(*(a_pod(f"big-{index}", "big", 2, 2, priority=LOW) for index in range(2)))
    scene.group("mid", 1, 8, priority=HIGH)
    scene.passes(5)
    assert not scene.leaves("victim-0")


def test_a_workload_that_is_preempted_before_its_pods_start_says_so_until_it_has_quota_again() -> None:
    scene = Scene()
    scene.group("victim", 2, 4, priority=LOW)
    scene.passes(0.035)
    scene.group("high", 1, 4, priority=HIGH)
    scene.until(lambda: scene.admitted("high"))
    assert scene.pods() == ["high-0", "victim-0", "victim-1"]
    assert scene.gates("victim-0") == ["admission", "topology"]
    preempted = scene.says("victim", "Preempted") or ("", "", "")
    assert preempted[:2] == ("True", "InClusterQueue")
    assert (scene.says("victim", "Requeued") or ())[:2] == ("True", "Preempted")
    scene.delete("high-0")
    scene.until(lambda: scene.admitted("victim"))
    assert scene.says("victim", "Preempted") == ("False", "QuotaReserved", f"Previously: {preempted[2]}")
    assert (scene.says("victim", "Evicted") or ())[:2] == ("False", "QuotaReserved")


def test_a_pending_workload_that_is_deactivated_stays_gated_though_quota_frees() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.group("g", 2, 2)
    scene.passes(2)
    before = scene.says("g", "QuotaReserved")
    told = scene.events("g")
    scene.sets_active("g", False)
    scene.passes(0.1)
    assert scene.says("g", "Evicted") == ("True", "Deactivated", DEACTIVATED)
    scene.delete("holds-0")
    scene.passes(10)
    assert scene.gates("g-0") == ["admission", "topology"]
    assert scene.says("g", "QuotaReserved") == before
    assert scene.says("g", "Requeued") is None
    assert scene.events("g") == told


def test_a_pending_workload_that_is_activated_again_is_admitted_at_once() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.group("g", 2, 2)
    scene.passes(2).sets_active("g", False)
    scene.delete("holds-0")
    scene.passes(10).sets_active("g", True)
    assert scene.until(lambda: scene.admitted("g")) <= 0.05
    assert scene.says("g", "Evicted") == ("False", "QuotaReserved", f"Previously: {DEACTIVATED}")


def test_gated_pods_of_a_deactivated_workload_can_be_deleted() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    names = scene.group("g", 2, 2)
    scene.passes(2).sets_active("g", False)
    scene.passes(1).delete(*names)
    assert scene.until(lambda: scene.workloads() == ["holds"]) <= 0.12


def test_a_running_group_that_is_deactivated_holds_its_quota_until_its_last_pod_is_gone() -> None:
    scene = Scene()
    names = _victims(scene)
    scene.group("waits", 1, 8)
    scene.sets_active("victim", False)
    scene.until(lambda: scene.leaves(names[0]), within=0.3)
    assert scene.pod_says(names[0], "TerminationTarget") == ("True", "WorkloadEvictedDueToDeactivated", DEACTIVATED)
    scene.until(lambda: len(scene.pods()) == 2)
    assert scene.admitted("victim")
    assert not scene.admitted("waits")
    scene.until(lambda: scene.workloads() == ["waits"])
    scene.until(lambda: scene.admitted("waits"), within=1.5)


def test_nothing_in_kueue_remembers_that_a_running_group_was_deactivated() -> None:
    scene = Scene()
    _victims(scene)
    scene.sets_active("victim", False)
    scene.until(lambda: scene.workloads() == [])
    names = scene.group("victim", 2, 4, begin=2)
    scene.until(lambda: scene.running(*names))


def test_a_workload_set_aside_is_looked_at_within_a_second_of_quota_coming_back() -> None:
    scene = Scene()
    names = _victims(scene)
    scene.group("waits", 1, 8)
    scene.passes(2).delete(*names)
    scene.until(lambda: scene.workloads() == ["waits"])
    assert 0.9 <= scene.until(lambda: scene.admitted("waits")) <= 1.1


def test_a_workload_deactivated_before_its_pods_start_says_that_it_was_reactivated() -> None:
    scene = Scene()
    scene.group("g", 2)
    scene.until(lambda: scene.admitted("g"))
    scene.sets_active("g", False)
    scene.passes(1)
    assert scene.gates("g-0") == ["admission", "topology"]
    assert (scene.says("g", "Requeued") or ())[:2] == ("False", "Deactivated")
    scene.sets_active("g", True)
    scene.until(lambda: scene.admitted("g"), within=1)
    assert scene.said("g", "Requeued")[-1] == ("True", "Reactivated")


def test_evictions_are_counted_by_reason() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.group("g", 1)
    scene.passes(1).sets_active("g", False)
    scene.passes(1).sets_active("g", True)
    scene.delete("holds-0")
    scene.until(lambda: scene.running("g-0"))
    scene.sets_active("g", False)
    scene.passes(0.1)
    assert scene.workload("g")["status"]["schedulingStats"]["evictions"] == [{"count": 2, "reason": "Deactivated"}]


def test_a_group_that_is_not_ready_in_time_is_evicted() -> None:
    scene = Scene(options=KueueOptions(pods_ready_seconds=60))
    scene.plane.faults.add(Fault(image="x:*"))
    scene.group("g", 2)
    scene.until(lambda: scene.admitted("g"))
    took = scene.until(lambda: (scene.says("g", "Evicted") or ("",))[0] == "True")
    assert 59 <= took <= 61
    words = "Exceeded the PodsReady timeout t/g"
    assert scene.says("g", "Evicted") == ("True", "PodsReadyTimeout", words)
    scene.until(lambda: scene.pods() == [] and scene.workloads() == [], within=60)
    assert ("Normal", "Stopped", words) in scene.events("g-0")


def test_a_group_that_was_ready_has_as_long_to_recover() -> None:
    scene = Scene(options=KueueOptions(pods_ready_seconds=60))
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))
    scene.passes(300)
    assert scene.running(*names), "what is ready has all the time of the world"
    scene.delete("g-1")
    scene.until(lambda: scene.leaves("g-0"), within=65)
    assert (scene.says("g", "Evicted") or ())[:2] == ("True", "PodsReadyTimeout")
