"""Worlds in which a node, or what runs on it, is lost."""

from app.kube import names
from app.local.disruptions import EVICTION, PREEMPTION, disrupt
from app.local.faults import Ending, Fault
from app.local.podstatus import Words
from tests.worlds.story import HOUR, MINUTE, Story, a_deployment, role, world


def _three_on_three(story: Story) -> dict[str, str]:
    """Three replicas, one on each node, all serving."""
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    assert len({story.node_of("server", ordinal) for ordinal in range(3)}) == 3
    return story.uids()


@world()
def test_a_node_is_lost_and_comes_back(story: Story) -> None:
    """Expected: the replica counts as not ready once the node is missed, and the other two are not touched.

    Its Pod is marked for deletion after five minutes and cannot go, so its seat stays occupied: no replacement yet.
    When the node answers, the old Pod goes, a new one is made in its seat, and all is Ready again.
    """
    before = _three_on_three(story)
    lost = story.node_of("server", 1)
    story.plane.nodes.kill(lost)
    story.passes(30)
    assert story.phase() == ("Ready", "3/3"), "nobody can know yet"
    story.passes(30)
    assert story.phase() == ("Degraded", "2/3")
    story.passes(6 * MINUTE)
    pods = story.pods()
    assert set(pods) == set(before), "it is terminating, and holds its seat"
    assert len(story.uids()) == 2
    assert story.says("ReplicasUpToDate") == ("False", "ReplacementInProgress")
    assert story.interruptions() == [("Evicted", "1", 0)]
    story.plane.nodes.restore(lost)
    story.until_ready(within=10 * MINUTE)
    after = story.uids()
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {names.seat("qwen", "server", 1)}


@world()
def test_a_node_is_lost_for_a_few_minutes(story: Story) -> None:
    """Expected: a node that comes back before the five minutes are over keeps its Pods; the engine loads anew.

    Nothing is deleted or made: the replica is the same Pod, restarted once.
    """
    before = _three_on_three(story)
    story.plane.nodes.kill(story.node_of("server", 1))
    story.passes(3 * MINUTE)
    assert story.phase() == ("Degraded", "2/3")
    story.plane.nodes.restore(story.node_of("server", 1))
    story.until_ready(within=5 * MINUTE)
    assert story.uids() == before
    assert story.pod("server", 1)["status"]["containerStatuses"][0]["restartCount"] == 1  # type: ignore[index]


@world()
def test_a_node_never_answers_again(story: Story) -> None:
    """Expected: Degraded 2/3 for as long as nobody decides that the node is gone. The others serve untouched.

    Once somebody removes the Node, its Pod goes, and the seat is filled elsewhere.
    """
    before = _three_on_three(story)
    lost = story.node_of("server", 2)
    story.plane.nodes.kill(lost)
    story.passes(24 * HOUR)
    assert story.phase() == ("Degraded", "2/3")
    assert set(story.pods()) == set(before)
    assert story.uids().items() < before.items()
    story.plane.nodes.remove(lost)
    story.until_ready(within=5 * MINUTE)
    assert story.node_of("server", 2) != lost


@world()
def test_an_edit_meets_a_node_that_never_answers(story: Story) -> None:
    """Expected: the rollout waits, for a serving replica is not taken while another does not serve.

    The condition names the replica, the node, and what to do. When the node is removed the rollout goes through.
    """
    before = _three_on_three(story)
    lost = story.node_of("server", 0)
    story.plane.nodes.kill(lost)
    story.passes(10 * MINUTE)
    story.edited(lambda spec: spec["engine"].update(version="0.12.1")).passes(HOUR)
    assert len(story.uids().items() & before.items()) == 2, "two serve, and stay"
    words = story.words("ReplicasUpToDate")
    assert "replica 0 of role server holds the gate" in words
    assert f"node {lost}; remove or taint that node" in words
    story.plane.nodes.remove(lost)
    story.when(story.is_ready, lambda: story.status()["readyReplicas"] >= 2, within=HOUR)
    assert not set(story.uids().values()) & set(before.values())


@world()
def test_the_kubelet_evicts_a_pod(story: Story) -> None:
    """Expected: remembered as Evicted, let go, and made again after ten seconds; a second time after twenty.

    What caused it may still be there, so the delay grows with each failure in a row. The other replica is not touched.
    After ten minutes of serving the failures are forgotten.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    other = story.uids()[names.seat("qwen", "server", 1)]
    for attempt, delay in ((1, 10), (2, 20)):
        story.plane.kubelet.evict(story.seat("server", 0), "memory")
        evicted = story.now
        story.until(lambda: story.pod("server", 0) is None, within=MINUTE)
        assert story.interruptions() == [("Evicted", "0", attempt)]
        assert story.phase() == ("Degraded", "1/2")
        story.until(lambda: story.pod("server", 0) is not None, within=MINUTE)
        assert delay <= story.now - evicted <= delay + 3
        story.until_ready(within=5 * MINUTE)
    assert story.uids()[names.seat("qwen", "server", 1)] == other
    story.passes(21 * MINUTE)
    assert story.interruptions() == []
    assert story.phase() == ("Ready", "2/2")


@world()
def test_a_pod_is_evicted_by_the_api_and_another_preempted(story: Story) -> None:
    """Expected: both leave with their grace and are made again at once, in their seats; who took them is remembered."""
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    before = story.uids()
    for ordinal, why in ((0, EVICTION), (1, PREEMPTION)):
        pod = story.pod("server", ordinal)
        assert pod is not None
        disrupt(story.plane.store, story.plane.clock, pod, why)
    story.passes(1)
    assert sorted(story.interruptions()) == [("Evicted", "0", 0), ("Preempted", "1", 0)]
    story.until_ready(within=5 * MINUTE)
    after = story.uids()
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {names.seat("qwen", "server", 0), names.seat("qwen", "server", 1)}


@world()
def test_a_nodes_devices_are_gone(story: Story) -> None:
    """Expected: a Pod that its node refuses is a failed replica: made again with a growing delay, and the node named.

    Once the devices are back it is Ready.
    """
    words = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu"
    story.goes_wrong(Fault(until=5 * MINUTE, refusal=Words("UnexpectedAdmissionError", words)))
    story.given(a_deployment()).passes(4 * MINUTE)
    assert story.phase() == ("Starting", "0/1")
    reason, seats, attempts = story.interruptions()[0]
    assert (reason, seats) == ("Failed", "0")
    assert attempts == 5, "after 10, 20, 40 and 80 seconds"
    assert "no healthy devices" in story.status()["interruptions"][0]["message"]
    story.until_ready(within=15 * MINUTE)


@world()
def test_an_engine_stops_answering(story: Story) -> None:
    """Expected: its replica leaves the Service first, and is restarted by its kubelet only if it stays quiet.

    A short silence costs readiness and no restart; a long one costs the loaded model. Hangar makes and deletes nothing.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    before = story.uids()
    story.plane.kubelet.hang(story.seat("server", 0), 35)
    story.until(lambda: story.phase() == ("Degraded", "1/2"), within=MINUTE).until_ready(within=MINUTE)
    assert story.pod("server", 0)["status"]["containerStatuses"][0]["restartCount"] == 0  # type: ignore[index]
    story.plane.kubelet.hang(story.seat("server", 0), None)
    story.until(lambda: story.phase() == ("Degraded", "1/2"), within=MINUTE).until_ready(within=5 * MINUTE)
    assert story.pod("server", 0)["status"]["containerStatuses"][0]["restartCount"] == 1  # type: ignore[index]
    assert story.uids() == before


@world()
def test_an_engine_runs_out_of_memory_once(story: Story) -> None:
    """Expected: restarted in place by its kubelet; Degraded while it loads, then Ready. Nothing is made or deleted."""
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    before = story.uids()
    story.crashes(story.seat("server", 1), 137, "OOMKilled")
    story.passes(1)
    assert story.phase() == ("Degraded", "1/2")
    story.until_ready(within=5 * MINUTE)
    assert story.uids() == before
    assert story.interruptions() == []


@world()
def test_every_start_fails_at_once(story: Story) -> None:
    """Expected: a wrong argument crashes all replicas at birth: Starting, CrashLooping, and no Pod is ever remade."""
    story.goes_wrong(Fault(ending=Ending(2, "Error", after=1))).given(a_deployment(role(replicas=2))).passes(MINUTE)
    before = story.uids()
    story.passes(2 * HOUR)
    assert story.uids() == before
    assert story.phase() == ("Starting", "0/2")
    assert story.status()["admission"]["reason"] == "CrashLooping"
