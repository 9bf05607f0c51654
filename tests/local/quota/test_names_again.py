"""The same group name again, and members that are replaced (trials E)."""

from tests.local.quota.scene import Scene, a_pod


def _draining(scene: Scene) -> list[str]:
    """A running group of two, all members on their way out."""
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))
    scene.delete(*names)
    scene.passes(0.2)
    assert all(scene.leaves(one) for one in names)
    return names


def test_pods_made_into_a_draining_group_are_deleted_at_once() -> None:
    scene = Scene()
    _draining(scene)
    scene.group("g", 2, begin=2)
    assert scene.until(lambda: scene.pods() == ["g-0", "g-1"]) <= 0.1
    assert ("Normal", "ExcessPodDeleted", "Excess pod deleted") in scene.events("g-2")
    assert ("Normal", "ExcessPodDeleted", "Excess pod deleted") in scene.events("g-3")


def test_pods_made_in_the_moment_in_which_the_last_one_goes_die_with_the_old_workload() -> None:
    scene = Scene()
    _draining(scene)
    scene.until(lambda: scene.pods() == [])
    scene.passes(0.004)
    scene.group("g", 2, begin=2)
    assert 0.05 <= scene.until(lambda: scene.pods() == []) <= 0.12
    reasons = [reason for _, reason, _ in scene.events("g-2")]
    assert ("Normal", "Stopped", "Workload is deleted") in scene.events("g-2")
    assert "Started" not in reasons, "they never lost their gates"
    assert ("Normal", "OwnerReferencesAdded", "Added 2 owner reference(s)") in scene.events("g")
    assert scene.passes(1).workloads() == []


def test_a_group_of_that_name_is_fine_once_the_old_workload_is_gone() -> None:
    scene = Scene()
    _draining(scene)
    scene.until(lambda: scene.workloads() == [])
    names = scene.group("g", 2, begin=2)
    scene.until(lambda: scene.running(*names))


def test_another_group_name_is_not_disturbed_by_a_draining_one() -> None:
    scene = Scene()
    _draining(scene)
    scene.group("h", 2)
    assert scene.until(lambda: scene.gates("h-0") == []) <= 0.2


def test_a_member_of_the_same_shape_takes_the_place_of_one_that_is_gone() -> None:
    scene = Scene()
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))
    scene.passes(60).delete("g-1")
    scene.until(lambda: scene.pods() == ["g-0"])
    scene.passes(1).given(a_pod("g-9", "g", 2))
    assert scene.until(lambda: scene.gates("g-9") == []) <= 0.3
    scene.until(lambda: scene.running("g-9"))
    scene.passes(60)
    assert (scene.says("g", "WaitingForReplacementPods") or ())[:2] == ("False", "PodsReady")
    assert (scene.says("g", "PodsReady") or ())[:2] == ("True", "Recovered")
    owners = {one["name"] for one in scene.workload("g")["metadata"]["ownerReferences"]}
    assert owners == {"g-0", "g-9"}


def test_a_member_of_another_shape_stays_gated_for_ever() -> None:
    scene = Scene()
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))
    scene.delete("g-1")
    scene.until(lambda: scene.pods() == ["g-0"])
    scene.given(a_pod("g-9", "g", 2, gpu=2)).passes(300)
    assert scene.gates("g-9") == ["admission", "topology"]
    assert scene.running("g-0")


def test_a_replacement_is_deleted_while_the_old_member_still_drains() -> None:
    scene = Scene()
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))
    scene.delete("g-1")
    scene.passes(0.2).given(a_pod("g-9", "g", 2))
    assert scene.until(lambda: scene.pods() == names) <= 0.1
    assert ("Normal", "ExcessPodDeleted", "Excess pod deleted") in scene.events("g-9")


def test_a_member_lost_while_pending_is_waited_for_and_replaced() -> None:
    scene = Scene()
    scene.group("holds", 1, gpu=8)
    names = scene.group("g", 2)
    scene.passes(2).delete("g-1")
    scene.delete("holds-0")
    scene.passes(10)
    assert not scene.admitted("g"), "a group that lacks a member is given nothing"
    assert scene.gates(names[0]) == ["admission", "topology"]
    scene.given(a_pod("g-9", "g", 2))
    scene.until(lambda: scene.admitted("g"), within=2)


def test_when_only_another_shape_is_left_the_group_asks_anew() -> None:
    scene = Scene()
    names = scene.group("g", 1, gpu=4)
    scene.until(lambda: scene.running(*names))
    before = scene.workload("g")["metadata"]["uid"]
    scene.given(a_pod("g-9", "g", 1, gpu=2)).passes(1).delete("g-0")
    scene.until(lambda: scene.running("g-9"))
    assert scene.workload("g")["metadata"]["uid"] != before


def test_a_pod_whose_gate_somebody_took_off_is_stopped() -> None:
    scene = Scene()
    scene.group("holds", 1, gpu=8)
    scene.group("g", 1)
    pod = scene.passes(1).pod("g-0")
    assert pod is not None
    pod["spec"]["schedulingGates"] = []
    scene.plane.store.update(pod)
    scene.until(lambda: "g-0" not in scene.pods())
    assert ("Normal", "Stopped", "Not admitted by cluster queue") in scene.events("g-0")
