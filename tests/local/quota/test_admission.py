"""Admission of our form of Pods: gates and marks, one Workload per group, and what is left when Pods go (trials A)."""

from app.kube import kueue
from app.local.values import finalizers, labels, mapping, meta
from tests.local.quota.scene import GPU, Scene, a_cluster_queue, a_flavor, a_local_queue, a_pod

BOTH = ["admission", "topology"]


def test_a_pod_of_our_form_is_gated_without_a_finalizer() -> None:
    scene = Scene().given(a_pod("p", "g"))
    pod = scene.pod("p")
    assert pod is not None
    assert scene.gates("p") == BOTH
    assert finalizers(pod) == []
    assert len(mapping(meta(pod)["annotations"])["kueue.x-k8s.io/role-hash"]) == 8


def test_admission_takes_the_gates_and_leaves_marks() -> None:
    scene = Scene()
    scene.group("g", 3)
    took = scene.until(lambda: scene.gates("g-0") == [])
    assert 0.05 <= took <= 0.17
    pod = scene.pod("g-0")
    assert pod is not None
    marks = {key.removeprefix(kueue.PREFIX): value for key, value in labels(pod).items()}
    role = mapping(meta(pod)["annotations"])["kueue.x-k8s.io/role-hash"]
    assert marks | {"cluster-queue-name": "cq", "local-queue-name": "lq", "podset": role} == marks
    assert mapping(meta(pod)["annotations"])["kueue.x-k8s.io/workload"] == "g"


def test_a_group_is_one_workload_of_its_name_owned_by_all_members_and_controlled_by_none() -> None:
    scene = Scene()
    names = scene.group("g", 3)
    took = scene.until(lambda: scene.workloads())
    assert 0.03 <= took <= 0.05
    workload = scene.workload("g")
    assert meta(workload)["annotations"] == {"kueue.x-k8s.io/is-group-workload": "true"}
    assert labels(workload) == {}
    owners = meta(workload)["ownerReferences"]
    assert [one["name"] for one in owners] == names
    assert not any("controller" in one for one in owners)
    assert finalizers(workload) == ["kueue.x-k8s.io/resource-in-use"]
    assert workload["spec"]["active"] is True


def test_members_of_two_shapes_are_two_sets_of_pods() -> None:
    scene = Scene()
    scene.given(a_pod("leader", "g", 3, 2), a_pod("w-1", "g", 3, 1), a_pod("w-2", "g", 3, 1)).passes(1)
    sets = scene.workload("g")["spec"]["podSets"]
    assert sorted(one["count"] for one in sets) == [1, 2]
    assert [one["name"] for one in sets] == sorted(one["name"] for one in sets)
    assignments = scene.workload("g")["status"]["admission"]["podSetAssignments"]
    assert sorted(one["resourceUsage"][GPU] for one in assignments) == ["2", "2"]


def test_a_group_that_lacks_a_member_has_no_workload_and_says_so() -> None:
    scene = Scene()
    scene.given(a_pod("g-0", "g", 3), a_pod("g-1", "g", 3)).passes(5)
    assert scene.workloads() == []
    assert scene.gates("g-0") == BOTH
    complaint = ("Warning", "ErrWorkloadCompose", "'g' group has fewer runnable pods than expected")
    assert complaint in scene.events("g-0")
    scene.delete("g-0", "g-1")
    assert scene.pods() == [], "what nobody ever ran goes at once"


def test_members_that_name_two_queues_make_no_workload() -> None:
    scene = Scene(a_flavor(), a_cluster_queue(), a_local_queue(), a_local_queue("other"))
    scene.given(a_pod("g-0", "g", 2), a_pod("g-1", "g", 2, queue="other")).passes(5)
    assert scene.workloads() == []


def test_a_gated_group_that_is_deleted_leaves_nothing() -> None:
    scene = Scene()
    names = scene.group("g", 3, gpu=4)
    scene.passes(1)
    assert scene.says("g", "QuotaReserved") is not None
    scene.delete(*names)
    assert scene.pods() == []
    assert scene.until(lambda: scene.workloads() == []) <= 0.12


def test_a_running_group_holds_its_quota_until_the_last_pod_is_gone() -> None:
    scene = Scene()
    names = scene.group("g", 3, gpu=2)
    scene.until(lambda: scene.running(*names))
    scene.passes(2)
    assert scene.used() == "6"
    scene.delete(*names)
    scene.passes(0.3)
    assert scene.pods() == names, "they drain"
    scene.until(lambda: len(scene.pods()) == 1)
    assert scene.admitted("g")
    assert scene.says("g", "WaitingForReplacementPods") == (
        "True",
        "PodsFailed",
        "Some Failed pods need replacement",
    )
    assert (scene.says("g", "PodsReady") or ())[:2] == ("False", "WaitForRecovery")
    scene.until(lambda: scene.pods() == [])
    assert 0.05 < scene.until(lambda: scene.workloads() == []) <= 0.12
    assert scene.passes(1.5).used() == "0"


def test_a_running_group_keeps_all_its_quota_when_one_member_is_lost() -> None:
    scene = Scene()
    names = scene.group("g", 3, gpu=2)
    scene.until(lambda: scene.running(*names))
    scene.passes(2).delete("g-1")
    scene.passes(30)
    assert scene.pods() == ["g-0", "g-2"], "nobody stops the others"
    assert scene.admitted("g")
    assert scene.used() == "6"
    assert (scene.says("g", "WaitingForReplacementPods") or ())[:2] == ("True", "PodsFailed")
    assert (scene.says("g", "PodsReady") or ())[:2] == ("False", "WaitForRecovery")
    scene.delete("g-0", "g-2")
    scene.until(lambda: scene.workloads() == [])
    assert scene.passes(1.5).used() == "0"


def test_usage_shows_a_second_late_and_the_workload_at_once() -> None:
    scene = Scene()
    scene.group("g", 1)
    scene.until(lambda: scene.workloads() and scene.admitted("g"))
    assert scene.passes(0.5).used() == "0"
    assert scene.passes(0.6).used() == "1"


def test_a_group_whose_pods_have_failed_gives_its_quota_back_and_its_workload_stays_with_them() -> None:
    scene = Scene()
    scene.group("g", 1, gpu=8)
    scene.until(lambda: scene.running("g-0"))
    scene.group("waits", 1, gpu=8)
    scene.passes(2).fails("g-0")
    assert scene.until(lambda: scene.admitted("waits")) <= 1.5
    assert scene.says("g", "Finished") == ("True", "Succeeded", "Pods succeeded: 0/1.")
    scene.delete("g-0")
    scene.until(lambda: scene.workloads() == ["waits"], within=1)


def test_a_group_of_several_with_one_failed_member_waits_for_another() -> None:
    scene = Scene()
    names = scene.group("g", 2, gpu=4)
    scene.until(lambda: scene.running(*names))
    scene.fails("g-1")
    scene.passes(5)
    assert scene.admitted("g")
    assert (scene.says("g", "WaitingForReplacementPods") or ())[:2] == ("True", "PodsFailed")


def test_somebody_elses_workload_of_the_groups_name_keeps_the_group_gated() -> None:
    scene = Scene()
    scene.given(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "g", "namespace": "t"},
            "spec": {"podSets": [], "queueName": "lq", "active": False},
        }
    )
    scene.group("g", 1)
    scene.passes(5)
    assert scene.gates("g-0") == BOTH
    assert scene.events("g-0")[-1][1] == "WorkloadNameConflict"
    scene.delete("g-0")
    assert scene.passes(5).workloads() == ["g"], "it is not ours to delete"


def test_a_workload_that_is_deleted_takes_its_pods_with_it() -> None:
    scene = Scene()
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))
    scene.plane.delete("Workload.kueue.x-k8s.io/v1beta2", "t/g")
    scene.until(lambda: scene.workloads() == [], within=1)
    assert scene.pod_says("g-0", "TerminationTarget") == ("True", "WorkloadDeleted", "Workload is deleted")
    scene.until(lambda: scene.pods() == [])
