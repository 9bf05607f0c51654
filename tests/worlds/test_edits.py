"""Worlds in which somebody edits, scales or switches off."""

from app.kube import names
from app.local.faults import Fault
from tests.worlds.story import HOUR, MINUTE, Story, a_deployment, role, world

BROKEN = "registry.example.com/vllm:no-such-tag"


@world()
def test_an_image_is_edited(story: Story) -> None:
    """Expected: replicas turn over one at a time, the highest seat first, and never fewer than two of three serve.

    In the end every replica is a new Pod of the new image, under its old name.
    """
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    before, since = story.uids(), story.now
    story.role_edited("server", image="registry.example.com/vllm:new")
    story.when(story.is_ready, lambda: story.status()["readyReplicas"] >= 2)
    after = story.uids()
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())
    images = {pod["spec"]["containers"][0]["image"] for pod in story.pods().values()}
    assert images == {"registry.example.com/vllm:new"}
    gone = [e["object"] for e in story.timeline.entries if e.get("deleted") and e["time"] > since]
    assert gone == [f"Pod team-a/{names.seat('qwen', 'server', ordinal)}" for ordinal in (2, 1, 0)]


@world()
def test_an_edit_to_a_broken_image_is_taken_back(story: Story) -> None:
    """Expected: one replica is lost to the broken image and no other: the gate holds while it does not serve.

    The pull failure is quoted, and the condition names who holds the gate. The correction replaces the broken replica
    at once, without waiting for it to serve, and leaves the other two as they were.
    """
    story.goes_wrong(Fault(image="registry.example.com/*"))
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    before = story.uids()
    story.role_edited("server", image=BROKEN)
    story.when(lambda: story.now > 2 * HOUR, lambda: story.status()["readyReplicas"] >= 2, within=3 * HOUR)
    survivors = story.uids().items() & before.items()
    assert len(survivors) == 2
    assert story.phase() == ("Degraded", "2/3")
    admission = story.status()["admission"]
    assert admission["reason"] == "ImagePullFailed"
    assert BROKEN in admission["message"]
    assert "replica 2 of role server holds the gate" in story.words("ReplicasUpToDate")
    corrected = story.now
    story.edited(lambda spec: spec["roles"][0].pop("image")).until_ready(within=5 * MINUTE)
    assert story.now - corrected < 2 * MINUTE
    assert survivors <= story.uids().items(), "they match the render again, and stay"


@world()
def test_an_edit_and_a_scale_meet_a_replica_that_does_not_serve(story: Story) -> None:
    """Expected: the replica that does not serve turns over first, whatever its seat, for it costs nothing.

    Then the added seats are filled, but not in the pass in which it was let go: no role deletes and creates at once.
    The serving one is taken last, when all others serve.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    story.plane.kubelet.hang(story.seat("server", 0), None)
    story.until(lambda: story.phase() == ("Degraded", "1/2"), within=MINUTE)
    before, since = story.uids(), story.now
    story.edited(lambda spec: (spec["engine"].update(version="0.12.1"), spec["roles"][0].update(replicas=4)))
    story.when(story.is_ready, lambda: story.status()["readyReplicas"] >= 1)
    assert not set(story.uids().values()) & set(before.values())
    changes = [one for one in story.timeline.entries if one["time"] > since and "uid" in one]
    leaving = list(dict.fromkeys(one["object"] for one in changes if one["leaves"]))
    assert leaving == [f"Pod team-a/{names.seat('qwen', 'server', ordinal)}" for ordinal in (0, 1)]
    left = min(one["time"] for one in changes if one["leaves"])
    made = min(one["time"] for one in changes if one["uid"] not in before.values())
    assert left < made


@world()
def test_one_role_is_edited(story: Story) -> None:
    """Expected: decode turns over and prefill does not: its Pods keep their UIDs and serve throughout."""
    story.given(a_deployment(role("prefill", kind="Prefill", replicas=2), role("decode", kind="Decode", replicas=2)))
    story.until_ready().passes(MINUTE)
    prefill, decode = story.uids("prefill"), story.uids("decode")
    story.role_edited("decode", env=[{"name": "LEVEL", "value": "debug"}])
    story.when(story.is_ready, lambda: story.uids("prefill") == prefill)
    assert not set(story.uids("decode").values()) & set(decode.values())
    assert story.status()["roles"][0]["ready"] == 2


@world()
def test_a_deployment_is_scaled_out_in_to_zero_and_back(story: Story) -> None:
    """Expected: scaling touches only the seats it adds or takes away, highest first; the rest keep their UIDs.

    At zero the deployment is Ready by phase and serves nothing, which its condition says. Back from zero, the replicas
    have their old names.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    two = story.uids()
    story.role_edited("server", replicas=4)
    story.when(story.is_ready, lambda: two.items() <= story.uids().items())
    story.role_edited("server", replicas=1)
    story.until(lambda: len(story.pods()) == 1 and story.is_ready(), within=MINUTE)
    assert story.uids().items() < two.items()
    assert story.phase() == ("Ready", "1/1")
    story.role_edited("server", replicas=0)
    story.until(lambda: not story.pods(), within=MINUTE).passes(1)
    assert story.phase() == ("Ready", "0/0")
    assert story.says("Ready") == ("False", "ScaledToZero")
    story.role_edited("server", replicas=2).until_ready()
    assert set(story.uids()) == set(two)


@world()
def test_reconciling_is_off_through_a_bad_day(story: Story) -> None:
    """Expected: with `enabled: false` nothing is made, let go or turned over, whatever happens; the status goes on.

    An edit, a scale in and out, a lost Pod, an eviction and a lost node change no seat. Switched on, it all is carried
    out. Deletion deletes also while it is off.
    """
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    before = story.uids()
    story.edited(lambda spec: spec.update(enabled=False)).passes(1)
    assert story.says("ReplicasUpToDate") == ("Unknown", "RolloutNotObserved")
    assert story.says("Ready") == ("True", "AllReplicasReady"), "it serves"
    story.role_edited("server", image="registry.example.com/vllm:new").passes(MINUTE)
    story.role_edited("server", replicas=1).passes(MINUTE)
    assert story.uids() == before
    story.role_edited("server", replicas=5).passes(MINUTE)
    assert story.uids() == before
    assert story.phase() == ("Degraded", "3/5")
    story.plane.kubelet.evict(story.seat("server", 0), "memory")
    story.passes(10 * MINUTE)
    assert story.uids() == before, "the failed Pod stays too"
    assert story.phase() == ("Degraded", "2/5")
    assert story.interruptions() == [("Evicted", "0", 1)]
    story.plane.delete("Pod.v1", f"team-a/{names.seat('qwen', 'server', 1)}")
    story.passes(10 * MINUTE)
    assert len(story.uids()) == 2, "what somebody else deletes is gone, and is not made again"
    story.plane.nodes.kill(story.node_of("server", 2))
    story.passes(20 * MINUTE)
    assert story.phase() == ("Starting", "0/5")
    story.plane.nodes.restore(story.node_of("server", 2))
    story.passes(10 * MINUTE)
    assert set(story.pods()) == {names.seat("qwen", "server", 0)}
    story.edited(lambda spec: spec.update(enabled=True)).until_ready(within=HOUR)
    assert story.phase() == ("Ready", "5/5")
    story.edited(lambda spec: spec.update(enabled=False)).passes(1)
    story.plane.delete("ModelDeployment.hangar.dev/v1alpha1", "team-a/qwen")
    story.until(lambda: not story.pods(), within=MINUTE).passes(1)
    assert story.plane.all_of("ModelDeployment.hangar.dev/v1alpha1") == []
