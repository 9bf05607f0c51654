"""Sizes that must hold for any input: an answer is applied, stored and read by people."""

import orjson

from tests.support.answers import answer
from tests.support.builders import a_deployment, ago, pod

KIB = 1024
LONG = "0/900 nodes are available: " + "insufficient nvidia.com/gpu, " * 400


def test_a_status_stays_below_128_kib_for_a_thousand_pods_with_the_longest_words() -> None:
    pods = [pod("server", i).unbound(f"{LONG} ({i})") for i in range(1000)]
    found = answer(a_deployment().with_role("server", replicas=1000).having(*pods).request())
    assert len(orjson.dumps(found.status)) < 128 * KIB
    assert len(found.status["replicas"]) + found.status["replicasOmitted"] == 1000


def test_a_status_stays_below_128_kib_when_every_replica_of_every_role_failed_in_its_own_way() -> None:
    deployment = a_deployment()
    for role in range(10):
        failed = [pod(f"role-{role}", i).ended(f"Reason{i}", f"{LONG} ({role}, {i})") for i in range(100)]
        deployment = deployment.with_role(f"role-{role}", replicas=100).having(*failed)
    deployment = deployment.with_status(
        interruptions=[
            {"role": f"role-{role}", "reason": reason, "seats": "0-99", "at": ago(60 * minute), "message": LONG}
            for role in range(10)
            for minute, reason in enumerate(("Failed", "Evicted", "Preempted", "MemberLost"))
        ]
    )
    found = answer(deployment.request())
    assert len(orjson.dumps(found.status)) < 128 * KIB
    assert len(found.status["interruptions"]) <= 64


def test_every_message_ends_within_1024_characters() -> None:
    envelope = a_deployment().with_role("server", image=None).request()
    envelope["parent"]["spec"]["roles"][0]["ports"] = [{"port": f"{'x' * 40}{i}"} for i in range(900)]
    status = answer(envelope).status
    messages = [status["phaseMessage"], *(item["message"] for item in status["conditions"])]
    assert max(len(message) for message in messages) <= 1024


def test_an_answer_that_keeps_a_thousand_pods_stays_below_300_kb() -> None:
    pods = [pod("server", i) for i in range(1000)]
    found = answer(a_deployment().with_role("server", replicas=1000).having(*pods).with_services().request())
    assert sum(child["kind"] == "Pod" for child in found.children) == 1000
    assert len(orjson.dumps([found.status, found.children])) < 300_000
