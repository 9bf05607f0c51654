"""Pods in no group, with and without Kueue's finalizer (trials A, B, C)."""

from app.kube import kueue
from app.kube.hook import JSON
from tests.local.quota.scene import HIGH, LOW, Scene, a_pod


def _only(scene: Scene) -> str:
    (found,) = scene.workloads()
    return found


def a_plain_pod(title: str, group: str = "", size: int = 1, gpu: int = 1) -> JSON:
    """A Pod as a user writes it, with Kueue's finalizer."""
    pod = a_pod(title, group, size, gpu)
    del pod["metadata"]["annotations"][kueue.SUSPENDING]
    return pod


def test_the_workload_of_a_single_pod_is_named_after_it_and_controlled_by_it() -> None:
    scene = Scene().given(a_pod("p")).passes(1)
    title = _only(scene)
    pod = scene.pod("p")
    assert pod is not None
    assert title.startswith("pod-p-")
    assert len(title) == len("pod-p-12345")
    workload = scene.workload(title)
    assert workload["metadata"]["labels"] == {"kueue.x-k8s.io/job-uid": pod["metadata"]["uid"]}
    (owner,) = workload["metadata"]["ownerReferences"]
    assert owner["controller"] is True
    assert workload["spec"]["podSets"][0]["name"] == "main"


def test_a_gated_single_pod_that_is_deleted_leaves_nothing() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.passes(1).given(a_pod("p")).passes(1).delete("p")
    assert scene.pods() == ["holds-0"]
    assert scene.until(lambda: scene.workloads() == ["holds"]) <= 0.1


def test_a_running_single_pod_gives_its_quota_back_while_it_still_drains() -> None:
    scene = Scene().given(a_pod("p", gpu=8))
    scene.until(lambda: scene.running("p"))
    scene.group("waits", 1, 8)
    scene.passes(2)
    title = next(one for one in scene.workloads() if one != "waits")
    scene.delete("p")
    took = scene.until(lambda: (scene.says(title, "Finished") or ("",))[0] == "True")
    assert took <= 0.05
    assert (scene.says(title, "Finished") or ("", ""))[1] == "OwnerNotFound"
    scene.until(lambda: scene.admitted("waits"), within=1.5)
    assert scene.leaves("p"), "both hold the cards now"
    scene.until(lambda: scene.workloads() == ["waits"])


def test_a_preempted_single_pod_lets_the_preemptor_in_while_it_drains() -> None:
    scene = Scene().given(a_pod("p", gpu=8, priority=LOW))
    scene.until(lambda: scene.running("p"))
    title = _only(scene)
    scene.group("high", 1, 8, priority=HIGH)
    assert scene.until(lambda: scene.admitted("high")) <= 0.2
    assert scene.leaves("p")
    assert scene.said(title, "QuotaReserved") == [("True", "QuotaReserved"), ("False", "Pending")]
    assert scene.said(title, "Requeued") == [("False", "Preempted")]
    scene.passes(0.1)
    assert scene.said(title, "Finished") == [("True", "OwnerNotFound")]


def test_a_single_pod_that_ends_finishes_its_workload() -> None:
    scene = Scene().given(a_pod("p", spec={"restartPolicy": "Never"}))
    scene.until(lambda: scene.running("p"))
    scene.succeeds("p")
    scene.passes(1)
    assert (scene.says(_only(scene), "Finished") or ())[:2] == ("True", "Succeeded")
    other = Scene().given(a_pod("p"))
    other.until(lambda: other.running("p"))
    other.fails("p")
    other.passes(1)
    assert (other.says(_only(other), "Finished") or ())[:2] == ("True", "Failed")


def test_a_running_single_pod_that_is_deactivated_goes() -> None:
    scene = Scene().given(a_pod("p"))
    scene.until(lambda: scene.running("p"))
    scene.sets_active(_only(scene), False)
    scene.until(lambda: scene.leaves("p"), within=0.3)
    scene.until(lambda: scene.workloads() == [])


def test_a_workload_that_is_deleted_takes_its_single_pod_with_it() -> None:
    scene = Scene().given(a_plain_pod("p"))
    scene.until(lambda: scene.running("p"))
    scene.plane.delete("Workload.kueue.x-k8s.io/v1beta2", f"t/{_only(scene)}")
    scene.until(lambda: scene.pods() == [] and scene.workloads() == [])


def test_a_complete_gated_group_with_finalizers_is_stuck_until_its_workload_is_deleted() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.given(*(a_plain_pod(f"g-{index}", "g", 3) for index in range(3))).passes(1)
    scene.delete("g-0", "g-1", "g-2")
    scene.passes(60)
    assert all(scene.leaves(f"g-{index}") for index in range(3))
    assert (scene.says("g", "WaitingForReplacementPods") or ())[:2] == ("True", "PodsFailed")
    scene.plane.delete("Workload.kueue.x-k8s.io/v1beta2", "t/g")
    assert scene.until(lambda: scene.pods() == ["holds-0"]) <= 0.1


def test_a_gated_single_pod_with_the_finalizer_goes() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.given(a_plain_pod("p")).passes(1).delete("p")
    assert scene.until(lambda: scene.pods() == ["holds-0"]) <= 0.1
    scene.until(lambda: scene.workloads() == ["holds"], within=0.3)


def test_an_incomplete_group_with_finalizers_goes() -> None:
    scene = Scene()
    scene.given(a_plain_pod("g-0", "g", 2)).passes(1).delete("g-0")
    scene.until(lambda: scene.pods() == [], within=0.3)
