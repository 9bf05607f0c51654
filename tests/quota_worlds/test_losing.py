"""Worlds in which quota is taken away: by a higher priority, by hand, or because a set does not assemble."""

from typing import Any

from app.kube import names
from app.kube.hook import JSON
from app.local.values import terminating
from tests.quota_worlds.story import HIGH, LOW, QUEUE, QuotaStory, quota_world
from tests.worlds.story import HOUR, MINUTE, a_deployment, a_node, role

SEAT_0, SEAT_1 = (names.seat("qwen", "server", ordinal) for ordinal in (0, 1))


@quota_world(2)
def test_one_of_two_replicas_is_preempted_and_comes_back(story: QuotaStory) -> None:
    """Expected: PreemptedInPart from the moment that Kueue says so, and for as long as the seat holds no quota.

    The lost replica is remembered, though its Workload died with its Pod; its seat is filled again once both are gone,
    and waits. The other replica serves untouched. When the job ends, the seat is admitted and all is Ready.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE, workloadPriorityClass=LOW))).until_ready().passes(MINUTE)
    before, since = story.uids(), story.now
    story.job("urgent", 1, HIGH).until(lambda: story.says("QuotaReserved") == ("False", "PreemptedInPart"), within=1)
    story.until(lambda: story.job_holds("urgent"), within=MINUTE).passes(MINUTE)
    assert len(story.uids().items() & before.items()) == 1
    lost = next(ordinal for ordinal, seat in enumerate((SEAT_0, SEAT_1)) if story.uids()[seat] != before[seat])
    assert story.says("QuotaReserved") == ("False", "PreemptedInPart")
    words = story.words("QuotaReserved")
    assert words == f"1 of 2 replicas preempted (server {lost}); capacity is lost, no role kind is"
    assert story.interruptions() == [("Preempted", str(lost), 0)]
    assert story.phase() == ("Degraded", "1/2")
    assert story.quota() == (1, ["h100"])
    story.passes(HOUR)
    assert story.said("QuotaReserved", since) == [("False", "PreemptedInPart")]
    story.job_ends("urgent").until_ready(within=5 * MINUTE)
    assert story.says("QuotaReserved") == ("True", "Reserved")
    assert len(story.uids().items() & before.items()) == 1
    story.passes(11 * MINUTE)
    story.role_edited("server", replicas=2).edited(lambda spec: spec["engine"].update(version="0.12.0"))
    assert story.phase() == ("Ready", "2/2")


@quota_world(2)
def test_a_whole_kind_is_preempted(story: QuotaStory) -> None:
    """Expected: the condition names the kind that is gone, for the deployment serves nobody without it."""
    story.given(
        a_deployment(
            role("prefill", kind="Prefill", queueName=QUEUE, workloadPriorityClass=LOW),
            role("decode", kind="Decode", queueName=QUEUE, workloadPriorityClass=HIGH),
        )
    )
    story.until_ready().passes(MINUTE).job("urgent", 1, HIGH)
    story.until(lambda: story.job_holds("urgent"), within=MINUTE).passes(MINUTE)
    words = "1 of 2 replicas preempted (prefill 0); no admitted replica of kind Prefill is left"
    assert story.words("QuotaReserved") == words
    assert story.says("RoleKindsReady") == ("False", "KindsNotReady")


@quota_world(4)
def test_a_replica_of_four_pods_is_preempted(story: QuotaStory) -> None:
    """Expected: all four go together, the job gets its quota when the last is gone, and the four are made again.

    Nothing is made into the group while it drains: no Pod is deleted as excess.
    """
    asked = role(size=4, queueName=QUEUE, workloadPriorityClass=LOW, parallelism={"tensor": 4})
    story.given(a_deployment(asked)).until_ready().passes(MINUTE)
    before = story.uids()
    story.job("urgent", 1, HIGH).until(lambda: not story.uids(), within=1)
    story.until(lambda: story.job_holds("urgent"), within=MINUTE)
    assert not [pod for pod in story.pods().values() if terminating(pod)], "the last of them is gone"
    story.passes(MINUTE)
    assert set(story.uids()) == set(before)
    assert not set(story.uids().values()) & set(before.values())
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert "(preempted before: server)" in story.words("QuotaReserved"), "nothing is admitted, so nothing is in part"
    reasons = [entry["event"]["reason"] for entry in story.timeline.entries if "event" in entry]
    assert "ExcessPodDeleted" not in reasons
    assert "WorkloadDeleted" not in str(story.timeline.entries)
    story.job_ends("urgent").until_ready(within=5 * MINUTE)


@quota_world(2)
def test_a_replica_that_runs_is_deactivated(story: QuotaStory) -> None:
    """Expected: that replica is parked: its seat stays empty, though Kueue forgets it with the Pod, and for hours.

    The other serves untouched, and the deployment says Parked, which seat, and how to go on. With resumedAt changed
    the seat is filled, and all is Ready.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.sets_active(False, ordinal=1).until(lambda: len(story.pods()) == 1, within=MINUTE).passes(6 * HOUR)
    assert story.uids() == {SEAT_0: before[SEAT_0]}
    assert story.says("QuotaReserved") == ("False", "Parked")
    words = story.words("QuotaReserved")
    assert words.startswith("1 of 2 replicas parked: The workload is deactivated")
    assert "resumedAt" in words
    assert story.status()["parked"]["seats"] == [{"role": "server", "seats": "1"}]
    assert story.phase() == ("Degraded", "1/2")
    assert story.used() == "1"
    story.resumed().until_ready(within=5 * MINUTE)
    assert story.uids()[SEAT_0] == before[SEAT_0]
    assert "parked" not in story.status()
    assert story.says("QuotaReserved") == ("True", "Reserved")


@quota_world(1)
def test_a_replica_that_waits_is_deactivated_and_activated_again_in_kueue(story: QuotaStory) -> None:
    """Expected: parked while its Workload is inactive, though quota is free; activated in Kueue it goes on by itself.

    Its Pod stays, gated: Kueue's own switch works as Kueue's users know it.
    """
    story.job("holds", 1).given(a_deployment(role(queueName=QUEUE))).passes(MINUTE)
    before = story.uids()
    story.sets_active(False).passes(MINUTE)
    assert story.says("QuotaReserved") == ("False", "Parked")
    story.job_ends("holds").passes(HOUR)
    assert story.says("QuotaReserved") == ("False", "Parked")
    assert story.admission()[:2] == ("Pending", "Parked")
    assert story.uids() == before
    story.sets_active(True).until_ready(within=5 * MINUTE)
    assert story.uids() == before
    assert "parked" not in story.status()


@quota_world(1)
def test_a_replica_that_waits_is_deactivated_and_resumed_in_hangar(story: QuotaStory) -> None:
    """Expected: resuming makes the replica anew, with a new Workload that is active, and it is Ready."""
    story.job("holds", 1).given(a_deployment(role(queueName=QUEUE))).passes(MINUTE)
    before = story.uids()
    story.sets_active(False).job_ends("holds").passes(10 * MINUTE)
    story.resumed().until_ready(within=5 * MINUTE)
    assert set(story.uids()) == set(before)
    assert story.uids() != before
    assert "parked" not in story.status()


def _pair(**spec: Any) -> JSON:
    """A set of two kinds of which only prefill will fit into small pools: it comes first, and takes less."""
    return a_deployment(
        role("prefill", kind="Prefill", queueName=QUEUE, workloadPriorityClass=HIGH),
        role(
            "decode",
            kind="Decode",
            queueName=QUEUE,
            workloadPriorityClass=LOW,
            resources={"limits": {"nvidia.com/gpu": 4}},
        ),
        **spec,
    )


@quota_world(4)
def test_a_set_does_not_assemble_is_parked_and_resumed(story: QuotaStory) -> None:
    """Expected: after its time, and up to a fifth more, the set gives everything back: no Pods, no quota used.

    It stays so, whatever quota comes, and through the same manifest applied again. With resumedAt changed it asks
    anew, gets all, and is Ready.
    """
    manifest = _pair(assembly={"timeoutSeconds": 600})
    story.given(manifest).until(lambda: story.admitted("prefill") == [0])
    waiting = story.now
    story.until(lambda: not story.pods(), within=HOUR)
    assert 600 <= story.now - waiting <= 750
    assert story.says("QuotaReserved") == ("False", "Parked")
    words = story.words("QuotaReserved")
    assert words.startswith("the whole set parked: no replica of kind Decode got quota in time")
    story.passes(2)
    assert story.used() == "0"
    assert story.workloads() == []
    story.pool_becomes(8).given(manifest).passes(6 * HOUR)
    assert story.pods() == {}
    assert story.says("QuotaReserved") == ("False", "Parked")
    story.resumed().until_ready(within=10 * MINUTE)
    assert story.says("QuotaReserved") == ("True", "Reserved")
    assert "parked" not in story.status()


@quota_world(4)
def test_a_resumed_set_that_does_not_assemble_again_is_parked_again(story: QuotaStory) -> None:
    """Expected: resuming gives it its time once more, and no longer."""
    story.given(_pair(assembly={"timeoutSeconds": 600})).until(lambda: bool(story.pods()))
    story.until(lambda: not story.pods(), within=HOUR).passes(MINUTE)
    story.resumed("once").until(lambda: story.admitted("prefill") == [0], within=MINUTE)
    again = story.now
    story.until(lambda: not story.pods(), within=HOUR)
    assert 600 <= story.now - again <= 750
    assert story.says("QuotaReserved") == ("False", "Parked")


@quota_world(4)
def test_a_set_that_may_wait_for_ever_does(story: QuotaStory) -> None:
    """Expected: with timeoutSeconds 0 the half that has quota keeps it."""
    story.given(_pair(assembly={"timeoutSeconds": 0})).until(lambda: story.admitted("prefill") == [0])
    before = story.uids()
    story.passes(48 * HOUR)
    assert story.uids() == before
    assert "parked" not in story.status()


@quota_world(6)
def test_two_half_admitted_sets_do_not_park_each_other(story: QuotaStory) -> None:
    """Expected: each holds half of what both need. One gives up first, the other gets what that frees, and is Ready.

    The one that gave up is parked, alone.
    """
    for name in ("qwen", "other"):
        manifest = _pair(assembly={"timeoutSeconds": 600})
        manifest["metadata"]["name"] = name
        manifest["spec"]["roles"][0]["resources"] = {"limits": {"nvidia.com/gpu": 2}}
        story.given(manifest)
    story.until(lambda: all(story.admitted("prefill", name) == [0] for name in ("qwen", "other")), within=MINUTE)
    assert not any(story.admitted("decode", name) for name in ("qwen", "other"))
    story.until(lambda: any(story.is_ready(name) for name in ("qwen", "other")), within=HOUR)
    ready, parked = ("qwen", "other") if story.is_ready() else ("other", "qwen")
    assert story.now < 16 * MINUTE
    assert "parked" not in story.status(ready)
    assert story.says("QuotaReserved", parked) == ("False", "Parked")
    assert story.pods(name=parked) == {}
    story.passes(HOUR)
    assert story.is_ready(ready)


@quota_world(6)
def test_a_set_that_was_ready_once_is_never_parked(story: QuotaStory) -> None:
    """Expected: it loses a whole kind to a higher priority and waits for as long as that takes."""
    story.given(_pair(assembly={"timeoutSeconds": 600})).until_ready().passes(MINUTE)
    story.job("urgent", 5, HIGH).until(lambda: story.job_holds("urgent"), within=2 * MINUTE).passes(24 * HOUR)
    assert "parked" not in story.status()
    assert story.admitted("prefill") == [0]
    assert story.says("QuotaReserved") == ("False", "PreemptedInPart")
    story.job_ends("urgent").until_ready(within=10 * MINUTE)


@quota_world(2)
def test_somebody_deletes_the_workload_of_a_replica_that_serves(story: QuotaStory) -> None:
    """Expected: Kueue takes its Pod; the seat is filled again once it is gone, and the deployment is Ready again."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.plane.delete("Workload.kueue.x-k8s.io/v1beta2", f"team-a/{names.group('qwen', 'server', 1)}")
    story.until(lambda: story.phase() == ("Degraded", "1/2"), within=MINUTE).until_ready(within=5 * MINUTE)
    assert story.uids()[SEAT_0] == before[SEAT_0]
    assert story.uids()[SEAT_1] != before[SEAT_1]


@quota_world(8, nodes=[a_node("node-a", gpu=1)])
def test_a_replica_that_no_node_has_is_preempted(story: QuotaStory) -> None:
    """Expected: its Pod is gone in the moment in which Kueue deletes it, and the preemption is known all the same."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE, workloadPriorityClass=LOW)))
    story.until(lambda: story.phase() == ("Degraded", "1/2")).passes(MINUTE)
    waiting = _without_node(story)
    story.job("urgent", 7, HIGH).until(lambda: story.job_holds("urgent"), within=MINUTE).passes(MINUTE)
    assert story.interruptions() == [("Preempted", str(waiting), 0)]
    assert story.says("QuotaReserved") == ("False", "PreemptedInPart")


@quota_world(8, nodes=[a_node("node-a", gpu=1)])
def test_a_replica_that_no_node_has_is_deactivated(story: QuotaStory) -> None:
    """Expected: parked like any other, though Kueue and the API server leave nothing of it within a moment."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE)))
    story.until(lambda: story.phase() == ("Degraded", "1/2")).passes(MINUTE)
    waiting = _without_node(story)
    story.sets_active(False, ordinal=waiting).passes(HOUR)
    assert len(story.pods()) == 1
    assert story.status()["parked"]["seats"] == [{"role": "server", "seats": str(waiting)}]
    story.resumed().until(lambda: len(story.pods()) == 2, within=MINUTE).passes(MINUTE)
    assert story.says("QuotaReserved") == ("True", "Reserved")
    assert "parked" not in story.status()


def _without_node(story: QuotaStory) -> int:
    """The ordinal of the replica that has quota and no node."""
    found = [ordinal for ordinal, seat in enumerate((SEAT_0, SEAT_1)) if "nodeName" not in story.pods()[seat]["spec"]]
    assert len(found) == 1
    return found[0]
