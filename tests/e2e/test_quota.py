"""Roles with a queue, on a real API server with a real Kueue: who runs, who waits, and what the status says of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.kube import names
from app.kube.hook import JSON
from app.local.values import uid
from tests.e2e.api import Api
from tests.e2e.deployments import Deployment, a_role
from tests.e2e.kueue import WORKLOAD
from tests.e2e.pools import QUEUE, Pool, a_pool
from tests.e2e.waiting import eventually

CARDS = 4
# Within so long whatever was deleted has left neither a Workload nor used quota.
LEAVES_NOTHING = 10

pytestmark = pytest.mark.usefixtures("driver", "kueue")

Deploy = Callable[..., Deployment]


@pytest.fixture
def pool(api: Api, space: str) -> Iterator[Pool]:
    """Four cards."""
    with a_pool(api, space, CARDS) as pool:
        yield pool


@pytest.fixture
def deploy(api: Api, space: str, pool: Pool) -> Deploy:
    """Creates a deployment of these roles, called `chat` unless named; `urgent` ones preempt the others."""

    def create(*roles: JSON, name: str = "chat", urgent: bool = False) -> Deployment:
        priority = {"workloadPriorityClass": pool.urgent} if urgent else {}
        deployment = Deployment(api, space, name, *({**role, "queueName": QUEUE, **priority} for role in roles))
        deployment.create()
        return deployment

    return create


def _workload(api: Api, deployment: Deployment, role: str, ordinal: int) -> JSON | None:
    return api.find(WORKLOAD, f"{deployment.space}/{names.group(deployment.name, role, ordinal)}")


def _role_status(deployment: Deployment, role: str) -> JSON:
    roles = deployment.get().get("status", {}).get("roles", [])
    return next((dict(one) for one in roles if one["name"] == role), {})


def _says(deployment: Deployment, reason: str, seconds: float = 30) -> JSON:
    def said() -> JSON | None:
        found = deployment.condition("QuotaReserved")
        by_default = (found.get("status"), found.get("reason")) == ("Unknown", "Pending")
        return found if found.get("reason") == reason and not by_default else None

    return eventually(said, f"{deployment.name} says QuotaReserved/{reason}", seconds)


def _scale(role: str, replicas: int) -> Callable[[JSON], Any]:
    def change(spec: JSON) -> None:
        next(one for one in spec["roles"] if one["name"] == role)["replicas"] = replicas

    return change


def test_replicas_take_their_quota_and_leave_none_behind(deploy: Deploy, pool: Pool, space: str) -> None:
    deployment = deploy(a_role("a", replicas=2), a_role("b", size=2))
    deployment.await_ready()
    assert _says(deployment, "Reserved")["status"] == "True"
    assert _role_status(deployment, "a")["quotaReserved"] == 2
    assert _role_status(deployment, "b")["quotaReserved"] == 1
    assert _role_status(deployment, "b")["assignedFlavors"] == [space]
    assert not any(pod["metadata"].get("finalizers") for pod in deployment.pods())
    eventually(lambda: pool.in_use() == CARDS, "all cards are in use")
    deployment.delete()
    eventually(deployment.gone, "it is gone")
    eventually(lambda: pool.in_use() == 0, "no quota is held", LEAVES_NOTHING)


def test_who_waits_says_for_what_and_runs_when_it_comes(deploy: Deploy) -> None:
    holder = deploy(a_role("a", replicas=CARDS), name="holder")
    holder.await_ready()
    waiting = deploy(a_role("a", replicas=2))
    assert "insufficient unused quota" in _says(waiting, "Pending")["message"]
    found = waiting.get()["status"]
    assert (found["phase"], found["admission"]["reason"]) == ("Starting", "InsufficientQuota")
    assert _role_status(waiting, "a")["quotaReserved"] == 0
    holder.edit(_scale("a", 2))
    waiting.await_ready()
    holder.await_ready()


def test_a_preemption_is_told_and_the_same_seat_comes_back(deploy: Deploy, api: Api) -> None:
    deployment = deploy(a_role("a", replicas=CARDS))
    deployment.await_ready()
    before = deployment.uids()
    urgent = deploy(a_role("x", replicas=2), name="urgent", urgent=True)
    urgent.await_ready()
    eventually(lambda: "2 of 4 replicas" in _says(deployment, "PreemptedInPart")["message"], "both losses are told")
    kept = deployment.uids()
    status = deployment.get()["status"]
    assert {entry["reason"] for entry in status["interruptions"]} == {"Preempted"}
    assert status["phase"] == "Degraded"
    urgent.delete()
    deployment.await_ready()
    after = deployment.uids()
    assert after.keys() == before.keys()
    assert sum(after[name] == before[name] for name in before) == 2, "those that kept their quota were not touched"
    assert kept.items() & before.items() <= after.items()


def test_a_replica_of_four_pods_is_preempted_and_comes_back_whole(deploy: Deploy) -> None:
    deployment = deploy(a_role("a", size=4))
    deployment.await_ready()
    urgent = deploy(a_role("x"), name="urgent", urgent=True)
    urgent.await_ready()
    eventually(lambda: _role_status(deployment, "a")["quotaReserved"] == 0, "its quota is gone")
    urgent.delete()
    deployment.await_ready()


def test_a_waiting_replica_that_kueue_deactivates_is_parked_until_it_is_resumed(deploy: Deploy, api: Api) -> None:
    holder = deploy(a_role("a", replicas=3), name="holder")
    holder.await_ready()
    deployment = deploy(a_role("a", replicas=2))
    eventually(lambda: _role_status(deployment, "a").get("ready") == 1, "one of two serves")
    waits = next(i for i in range(2) if not _admitted(_workload(api, deployment, "a", i)))
    _deactivate(api, _workload(api, deployment, "a", waits))
    assert "1 of 2 replicas parked" in _says(deployment, "Parked")["message"]
    holder.edit(_scale("a", 1))
    deployment.edit(lambda spec: spec.update(resumedAt="now"))
    deployment.await_ready()
    assert "parked" not in deployment.get()["status"]


def test_a_running_replica_that_kueue_deactivates_stays_away_until_it_is_resumed(deploy: Deploy, api: Api) -> None:
    deployment = deploy(a_role("a", replicas=2))
    deployment.await_ready()
    _deactivate(api, _workload(api, deployment, "a", 1))
    _says(deployment, "Parked")
    eventually(lambda: len(deployment.pods()) == 1, "its Pod is gone and not made again")
    eventually(lambda: _workload(api, deployment, "a", 1) is None, "so is its Workload", LEAVES_NOTHING)
    deployment.edit(lambda spec: spec.update(resumedAt="now"))
    deployment.await_ready()


def test_an_edit_rolls_out_on_a_full_pool(deploy: Deploy) -> None:
    deployment = deploy(a_role("a", replicas=CARDS))
    deployment.await_ready()
    before = deployment.uids()
    deployment.edit(lambda spec: spec["roles"][0].update(extraArgs=["--max-num-seqs=64"]))
    deployment.await_ready(120)
    after = deployment.uids()
    assert after.keys() == before.keys()
    assert not after.items() & before.items()


def test_a_lost_member_comes_back_under_the_reservation_of_its_group(deploy: Deploy, api: Api) -> None:
    deployment = deploy(a_role("a", size=4))
    deployment.await_ready()
    workload = _workload(api, deployment, "a", 0)
    before = deployment.uids()
    api.delete(deployment.pods()[1])
    eventually(lambda: deployment.uids() != before, "the member is another")
    deployment.await_ready()
    assert uid(_workload(api, deployment, "a", 0) or {}) == uid(workload or {})
    assert len(deployment.uids().items() & before.items()) == 3


def test_scaling_in_and_out_uses_the_same_seats_again(deploy: Deploy, pool: Pool) -> None:
    deployment = deploy(a_role("a", replicas=CARDS))
    deployment.await_ready()
    deployment.edit(_scale("a", 0))
    eventually(lambda: not deployment.pods(), "all Pods are gone")
    eventually(lambda: pool.in_use() == 0, "no quota is held", LEAVES_NOTHING)
    deployment.edit(_scale("a", CARDS))
    deployment.await_ready()


def _admitted(workload: JSON | None) -> bool:
    conditions = (workload or {}).get("status", {}).get("conditions", [])
    return any(one["type"] == "Admitted" and one["status"] == "True" for one in conditions)


def _deactivate(api: Api, workload: JSON | None) -> None:
    assert workload is not None
    api.patch(workload, {"spec": {"active": False}})
