"""Worlds in which the hook service, its answers or its clock fail."""

from datetime import timedelta

from app.kube import names
from app.local.network import CallFault
from tests.worlds.story import DEPLOYMENT, HOUR, MINUTE, Story, a_deployment, role, world


@world()
def test_the_hook_is_down_for_five_minutes(story: Story) -> None:
    """Expected: what runs keeps running, what is lost meanwhile is made again once the hook answers.

    Calls are refused, and the deployment's events say so; its status stays the last one that was given. Metacontroller
    comes back by itself, at the latest with its resync.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    other = story.uids()[names.seat("qwen", "server", 1)]
    story.hook.stop()
    story.plane.delete("Pod.v1", f"team-a/{names.seat('qwen', 'server', 0)}")
    story.passes(5 * MINUTE)
    assert len(story.uids()) == 1, "nobody makes it again"
    assert story.phase() == ("Ready", "2/2"), "nobody says otherwise"
    assert "connect: connection refused" in story.events()[0]
    story.hook.start()
    story.until(lambda: story.phase() == ("Degraded", "1/2"), within=11 * MINUTE)
    story.until_ready(within=5 * MINUTE)
    assert story.uids()[names.seat("qwen", "server", 1)] == other


@world()
def test_the_hook_is_killed_in_the_middle_of_a_call(story: Story) -> None:
    """Expected: in the middle of a rollout nothing is done twice and nothing by half: it goes on when the hook is back.

    Never fewer than two of three serve, and every replica is replaced once.
    """
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    before, since = story.uids(), story.now
    story.edited(lambda spec: spec["engine"].update(version="0.12.1"))
    story.until(lambda: len(story.pods()) == 2, within=MINUTE)
    story.hook.stop_in_the_next_call()
    story.until(lambda: not story.hook.up, within=MINUTE).passes(30)
    story.hook.start()
    story.when(story.is_ready, lambda: story.status()["readyReplicas"] >= 2)
    assert not set(story.uids().values()) & set(before.values())
    gone = [e["object"] for e in story.timeline.entries if e.get("deleted") and e["time"] > since]
    assert len(gone) == 3
    assert any("EOF" in words for words in story.events())


@world()
def test_the_hook_answers_late(story: Story) -> None:
    """Expected: answers that take 20 seconds are answers to what was observed 20 seconds ago, and do no harm.

    The edit is carried out slowly; never are two of three down, and nothing is made twice.
    """
    story.given(a_deployment(role(replicas=3))).until_ready().passes(MINUTE)
    before, since = story.uids(), story.now
    story.plane.network.fail(CallFault(hook="sync", delay=20, until=story.now + 20 * MINUTE))
    story.edited(lambda spec: spec["engine"].update(version="0.12.1"))
    story.when(story.is_ready, lambda: len(story.uids()) >= 2)
    assert not set(story.uids().values()) & set(before.values())
    gone = [e["object"] for e in story.timeline.entries if e.get("deleted") and e["time"] > since]
    assert len(gone) == 3
    assert story.events() == []


@world()
def test_the_hook_answers_later_than_metacontroller_waits(story: Story) -> None:
    """Expected: each call is given up after 30 seconds, the events say so, and nothing else happens."""
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    before = story.uids()
    story.plane.network.fail(CallFault(hook="sync", delay=45, until=story.now + 10 * MINUTE))
    story.role_edited("server", replicas=3).passes(5 * MINUTE)
    assert story.uids() == before
    assert "Client.Timeout exceeded while awaiting headers" in story.events()[0]
    story.until_ready()
    assert before.items() <= story.uids().items()


@world()
def test_something_else_answers_in_the_hooks_place(story: Story) -> None:
    """Expected: errors and garbage change nothing. Only an empty 200 can: Metacontroller takes it at its word.

    That deletes every child, by Metacontroller's contract; when the hook is back, all is made again.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    before = story.uids()
    for fault in (CallFault(status=503, body=b"no healthy upstream"), CallFault(status=200, body=b"<html>")):
        fault.until = story.now + MINUTE
        story.plane.network.fail(fault)
        story.role_edited("server", env=[]).edited(lambda spec: spec.update(enabled=True)).passes(MINUTE)
        assert story.uids() == before
    story.until_ready()
    assert story.uids() == before
    story.plane.network.fail(CallFault(hook="sync", status=200, body=b"{}", times=1))
    story.role_edited("server", replicas=3)
    story.until(lambda: not story.uids(), within=HOUR)
    story.until_ready()
    assert not set(before.values()) & set(story.uids().values())


@world()
def test_the_hooks_clock_jumps(story: Story) -> None:
    """Expected: a clock that jumps a day ahead or back lets no replica go, and moves no time in a quiet status."""
    story.given(a_deployment(role(replicas=2), role("wide", size=2))).until_ready().passes(20 * MINUTE)
    before, status = story.uids(), story.status()
    for days in (1, -1, 0):
        story.hook_clock.wrong_by = timedelta(days=days)
        story.passes(HOUR)
        assert story.uids() == before
        assert story.status() == status


@world()
def test_the_hooks_clock_jumps_back_while_a_replica_waits(story: Story) -> None:
    """Expected: a failed replica is made again within the longest delay, five minutes, though the clock lost an hour.

    A clock that is ahead makes it earlier, never twice.
    """
    story.given(a_deployment(role(replicas=2))).until_ready().passes(MINUTE)
    story.plane.kubelet.evict(story.seat("server", 0), "memory")
    story.until(lambda: story.pod("server", 0) is None, within=MINUTE)
    story.hook_clock.wrong_by = timedelta(hours=-1)
    story.until(lambda: story.pod("server", 0) is not None, within=6 * MINUTE)
    story.until_ready(within=5 * MINUTE)
    story.hook_clock.wrong_by = timedelta()
    story.passes(HOUR)
    assert story.phase() == ("Ready", "2/2")
    assert story.plane.get(DEPLOYMENT, "team-a/qwen") is not None


@world()
def test_the_hooks_clock_jumps_while_a_member_is_lost(story: Story) -> None:
    """Expected: an hour ahead condemns a replica that waits for a member, once, and no replica that serves.

    The service cannot tell a wrong clock from time that has passed; what it may cost is the replica that was broken.
    """
    story.given(a_deployment(role(replicas=2, size=2))).until_ready().passes(2 * MINUTE)
    serving = {key: uid for key, uid in story.uids().items() if "-0-" in key}
    resource = story.plane.discovery.kind("v1", "Pod")
    story.plane.store.delete(resource, "team-a", names.pod("qwen", "server", 1, 1, 2), grace=0)
    story.until(lambda: story.interruptions() == [("MemberLost", "1", 0)], within=MINUTE)
    story.hook_clock.wrong_by = timedelta(hours=1)
    story.until_ready(within=20 * MINUTE)
    assert serving.items() <= story.uids().items()
    story.hook_clock.wrong_by = timedelta()
    story.passes(2 * HOUR)
    assert serving.items() <= story.uids().items()
    assert story.phase() == ("Ready", "2/2")
