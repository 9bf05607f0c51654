"""Worlds on a full pool: edits that need quota for a moment, members and replicas that are lost."""

from typing import Any

from app.kube import kueue, names
from app.local.faults import Fault
from app.local.quota.options import KueueOptions
from app.local.values import labels
from tests.quota_worlds.story import HIGH, LOW, QUEUE, QuotaStory, quota_world
from tests.worlds.story import HOUR, MINUTE, a_deployment, a_node, role

NEW: dict[str, Any] = {"env": [{"name": "LEVEL", "value": "debug"}]}


@quota_world(1)
def test_one_replica_is_edited_on_a_full_pool(story: QuotaStory) -> None:
    """Expected: it leaves, and gets the quota back that it gave: nobody else waits for it."""
    story.given(a_deployment(role(queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.role_edited("server", **NEW).until_ready(within=5 * MINUTE)
    assert set(story.uids()) == set(before)
    assert story.uids() != before


@quota_world(1)
def test_one_replica_is_edited_on_a_full_pool_while_somebody_waits(story: QuotaStory) -> None:
    """Expected: it gets its quota back all the same: it asks again before Kueue looks at those that it set aside.

    That takes Kueue a second; the seat is filled within one.
    """
    story.given(a_deployment(role(queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.job("waits", 1).passes(10).role_edited("server", **NEW).until_ready(within=5 * MINUTE)
    assert story.uids() != before
    assert not story.job_holds("waits")


@quota_world(1, queueingStrategy="StrictFIFO")
def test_one_replica_is_edited_on_a_full_and_strict_pool_while_somebody_waits(story: QuotaStory) -> None:
    """Expected: whoever waits takes the quota, and the deployment waits at zero and says for what.

    That is the price of an edit on a full pool, and why `render --diff` says it before. When the job ends it is Ready.
    """
    story.given(a_deployment(role(queueName=QUEUE))).until_ready().passes(MINUTE)
    story.job("waits", 1).passes(10).role_edited("server", **NEW)
    story.until(lambda: story.job_holds("waits"), within=MINUTE).passes(10 * MINUTE)
    assert story.phase() == ("Starting", "0/1")
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert story.admission()[:2] == ("Pending", "InsufficientQuota")
    story.job_ends("waits").until_ready(within=5 * MINUTE)


@quota_world(4)
def test_four_replicas_are_edited_on_a_full_pool(story: QuotaStory) -> None:
    """Expected: one at a time, the highest seat first, each with the quota that it gave; at least three serve."""
    story.given(a_deployment(role(replicas=4, queueName=QUEUE))).until_ready().passes(MINUTE)
    before, since = story.uids(), story.now
    story.job("waits", 1).passes(10).role_edited("server", **NEW)
    story.when(story.is_ready, lambda: story.status()["readyReplicas"] >= 3, within=HOUR)
    assert not set(story.uids().values()) & set(before.values())
    gone = [e["object"] for e in story.timeline.entries if e.get("deleted") and e["time"] > since]
    assert gone == [f"Pod team-a/{names.seat('qwen', 'server', ordinal)}" for ordinal in (3, 2, 1, 0)]
    assert not story.job_holds("waits")


@quota_world(4, queueingStrategy="StrictFIFO")
def test_four_replicas_are_edited_on_a_full_and_strict_pool_while_somebody_waits(story: QuotaStory) -> None:
    """Expected: the first turnover loses its quota to whoever waits, and the gate then holds: three serve on.

    The condition names the replica that holds the gate, and that it has no quota. When the job ends, the rest follow.
    """
    story.given(a_deployment(role(replicas=4, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.job("waits", 1).passes(10).role_edited("server", **NEW)
    story.until(lambda: story.job_holds("waits"), within=MINUTE).passes(HOUR)
    assert len(story.uids().items() & before.items()) == 3
    assert story.phase() == ("Degraded", "3/4")
    assert story.says("ReplicasUpToDate") == ("False", "RolloutInProgress")
    assert "replica 3 of role server holds the gate: it holds no quota" in story.words("ReplicasUpToDate")
    story.job_ends("waits").when(story.is_ready, lambda: story.status()["readyReplicas"] >= 3, within=HOUR)
    assert not set(story.uids().values()) & set(before.values())


@quota_world(4, queueingStrategy="StrictFIFO")
def test_an_edit_is_corrected_while_its_replica_waits_for_quota(story: QuotaStory) -> None:
    """Expected: the gated replica is replaced at once, without a gate; the three that serve are as they were before."""
    story.given(a_deployment(role(replicas=4, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.job("waits", 1).passes(10).role_edited("server", **NEW)
    story.until(lambda: story.job_holds("waits"), within=MINUTE).passes(MINUTE)
    story.edited(lambda spec: spec["roles"][0].pop("env")).passes(MINUTE)
    assert len(story.uids().items() & before.items()) == 3
    assert story.says("ReplicasUpToDate") == ("True", "UpToDate")
    story.job_ends("waits").until_ready(within=5 * MINUTE)
    assert len(story.uids().items() & before.items()) == 3


@quota_world(8)
def test_a_member_is_lost_on_a_full_pool(story: QuotaStory) -> None:
    """Expected: the group keeps its quota, whoever waits for it: the lost member comes back in its seat, alone."""
    asked = role(size=4, queueName=QUEUE, parallelism={"tensor": 4})
    story.given(a_deployment({**asked, "replicas": 2})).until_ready(within=HOUR).passes(MINUTE)
    before = story.uids()
    story.job("waits", 1).passes(MINUTE)
    story.member_is_killed("server", 1, 2, 4).passes(0.2)
    assert story.phase() == ("Degraded", "1/2")
    story.until_ready(within=10 * MINUTE)
    lost = names.pod("qwen", "server", 1, 2, 4)
    assert {key for key, uid in before.items() if story.uids()[key] != uid} == {lost}
    assert not story.job_holds("waits")
    assert story.quota() == (2, ["h100"])


@quota_world(4)
def test_a_member_drains_and_is_replaced_only_when_it_is_gone(story: QuotaStory) -> None:
    """Expected: no Pod is ever deleted as excess: the new member comes after the old one has gone."""
    asked = role(size=4, queueName=QUEUE, parallelism={"tensor": 4})
    story.given(a_deployment(asked)).until_ready(within=HOUR).passes(MINUTE)
    before = story.uids()
    story.plane.delete("Pod.v1", f"team-a/{names.pod('qwen', 'server', 0, 2, 4)}")
    story.passes(2).until_ready(within=10 * MINUTE)
    assert len(story.uids().items() & before.items()) == 3
    reasons = [entry["event"]["reason"] for entry in story.timeline.entries if "event" in entry]
    assert "ExcessPodDeleted" not in reasons


@quota_world(2)
def test_the_kubelet_evicts_a_replica_on_a_full_pool(story: QuotaStory) -> None:
    """Expected: its Pod has failed, so Kueue gives its quota to who waits at once, and the role counts one holder.

    The replica is made again after ten seconds and waits; when the job ends it is Ready again.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    story.job("waits", 1).passes(MINUTE)
    story.plane.kubelet.evict(story.seat("server", 1), "memory")
    story.until(lambda: story.job_holds("waits"), within=2).passes(MINUTE)
    assert story.quota() == (1, ["h100"])
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert story.interruptions() == [("Evicted", "1", 1)]
    story.job_ends("waits").until_ready(within=5 * MINUTE)


@quota_world(2)
def test_an_ended_replica_counts_no_quota_that_kueue_has_given_away(story: QuotaStory) -> None:
    """Expected: the role counts one holder as soon as the Workload is finished, also while nothing may be let go."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    story.edited(lambda spec: spec.update(enabled=False)).passes(10)
    story.plane.kubelet.evict(story.seat("server", 1), "memory")
    story.job("waits", 1).until(lambda: story.job_holds("waits"), within=2).passes(MINUTE)
    assert len(story.pods()) == 2, "reconciling is off"
    assert story.quota() == (1, ["h100"])
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert "its Workload is finished" in story.words("QuotaReserved")


@quota_world(2)
def test_the_priority_of_a_role_is_changed(story: QuotaStory) -> None:
    """Expected: both replicas turn over, one at a time, and ask with the new priority.

    A job of the old priority that waited before them gets nothing: they outrank it now.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE, workloadPriorityClass=LOW))).until_ready().passes(MINUTE)
    before = story.uids()
    story.job("waits", 1, LOW).passes(10)
    story.role_edited("server", workloadPriorityClass=HIGH).when(
        story.is_ready, lambda: story.status()["readyReplicas"] >= 1, within=HOUR
    )
    assert not set(story.uids().values()) & set(before.values())
    workloads = [story.workload("server", ordinal) for ordinal in (0, 1)]
    assert [one["spec"]["priority"] for one in workloads if one] == [100, 100]
    assert not story.job_holds("waits")


@quota_world(2)
def test_the_value_of_a_priority_class_is_changed(story: QuotaStory) -> None:
    """Expected: nothing moves. Kueue keeps the priority of a Workload that exists."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE, workloadPriorityClass=LOW))).until_ready().passes(MINUTE)
    before = story.uids()
    klass = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": LOW}}
    story.given({**klass, "value": 500}).passes(HOUR)
    assert story.uids() == before
    assert (story.workload() or {})["spec"]["priority"] == 10


@quota_world(2)
def test_a_role_moves_to_another_queue(story: QuotaStory) -> None:
    """Expected: a queue that does not exist yet takes one replica and no more: the other serves behind the gate."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.role_edited("server", queueName="other").passes(HOUR)
    assert len(story.uids().items() & before.items()) == 1
    assert story.phase() == ("Degraded", "1/2")
    assert story.admission()[:2] == ("Running", "QueueMissing")
    assert "replica 1 of role server holds the gate: it holds no quota" in story.words("ReplicasUpToDate")
    story.role_edited("server", queueName=QUEUE).until_ready(within=5 * MINUTE)
    assert len(story.uids().items() & before.items()) == 1


@quota_world(2)
def test_a_role_is_taken_out_of_its_queue(story: QuotaStory) -> None:
    """Expected: both replicas turn over and run outside quota; the status says no role names a queue, quota is free."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    story.edited(lambda spec: spec["roles"][0].pop("queueName")).until_ready(within=HOUR).passes(2)
    assert story.says("QuotaReserved") == ("True", "NotApplicable")
    assert not any(kueue.QUEUE in labels(pod) for pod in story.pods().values())
    assert story.used() == "0"
    assert story.quota() == (None, None)


@quota_world(2, nodes=[a_node(f"node-{letter}", gpu=1) for letter in "abc"])
def test_a_node_is_lost_under_a_replica_with_quota(story: QuotaStory) -> None:
    """Expected: its quota stays with the Pod that cannot go, until Kueue loses patience after half an hour.

    Then whoever waits gets it. Once the node is removed the seat is filled again, and waits in its turn.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    lost = story.node_of("server", 1)
    story.plane.nodes.kill(lost)
    killed = story.now
    story.job("waits", 1).passes(20 * MINUTE)
    assert story.phase() == ("Degraded", "1/2")
    assert not story.job_holds("waits")
    story.until(lambda: story.job_holds("waits"), within=HOUR)
    assert 30 * MINUTE <= story.now - killed <= 33 * MINUTE
    story.plane.nodes.remove(lost)
    story.passes(2 * MINUTE)
    assert len(story.uids()) == 2
    assert story.says("QuotaReserved") == ("False", "Pending")
    story.job_ends("waits").until_ready(within=5 * MINUTE)


@quota_world(2, options=KueueOptions(pods_ready_seconds=10 * MINUTE))
def test_a_model_loads_for_longer_than_kueue_has_patience(story: QuotaStory) -> None:
    """Expected: Kueue evicts the replica after its ten minutes, again and again, and the model never serves.

    Each time it is remembered as Evicted, with Kueue's words, which name the time-out. Nobody is parked for it.
    """
    story.goes_wrong(Fault(load=20 * MINUTE)).given(a_deployment(role(queueName=QUEUE)))
    story.until(lambda: bool(story.uids()))
    first = story.uids()
    story.passes(9 * MINUTE)
    assert story.uids() == first
    story.passes(2 * MINUTE)
    assert story.uids() != first
    assert story.interruptions() == [("Evicted", "0", 0)]
    words = f"Exceeded the PodsReady timeout team-a/{names.group('qwen', 'server', 0)}"
    assert story.status()["interruptions"][0]["message"] == words
    story.passes(4 * HOUR)
    assert story.readings("ready") == [None, "0/1"]
    assert "parked" not in story.status()


@quota_world(2)
def test_a_model_loads_for_longer_than_that_and_kueue_has_its_usual_patience(story: QuotaStory) -> None:
    """Expected: with a time-out above the load, the same model serves."""
    story.goes_wrong(Fault(load=20 * MINUTE)).given(a_deployment(role(queueName=QUEUE)))
    story.until_ready(within=HOUR)
    assert story.interruptions() == []


@quota_world(8, nodes=[a_node("node-a", gpu=1)])
def test_a_replica_with_quota_finds_no_node_for_longer_than_kueue_has_patience(story: QuotaStory) -> None:
    """Expected: every half hour Kueue takes its quota and its Pod, and the seat is filled anew. The other serves on.

    A Pod that no node has is gone in the moment in which Kueue deletes it: what was not seen is not claimed.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE)))
    story.until(lambda: story.phase() == ("Degraded", "1/2"))
    serving = next(key for key, pod in story.pods().items() if pod["spec"].get("nodeName"))
    before = story.uids()
    story.passes(25 * MINUTE)
    assert story.uids() == before
    story.passes(6 * MINUTE)
    assert story.uids()[serving] == before[serving]
    assert len(story.uids().items() & before.items()) == 1
    assert story.interruptions() == []
    assert story.phase() == ("Degraded", "1/2")
    assert story.admission()[:2] == ("Running", "InsufficientCapacity")
