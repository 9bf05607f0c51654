"""Nodes that fall silent, come back, are tainted or removed, and what the control plane does to their Pods."""

from collections.abc import Iterator

import pytest

from app.kube.hook import JSON
from app.local.disruptions import EVICTION, disrupt
from app.local.errors import NotFound
from app.local.plane import Plane
from app.local.podstatus import condition
from tests.local.scripted import pod
from tests.local.watched import EVEN, a_node, all_events, the_condition, the_container, the_pod


@pytest.fixture
def plane() -> Iterator[Plane]:
    with Plane(durations=EVEN, nodes=["only"]) as plane:
        plane.apply(pod("p"))
        plane.run_for(20)
        yield plane


def _node(plane: Plane) -> JSON:
    found = plane.get("Node.v1", "only")
    assert found is not None
    return found


def _gone(plane: Plane) -> bool:
    return plane.get("Pod.v1", "t/p") is None


def test_a_node_is_unknown_after_fifty_seconds_and_its_pods_are_not_ready(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.run_for(49)
    assert condition(_node(plane), "Ready")["status"] == "True"
    assert the_condition(plane, "Ready")[0] == "True"
    plane.run_for(2)
    ready = condition(_node(plane), "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert ready["message"] == "Kubelet stopped posting node status."
    assert the_condition(plane, "Ready") == ("False", 70)
    assert the_condition(plane, "ContainersReady")[0] == "True", "only the kubelet could say otherwise"
    taints = {(one["key"], one["effect"]) for one in _node(plane)["spec"]["taints"]}
    unreachable = "node.kubernetes.io/unreachable"
    assert taints == {(unreachable, "NoSchedule"), (unreachable, "NoExecute")}
    assert all_events(plane) == ["NodeNotReady"]


def test_its_pods_are_deleted_after_five_minutes_and_stay_terminating_for_ever(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.run_for(349)
    assert "deletionTimestamp" not in the_pod(plane)["metadata"]
    plane.run_for(2)
    assert "deletionTimestamp" in the_pod(plane)["metadata"]
    target = condition(the_pod(plane), "DisruptionTarget")
    assert (target["reason"], target["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    plane.run_for(7 * 24 * 3600)
    assert not _gone(plane)


def test_a_pod_may_tolerate_a_lost_node_for_less_or_for_ever(plane: Plane) -> None:
    for title, seconds in (("hasty", {"tolerationSeconds": 10}), ("patient", {})):
        manifest = pod(title)
        manifest["spec"]["tolerations"] = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", **seconds}]
        plane.apply(manifest)
    plane.run_for(20)
    plane.nodes.kill("only")
    plane.run_for(70)
    leaving = [title for title in ("p", "hasty", "patient") if "deletionTimestamp" in the_pod(plane, title)["metadata"]]
    assert leaving == ["hasty"]
    plane.run_for(24 * 3600)
    assert "deletionTimestamp" not in the_pod(plane, "patient")["metadata"]


def test_a_node_that_returns_in_time_keeps_its_pods_which_start_anew(plane: Plane) -> None:
    address = the_pod(plane)["status"]["podIP"]
    plane.nodes.kill("only")
    plane.run_for(200)
    plane.nodes.restore("only")
    plane.run_for(3600)
    assert "deletionTimestamp" not in the_pod(plane)["metadata"]
    assert the_condition(plane, "Ready")[0] == "True"
    assert the_container(plane)["restartCount"] == 1
    assert the_container(plane)["lastState"]["terminated"]["reason"] == "Unknown"
    assert the_pod(plane)["status"]["podIP"] != address
    assert condition(_node(plane), "Ready")["status"] == "True"
    assert "taints" not in _node(plane)["spec"]


def test_a_node_that_returns_late_lets_its_terminating_pods_go(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.run_for(3600)
    plane.nodes.restore("only")
    plane.run_for(2)
    assert _gone(plane)


def test_a_short_silence_is_not_noticed_but_costs_the_processes(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.run_for(30)
    plane.nodes.restore("only")
    plane.run_for(120)
    assert all_events(plane, "only") == []
    assert the_container(plane)["restartCount"] == 1


def test_a_pod_bound_to_a_silent_node_starts_when_it_returns(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.apply(pod("late"))
    plane.run_for(30)
    assert the_pod(plane, "late")["spec"]["nodeName"] == "only", "nobody knows yet"
    assert "containerStatuses" not in the_pod(plane, "late")["status"]
    plane.nodes.restore("only")
    plane.run_for(30)
    assert the_condition(plane, "Ready", "late")[0] == "True"


def test_nothing_happens_on_a_node_that_is_down(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.delete("Pod.v1", "t/p")
    plane.run_for(120)
    assert not _gone(plane), "no kubelet ends it"


def test_a_removed_nodes_pods_are_collected_after_forty_seconds(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.run_for(3600)
    plane.nodes.remove("only")
    plane.run_for(39)
    assert not _gone(plane)
    plane.run_for(2)
    assert _gone(plane)


def test_a_node_removed_while_its_pods_live_fails_them_first(plane: Plane) -> None:
    seen: list[tuple[str, str]] = []

    def watch(change: object) -> None:
        obj = getattr(change, "new", {})
        if obj.get("kind") == "Pod":
            seen.append((obj["status"]["phase"], condition(obj, "DisruptionTarget").get("reason", "")))

    plane.store.watch(watch)
    plane.nodes.remove("only")
    plane.run_for(60)
    assert _gone(plane)
    assert ("Failed", "DeletionByPodGC") in seen


def test_a_node_that_joins_again_under_its_name_in_time_keeps_its_pods(plane: Plane) -> None:
    plane.nodes.remove("only")
    plane.run_for(10)
    plane.nodes.add(a_node("only"))
    plane.run_for(120)
    assert the_condition(plane, "Ready")[0] == "True"


def test_out_of_service_frees_the_terminating_pods_of_a_silent_node(plane: Plane) -> None:
    plane.nodes.kill("only")
    plane.run_for(600)
    node = _node(plane)
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    node["spec"]["taints"].append(taint)
    plane.store.update(node)
    plane.run_for(25)
    assert _gone(plane)


def test_a_no_execute_taint_evicts_with_the_grace_of_the_pod(plane: Plane) -> None:
    node = _node(plane)
    node["spec"]["taints"] = [{"key": "drain", "effect": "NoExecute"}]
    plane.store.update(node)
    plane.run_for(1)
    assert condition(the_pod(plane), "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    plane.run_for(5)
    assert _gone(plane)


def test_the_eviction_api_marks_the_pod_and_lets_it_drain(plane: Plane) -> None:
    disrupt(plane.store, plane.clock, the_pod(plane), EVICTION)
    target = condition(the_pod(plane), "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    plane.run_for(2.5)
    version = the_pod(plane)["metadata"]["resourceVersion"]
    disrupt(plane.store, plane.clock, the_pod(plane), EVICTION)
    assert the_pod(plane)["metadata"]["resourceVersion"] == version, "it leaves already"
    plane.run_for(1)
    assert _gone(plane)


@pytest.mark.parametrize("act", ["kill", "restore", "remove"])
def test_a_node_that_is_not_there_is_named_with_those_that_are(plane: Plane, act: str) -> None:
    with pytest.raises(NotFound, match='nodes "nope" not found: there are only'):
        getattr(plane.nodes, act)("nope")


def test_a_node_joins_with_what_its_kubelet_reports() -> None:
    with Plane(nodes=[a_node("big", gpu=8, labels={"pool": "h100"})]) as plane:
        node = plane.get("Node.v1", "big")
        assert node is not None
        assert node["metadata"]["labels"] == {"kubernetes.io/hostname": "big", "pool": "h100"}
        assert node["status"]["allocatable"] == {"nvidia.com/gpu": 8}
        assert condition(node, "Ready")["status"] == "True"
        assert condition(node, "MemoryPressure")["status"] == "False"
        assert plane.nodes.silent == []
        plane.nodes.kill("big")
        assert plane.nodes.silent == ["big"]
