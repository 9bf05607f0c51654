"""Kueue's own ways that Hangar's quota rests on, with Pods made by hand: no code of the product is in these cases.

A replica is one pod group without finalizers, single Pods too. A seat is free when neither a Pod nor the Workload of
its group is left.
"""

from collections.abc import Iterator

import pytest

from app.kube.hook import JSON
from app.local.values import name, terminating, uid
from tests.e2e.api import Api
from tests.e2e.pools import KEYS, Group, Pool, a_pool, condition
from tests.e2e.waiting import always, eventually

CARDS = 4
# Within so long whatever was deleted has left neither a Workload nor used quota.
LEAVES_NOTHING = 10
SLOW = 3.0

pytestmark = pytest.mark.usefixtures("kueue")


@pytest.fixture
def pool(api: Api, space: str) -> Iterator[Pool]:
    """Four cards."""
    with a_pool(api, space, CARDS) as pool:
        yield pool


def _runs(group: Group) -> Group:
    eventually(lambda: group.admitted() and group.running(), f"{group.name} runs")
    return group


def _leaves_nothing(group: Group) -> None:
    eventually(group.gone, f"neither a Pod nor the Workload of {group.name} is left", LEAVES_NOTHING)


def _waits(group: Group) -> JSON:
    """Its verdict, once it is complete, gated and was refused for now."""
    eventually(lambda: group.gated() and group.condition("QuotaReserved"), f"{group.name} waits")
    verdict = group.condition("QuotaReserved")
    assert verdict["status"] == "False"
    return verdict


def test_a_group_is_admitted_whole_and_nothing_holds_up_its_deletion(pool: Pool) -> None:
    group = _runs(pool.group("a", 4))
    assert group.finalizers() == []
    workload = group.workload()
    assert workload is not None
    assert workload["metadata"]["annotations"][f"{KEYS}/is-group-workload"] == "true"
    owners = workload["metadata"]["ownerReferences"]
    assert {one["uid"] for one in owners} == {uid(pod) for pod in group.pods()}
    assert not any(one.get("controller") for one in owners)
    eventually(lambda: pool.in_use() == 4, "its cards are counted")


def test_an_incomplete_group_waits_without_a_workload(pool: Pool) -> None:
    group = Group(pool, "a", 2, "", 0.1, "queue")
    group.create(0)
    always(lambda: group.workload() is None and group.pods()[0]["spec"].get("schedulingGates"), "it waits", SLOW)
    group.create(1)
    _runs(group)


def test_a_waiting_group_that_is_deleted_leaves_nothing(pool: Pool) -> None:
    holder = _runs(pool.group("holder", 4))
    group = pool.group("a", 4)
    assert "insufficient unused quota" in _waits(group)["message"]
    group.delete()
    _leaves_nothing(group)
    assert holder.running()
    holder.delete()
    _leaves_nothing(holder)
    eventually(lambda: pool.in_use() == 0, "no card is in use", LEAVES_NOTHING)


def test_a_running_group_keeps_its_quota_until_its_last_pod_is_gone(pool: Pool) -> None:
    group = _runs(pool.group("a", 2, stops_in=SLOW))
    group.delete()

    def gone() -> bool:
        workload = group.workload()
        if group.pods():  # so there were Pods when the Workload was read
            assert workload is not None
            assert condition(workload, "Admitted")["status"] == "True"
        return workload is None

    eventually(gone, "the Workload is gone", LEAVES_NOTHING)
    assert group.gone()
    eventually(lambda: pool.in_use() == 0, "no card is in use", LEAVES_NOTHING)


@pytest.mark.parametrize("size", [1, 4])
def test_a_preempted_group_says_so_and_gives_way_when_its_last_pod_is_gone(pool: Pool, size: int) -> None:
    others = [_runs(pool.group(f"other-{number}", urgent=True)) for number in range(CARDS - size)]
    victim = _runs(pool.group("victim", size, stops_in=SLOW))
    urgent = pool.group("urgent", size, urgent=True)
    eventually(lambda: victim.condition("Evicted").get("reason") == "Preempted", "the victim is preempted")
    eventually(lambda: all(terminating(pod) for pod in victim.pods()), "all its Pods end")
    targets = [condition(pod, "TerminationTarget") for pod in victim.pods()]
    assert [one.get("reason") for one in targets] == ["WorkloadEvictedDueToPreempted"] * size
    assert all(one["message"].startswith("Preempted to accommodate a workload") for one in targets)

    def taken_over() -> bool:
        admitted = urgent.admitted()
        assert not (admitted and victim.pods())  # Pods that are there now were there when it was admitted
        return admitted

    eventually(taken_over, "the urgent group is admitted")
    _leaves_nothing(victim)
    _runs(urgent)
    assert all(other.running() for other in others)


def test_a_waiting_group_that_is_parked_stays_so_until_it_is_resumed(pool: Pool) -> None:
    holder = _runs(pool.group("holder", 4))
    group = pool.group("a", 2)
    _waits(group)
    group.active(False)
    eventually(lambda: group.condition("Evicted").get("reason") == "Deactivated", "it is parked")
    holder.delete()
    _leaves_nothing(holder)
    always(group.gated, "a parked group waits though cards are free", SLOW)
    group.active(True)
    _runs(group)


def test_a_parked_group_that_waited_leaves_nothing(pool: Pool) -> None:
    pool.group("holder", 4)
    group = pool.group("a", 2)
    _waits(group)
    group.active(False)
    eventually(lambda: group.condition("Evicted").get("reason") == "Deactivated", "it is parked")
    group.delete()
    _leaves_nothing(group)


@pytest.mark.parametrize("size", [1, 4])
def test_a_running_group_that_is_parked_ends_and_kueue_forgets_it(pool: Pool, size: int) -> None:
    group = _runs(pool.group("a", size, stops_in=SLOW))
    group.active(False)
    eventually(lambda: all(terminating(pod) for pod in group.pods()), "all its Pods end")
    reasons = {condition(pod, "TerminationTarget").get("reason") for pod in group.pods()}
    assert reasons == {"WorkloadEvictedDueToDeactivated"}
    _leaves_nothing(group)
    eventually(lambda: pool.in_use() == 0, "no card is in use", LEAVES_NOTHING)
    _runs(pool.group("a", size))  # the same seat: nothing in Kueue remembers that it was parked


def test_a_preempted_group_waits_in_its_seat_and_runs_when_there_is_room_again(pool: Pool) -> None:
    victim = _runs(pool.group("victim", 4))
    urgent = pool.group("urgent", 4, urgent=True)
    _leaves_nothing(victim)
    _runs(urgent)
    again = pool.group("victim", 4)
    assert "insufficient unused quota" in _waits(again)["message"]
    urgent.delete()
    _runs(again)
    eventually(lambda: pool.in_use() == 4, "its cards are counted once")


def test_a_seat_can_be_used_again_once_it_is_empty(pool: Pool) -> None:
    before = _runs(pool.group("a", 2))
    uids = {uid(pod) for pod in before.pods()}
    before.delete()
    _leaves_nothing(before)
    after = _runs(pool.group("a", 2))
    assert not uids & {uid(pod) for pod in after.pods()}


def test_pods_that_are_made_into_a_draining_group_are_deleted(pool: Pool) -> None:
    group = _runs(pool.group("a", 2, stops_in=SLOW))
    group.delete()
    for member in range(2):
        group.create(member, suffix="-early")
    eventually(lambda: not any(name(pod).endswith("-early") for pod in group.pods()), "the early Pods are deleted")
    assert len(group.pods()) == 2  # the old ones still drain


def test_a_lost_member_comes_back_into_the_quota_that_its_group_kept(pool: Pool, api: Api) -> None:
    group = _runs(pool.group("a", 4))
    workload = group.workload()
    assert workload is not None
    lost = group.pods()[1]
    api.delete(lost)
    eventually(lambda: len(group.pods()) == 3, "the member is gone")
    rival = pool.group("rival")
    assert "insufficient unused quota" in _waits(rival)["message"]
    group.create(1)
    _runs(group)
    after = group.workload()
    assert after is not None
    assert uid(after) == uid(workload)
    assert rival.gated()


def test_a_queue_that_does_not_exist_is_told(pool: Pool) -> None:
    verdict = _waits(pool.group("a", queue="nowhere"))
    assert verdict["reason"] == "Inadmissible"
    assert verdict["message"] == "LocalQueue nowhere doesn't exist"
