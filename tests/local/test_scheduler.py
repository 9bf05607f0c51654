"""Room on nodes: what fits where, the scheduler's words for what fits nowhere, and what happens when room appears."""

import pytest

from app.kube.hook import JSON
from app.local.plane import Plane
from app.local.podstatus import condition
from app.local.taints import patience, untolerated
from tests.local.scripted import pod
from tests.local.watched import EVEN, P, a_node, all_events, asking, the_pod


def _why(plane: Plane, title: str = "p") -> str:
    scheduled = condition(the_pod(plane, title), "PodScheduled")
    assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
    return str(scheduled["message"])


def _node(plane: Plane, title: str = "p") -> str:
    return str(the_pod(plane, title)["spec"].get("nodeName", ""))


def test_a_pod_that_fits_nowhere_waits_with_the_schedulers_words() -> None:
    with Plane(durations=EVEN, nodes=[a_node(f"n{number}", gpu=1) for number in range(3)]) as plane:
        plane.apply(pod("p", **asking(gpu=2)))
        plane.run_for(3600)
        assert _why(plane) == "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
        assert all_events(plane) == ["FailedScheduling"]


def test_it_is_bound_when_another_pod_leaves() -> None:
    with Plane(durations=EVEN, nodes=[a_node("only", gpu=2)]) as plane:
        plane.apply(pod("first", **asking(gpu=2)))
        plane.run_for(5)
        plane.apply(pod("p", **asking(gpu=1)))
        plane.run_for(60)
        assert _why(plane) == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        plane.delete("Pod.v1", "t/first")
        plane.run_for(3.5)
        assert _node(plane) == "", "the room is taken until the Pod is gone"
        plane.run_for(2)
        assert _node(plane) == "only"


def test_a_failed_pod_gives_its_room_away_at_once() -> None:
    with Plane(durations=EVEN, nodes=[a_node("only", gpu=1)]) as plane:
        plane.apply(pod("p", **asking(gpu=1)))
        plane.run_for(30)
        plane.apply(pod("next", **asking(gpu=1)))
        plane.run_for(30)
        plane.kubelet.evict(P, "memory")
        plane.run_for(2)
        assert _node(plane, "next") == "only"


def test_those_that_wait_are_bound_in_the_order_in_which_they_came() -> None:
    with Plane(durations=EVEN, nodes=[a_node("full", gpu=0)]) as plane:
        for title in ("z", "a", "m"):
            plane.apply(pod(title, **asking(gpu=1)))
            plane.run_for(5)
        plane.nodes.add(a_node("new", gpu=2))
        plane.run_for(5)
        assert [_node(plane, title) for title in ("z", "a", "m")] == ["new", "new", ""]


def test_every_reason_is_counted() -> None:
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    nodes = [
        a_node("tainted", gpu=8, taints=[taint]),
        a_node("small", gpu=8, cpu=2, memory="1Gi"),
        a_node("other", gpu=8, labels={"pool": "b"}),
        a_node("crowded", gpu=8, pods=0, labels={"pool": "a"}),
    ]
    with Plane(durations=EVEN, nodes=nodes) as plane:
        manifest = pod("p", **asking(gpu=1, cpu=4, memory="2Gi"))
        plane.store.update(_labelled(plane, "small", pool="a"))
        manifest["spec"]["nodeSelector"] = {"pool": "a"}
        plane.apply(manifest)
        plane.run_for(5)
        assert _why(plane) == (
            "0/4 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods, "
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."
        )


def _labelled(plane: Plane, title: str, **labels: str) -> JSON:
    """A node with labels that somebody gives it."""
    node = plane.get("Node.v1", title)
    assert node is not None
    node["metadata"]["labels"] |= labels
    return node


def test_a_cordoned_node_takes_nothing_new() -> None:
    with Plane(durations=EVEN, nodes=["only"]) as plane:
        node = plane.get("Node.v1", "only")
        assert node is not None
        plane.store.update({**node, "spec": {"unschedulable": True}})
        plane.apply(pod("p"))
        plane.run_for(10)
        assert _why(plane) == "0/1 nodes are available: 1 node(s) were unschedulable."
        node = plane.get("Node.v1", "only")
        assert node is not None
        plane.store.update({**node, "spec": {}})
        plane.run_for(5)
        assert _node(plane) == "only"


def test_without_nodes_nothing_is_scheduled() -> None:
    with Plane(durations=EVEN, nodes=[]) as plane:
        plane.apply(pod("p"))
        plane.run_for(10)
        assert _why(plane) == "no nodes available to schedule pods"


def test_a_node_without_allocatable_takes_any_pod() -> None:
    with Plane(durations=EVEN, nodes=["plain"]) as plane:
        manifest = pod("p", **asking(gpu=10_000))
        manifest["spec"]["nodeSelector"] = {"pool": "nowhere"}
        plane.apply(manifest)
        plane.run_for(5)
        assert _node(plane) == "plain"


def test_a_basic_resource_that_a_node_does_not_state_is_enough_and_a_device_is_not_there() -> None:
    with Plane(durations=EVEN, nodes=[a_node("some", memory="64Gi")]) as plane:
        plane.apply(pod("cpu", **asking(cpu=500, memory="64Gi")))
        plane.apply(pod("p", **asking(gpu=1)))
        plane.run_for(5)
        assert _node(plane, "cpu") == "some"
        assert "Insufficient nvidia.com/gpu" in _why(plane)


def test_quantities_are_added_exactly() -> None:
    with Plane(durations=EVEN, nodes=[a_node("only", cpu="300m")]) as plane:
        for title in ("a", "b", "c"):
            plane.apply(pod(title, **asking(cpu="100m")))
            plane.run_for(2)
        assert [_node(plane, title) for title in ("a", "b", "c")] == ["only"] * 3


def test_a_node_that_joins_again_counts_the_pods_it_still_has() -> None:
    with Plane(durations=EVEN, nodes=[a_node("only", gpu=1)]) as plane:
        plane.apply(pod("p", **asking(gpu=1)))
        plane.run_for(20)
        plane.store.delete(plane.discovery.kind("v1", "Node"), "", "only")
        plane.nodes.add(a_node("only", gpu=1))
        plane.apply(pod("next", **asking(gpu=1)))
        plane.run_for(5)
        assert "Insufficient nvidia.com/gpu" in _why(plane, "next")


TAINT: JSON = {"key": "k", "value": "v", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, True),
    ],
)
def test_a_toleration_matches_as_kubernetes_says(toleration: JSON, tolerates: bool) -> None:
    tolerant = {"spec": {"tolerations": [toleration]}}
    assert (untolerated(tolerant, [TAINT], ("NoExecute",)) == []) is tolerates


@pytest.mark.parametrize(
    ("seconds", "patient"), [([], 0), ([None], float("inf")), ([300], 300), ([300, 20], 20), ([0], 0), ([-1], 0)]
)
def test_a_pod_tolerates_for_the_shortest_of_its_times(seconds: list[int | None], patient: float) -> None:
    tolerations = [
        {"key": "k", "operator": "Exists", **({} if one is None else {"tolerationSeconds": one})} for one in seconds
    ]
    assert patience({"spec": {"tolerations": tolerations}}, [TAINT]) == patient
