"""Worlds of replicas of several Pods: one of them is lost."""

from app.kube import names
from tests.worlds.story import HOUR, MINUTE, Story, a_deployment, a_node, role, world


def _kill(story: Story, ordinal: int, member: int) -> None:
    """A Pod is deleted by force: it and its process are gone at once."""
    resource = story.plane.discovery.kind("v1", "Pod")
    story.plane.store.delete(resource, "team-a", names.pod("qwen", "server", ordinal, member, 4), grace=0)


def _uids_of(story: Story, ordinal: int) -> dict[str, str]:
    prefix = names.seat("qwen", "server", ordinal)
    return {key: uid for key, uid in story.uids().items() if key.startswith(f"{prefix}-")}


@world()
def test_one_member_of_four_is_lost(story: Story) -> None:
    """Expected: its replica does not count while it is not whole, and the lost member alone is made again.

    The other three keep their UIDs, and so does the other replica. Once it serves, the loss is forgotten.
    """
    story.given(a_deployment(role(replicas=2, size=4))).until_ready().passes(2 * MINUTE)
    first, second = _uids_of(story, 0), _uids_of(story, 1)
    _kill(story, 1, 2)
    story.passes(0.2)
    assert story.phase() == ("Degraded", "1/2")
    assert story.interruptions() == [("MemberLost", "1", 0)]
    story.until_ready(within=5 * MINUTE).passes(2)
    assert _uids_of(story, 0) == first
    lost = names.pod("qwen", "server", 1, 2, 4)
    assert {key for key, uid in _uids_of(story, 1).items() if second[key] != uid} == {lost}
    assert story.interruptions() == []


FOUR = [a_node(f"node-{letter}", gpu=1) for letter in "abcd"]


@world(nodes=FOUR)
def test_a_lost_member_finds_no_room(story: Story) -> None:
    """Expected: the survivors wait thirty minutes for it; then the replica is let go whole and made anew.

    It is condemned once, not every thirty minutes: the new replica lacks no member, one of its Pods only waits for
    room. When room comes it is Ready.
    """
    story.given(a_deployment(role(size=4))).until_ready().passes(2 * MINUTE)
    before = _uids_of(story, 0)
    lost = story.pods()[names.pod("qwen", "server", 0, 3, 4)]["spec"]["nodeName"]
    story.plane.nodes.kill(lost)
    story.plane.nodes.remove(lost)
    story.until(lambda: story.interruptions() == [("MemberLost", "0", 0)], within=2 * MINUTE)
    at = story.now
    story.passes(29 * MINUTE)
    assert len(_uids_of(story, 0).items() & before.items()) == 3, "the survivors hold their cards"
    assert "3 Insufficient nvidia.com/gpu" in story.status()["admission"]["message"]
    story.until(lambda: not set(_uids_of(story, 0).values()) & set(before.values()), within=2 * MINUTE)
    assert 30 * MINUTE - 5 <= story.now - at <= 30 * MINUTE + 5
    story.passes(MINUTE)
    anew = _uids_of(story, 0)
    assert len(anew) == 4
    story.passes(3 * HOUR)
    assert _uids_of(story, 0) == anew
    assert story.phase() == ("Starting", "0/1")
    story.plane.nodes.add(a_node("node-e", gpu=1))
    story.until_ready(within=5 * MINUTE)
    assert _uids_of(story, 0) == anew


@world()
def test_a_member_is_lost_after_an_edit(story: Story) -> None:
    """Expected: a new member would mix versions, so the replica is let go whole at once and made from the new spec.

    The edit had not reached it yet: the gate was held by the other replica, which does not serve.
    """
    story.given(a_deployment(role(replicas=2, size=4))).until_ready().passes(2 * MINUTE)
    before = _uids_of(story, 0)
    story.edited(lambda spec: spec["engine"].update(version="0.12.1"))
    story.until(lambda: len(_uids_of(story, 1)) == 0, within=MINUTE)
    _kill(story, 0, 1)
    story.until_ready(within=HOUR)
    assert not set(_uids_of(story, 0).values()) & set(before.values())
    images = {pod["spec"]["containers"][0]["image"] for pod in story.pods().values()}
    assert len(images) == 1
