"""Topologies: a group gets one domain, or is told how little of it fits."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.quota.options import KueueOptions
from tests.local.quota.scene import GPU, Scene, a_cluster_queue, a_flavor, a_local_queue, a_pod

V = "kueue.x-k8s.io/v1beta2"
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"
TOPOLOGY: JSON = {
    "apiVersion": V,
    "kind": "Topology",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]},
}


def a_node(title: str, rack: str, gpu: int = 4, **spec: Any) -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": title, "labels": {RACK: rack, "card": "h100"}},
        "spec": spec,
        "status": {"allocatable": {GPU: str(gpu), "pods": "100"}},
    }


NODES = [a_node("a-1", "a"), a_node("a-2", "a"), a_node("b-1", "b"), a_node("b-2", "b", 2)]


def _scene(quota: int = 100, nodes: list[JSON] | None = None, granular: bool = False, **flavor: Any) -> Scene:
    spec = {"nodeLabels": {"card": "h100"}, "topologyName": "racks", **flavor}
    return Scene(
        TOPOLOGY,
        a_flavor(**spec),
        a_cluster_queue(flavors={"default-flavor": quota}),
        a_local_queue(),
        nodes=nodes or NODES,
        options=KueueOptions(granular=granular),
    )


def _group(scene: Scene, title: str, size: int, gpu: int, level: str = RACK) -> list[str]:
    asks = {"kueue.x-k8s.io/podset-required-topology": level}
    return scene.group(title, size, gpu, annotations=asks)


def _nodes(scene: Scene, names: list[str]) -> list[str]:
    pods = [scene.pod(one) for one in names]
    return sorted(pod["spec"]["nodeName"] for pod in pods if pod)


def test_all_pods_of_a_group_land_in_one_domain_the_tightest_that_fits() -> None:
    scene = _scene()
    names = _group(scene, "g", 3, 2)
    scene.until(lambda: scene.running(*names))
    assert _nodes(scene, names) == ["b-1", "b-1", "b-2"]
    assignment = scene.workload("g")["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    assert assignment["levels"] == [HOST]
    assert assignment["slices"][0]["podCounts"] == {"individual": [2, 1]}


def test_what_is_placed_counts_before_its_pods_are_bound() -> None:
    scene = _scene()
    first, second = _group(scene, "g", 3, 2), _group(scene, "h", 4, 2)
    scene.until(lambda: scene.running(*first, *second))
    assert _nodes(scene, second) == ["a-1", "a-1", "a-2", "a-2"]
    _group(scene, "late", 1, 2, HOST)
    scene.passes(2)
    assert not scene.admitted("late")


@pytest.mark.parametrize("granular", [False, True], ids=["legacy", "granular"])
def test_a_group_that_fits_nowhere_is_told_how_much_of_it_would(granular: bool) -> None:
    scene = _scene(granular=granular)
    _group(scene, "g", 3, 4)
    scene.passes(1)
    role = scene.workload("g")["spec"]["podSets"][0]["name"]
    assert scene.says("g", "QuotaReserved") == (
        "False",
        "TopologyPlacementFailed" if granular else "Pending",
        f'couldn\'t assign flavors to pod set {role}: topology "racks" allows to fit only 2 out of 3 pod(s). Total '
        'nodes: 4; excluded: resource "nvidia.com/gpu": 1',
    )
    _group(scene, "h", 1, 8)
    scene.passes(1)
    assert (
        'topology "racks" doesn\'t allow to fit any of 1 pod(s)'
        in (scene.says("h", "QuotaReserved") or ("", "", ""))[2]
    )


def test_a_node_that_joins_makes_room() -> None:
    scene = _scene()
    names = _group(scene, "g", 3, 4)
    scene.passes(2).plane.nodes.add(a_node("a-3", "a"))
    scene.until(lambda: scene.running(*names))
    assert _nodes(scene, names) == ["a-1", "a-2", "a-3"]


def test_nodes_that_take_nobody_and_other_peoples_pods_are_no_room() -> None:
    cordoned = a_node("a-1", "a", unschedulable=True)
    tainted = a_node("a-2", "a", taints=[{"key": "x", "effect": "NoSchedule"}])
    scene = _scene(nodes=[cordoned, tainted, a_node("b-1", "b")])
    other = a_pod("other")
    other["metadata"] = {"name": "other", "namespace": "t"}
    scene.given(other).until(lambda: scene.running("other"))
    _group(scene, "g", 1, 4, HOST)
    scene.passes(1)
    assert not scene.admitted("g")
    scene.delete("other")
    scene.until(lambda: not scene.pods() or scene.pods() == ["g-0"])
    _group(scene, "h", 1, 3, HOST)
    scene.until(lambda: scene.running("h-0"))


def test_a_replaced_member_takes_the_place_of_the_lost_one() -> None:
    scene = _scene()
    names = _group(scene, "g", 2, 4)
    scene.until(lambda: scene.running(*names))
    where = _nodes(scene, names)
    scene.delete("g-1")
    scene.until(lambda: scene.pods() == ["g-0"])
    pod = a_pod("g-1", "g", 2, 4, annotations={"kueue.x-k8s.io/podset-required-topology": RACK})
    scene.passes(1).given(pod).until(lambda: scene.running("g-1"))
    assert _nodes(scene, names) == where


def test_a_flavor_without_that_topology_or_level_is_told() -> None:
    scene = Scene()
    _group(scene, "g", 1, 1)
    scene.passes(1)
    words = 'Flavor "default-flavor" does not support TopologyAwareScheduling'
    assert (scene.says("g", "QuotaReserved") or ("", "", ""))[2].endswith(words)
    other = _scene()
    _group(other, "g", 1, 1, "example.com/block")
    other.passes(1)
    words = 'Flavor "default-flavor" does not contain the requested level'
    assert (other.says("g", "QuotaReserved") or ("", "", ""))[2].endswith(words)


def test_a_pod_that_asks_for_no_topology_is_placed_anywhere_where_all_flavors_have_one() -> None:
    scene = _scene()
    names = scene.group("g", 4, 2)
    scene.until(lambda: scene.running(*names))
    mixed = Scene(
        TOPOLOGY,
        a_flavor("placed", topologyName="racks"),
        a_flavor("plain"),
        a_cluster_queue(flavors={"placed": 8, "plain": 8}),
        a_local_queue(),
        nodes=NODES,
    )
    mixed.group("g", 1)
    mixed.passes(1)
    assert mixed.workload("g")["status"]["admission"]["podSetAssignments"][0]["flavors"] == {GPU: "plain"}


def test_a_topology_that_does_not_exist_makes_the_queue_inactive() -> None:
    scene = Scene(a_flavor(topologyName="nope"), a_cluster_queue(), a_local_queue())
    active = scene.plane.get(f"ClusterQueue.{V}", "cq")["status"]["conditions"][0]  # type: ignore[index]
    assert (active["status"], active["reason"]) == ("False", "TopologyNotFound")


def test_a_domain_of_several_nodes_counts_their_room_together() -> None:
    topology = {**TOPOLOGY, "spec": {"levels": [{"nodeLabel": RACK}]}}
    scene = Scene(
        topology,
        a_flavor(topologyName="racks"),
        a_cluster_queue(flavors={"default-flavor": 100}),
        a_local_queue(),
        nodes=NODES,
    )
    names = _group(scene, "g", 4, 2)
    scene.until(lambda: scene.running(*names))
    assert {node[0] for node in _nodes(scene, names)} == {"a"}
    assignment = scene.workload("g")["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    assert assignment["levels"] == [RACK]
