"""What a person reads of a queue: is it open, who waits, and what is used."""

from typing import Any

from app.kube.hook import JSON
from tests.local.quota.scene import GPU, Scene, a_cluster_queue, a_flavor, a_local_queue

V = "kueue.x-k8s.io/v1beta2"


def _status(scene: Scene, kind: str, title: str) -> JSON:
    found = scene.plane.get(f"{kind}.{V}", title)
    assert found is not None
    status: JSON = found["status"]
    return status


def _active(scene: Scene, kind: str, title: str) -> tuple[Any, ...]:
    (found,) = _status(scene, kind, title)["conditions"]
    return found["type"], found["status"], found["reason"], found["message"]


def test_an_open_queue_says_so() -> None:
    scene = Scene()
    assert _active(scene, "ClusterQueue", "cq") == ("Active", "True", "Ready", "Can admit new workloads")
    assert _active(scene, "LocalQueue", "t/lq") == ("Active", "True", "Ready", "Can submit new workloads to localQueue")


def test_a_closed_queue_says_why() -> None:
    scene = Scene(a_local_queue(), a_local_queue("held", stopPolicy="Hold"))
    assert _active(scene, "LocalQueue", "t/lq")[2] == "ClusterQueueDoesNotExist"
    assert _active(scene, "LocalQueue", "t/held")[2:] == ("Stopped", "LocalQueue is stopped")
    scene.given(a_flavor(), a_cluster_queue(stopPolicy="Hold")).passes(1)
    assert _active(scene, "LocalQueue", "t/lq")[2] == "ClusterQueueIsInactive"
    assert _active(scene, "ClusterQueue", "cq")[2:] == ("Stopped", "Can't admit new workloads: is stopped.")


def test_who_holds_and_who_waits_is_counted_by_cluster_queue_and_by_local_queue() -> None:
    scene = Scene(a_flavor(), a_cluster_queue(), a_local_queue(), a_local_queue("other"))
    scene.group("a", 1, 4)
    scene.group("b", 1, 3, queue="other")
    scene.passes(1).group("c", 1, 4, queue="other")
    scene.passes(3)
    both = _status(scene, "ClusterQueue", "cq")
    assert (both["pendingWorkloads"], both["reservingWorkloads"], both["admittedWorkloads"]) == (1, 2, 2)
    assert both["flavorsUsage"] == [
        {"name": "default-flavor", "resources": [{"name": GPU, "total": "7", "borrowed": "0"}]}
    ]
    assert both["flavorsReservation"] == both["flavorsUsage"]
    other = _status(scene, "LocalQueue", "t/other")
    assert (other["pendingWorkloads"], other["reservingWorkloads"]) == (1, 1)
    assert other["flavorsUsage"] == [{"name": "default-flavor", "resources": [{"name": GPU, "total": "3"}]}]
