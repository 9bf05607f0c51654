"""Workloads of either version and either vocabulary, read as one thing."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.kube.kueue import KNOWN_REASONS, Wait, taken_away, workload
from tests.support.builders import workload as a_workload

# QuotaReserved=False in Kueue 0.16 to 0.20: the reasons of the scheduler and the reconcilers up to 0.19, and those of
# `UnadmittedWorkloadsObservability`, which is on from 0.20.
LEGACY = {"Pending", "Inadmissible", "Waiting", "OnHold", "AdmissionGated"}
GRANULAR = {
    "NoMatchingFlavor",
    "WaitingForQuota",
    "ExceedsMaxQuota",
    "TopologyPlacementFailed",
    "WaitingForPreemptedWorkloads",
    "Misconfigured",
    "Suspended",
    "PendingEvaluation",
    "WaitingForPodsReady",
    "Deactivated",
    "AdmissionGated",
    "OnHold",
}


def _built(builder: Any) -> JSON:
    found: JSON = builder.build("qwen", "team-a", ["uid-0"])
    return found


def test_every_reason_that_kueue_writes_is_known() -> None:
    assert KNOWN_REASONS == LEGACY | GRANULAR


def test_a_reason_of_a_later_kueue_is_a_wait_like_any_other() -> None:
    view = workload(_built(a_workload("server", 0).pending("wait", "SomethingNew")))
    assert (view.reserved, view.wait, view.words) == (False, Wait.PENDING, "wait")


@pytest.mark.parametrize(
    ("reason", "message", "wait"),
    [
        ("Pending", "insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed", Wait.QUOTA),
        ("Inadmissible", "LocalQueue team-a doesn't exist", Wait.QUEUE_MISSING),
        ("Inadmissible", "ClusterQueue research is inactive", Wait.QUEUE_STOPPED),
        ("Misconfigured", "LocalQueue team-a doesn't exist", Wait.QUEUE_MISSING),
        ("Suspended", "LocalQueue team-a is inactive", Wait.QUEUE_STOPPED),
        ("TopologyPlacementFailed", "topology doesn't allow to fit any of 2 pod(s)", Wait.CAPACITY),
        ("WaitingForPreemptedWorkloads", "Pending the preemption of 1 workload(s)", Wait.QUOTA),
    ],
)
def test_a_wait_has_one_name_in_both_vocabularies(reason: str, message: str, wait: Wait) -> None:
    assert workload(_built(a_workload("server", 0).pending(message, reason))).wait is wait


def test_the_older_version_reads_the_same() -> None:
    newer = _built(a_workload("server", 0).admitted())
    older = {**newer, "apiVersion": "kueue.x-k8s.io/v1beta1"}
    older["spec"] = {"queueName": "team-a", "priorityClassName": "high", "active": True}
    assert workload(older) == workload(newer)


def test_a_deactivated_workload_holds_nothing_whatever_its_conditions_say() -> None:
    view = workload(_built(a_workload("server", 0).admitted().parked()))
    assert (view.parked, view.reserved, view.admitted) == (True, False, False)


def test_a_workload_without_a_verdict_waits() -> None:
    view = workload(_built(a_workload("server", 0)))
    assert (view.reserved, view.admitted, view.parked, view.preempted) == (False, False, False, False)


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ("WorkloadEvictedDueToPreempted", "Preempted"),
        ("WorkloadEvictedDueToDeactivated", "Parked"),
        ("WorkloadEvictedDueToDeactivatedDueToRequeuingLimitExceeded", "Parked"),
        ("WorkloadEvictedDueToPodsReadyTimeout", "Evicted"),
        ("WorkloadEvictedDueToClusterQueueStopped", "Evicted"),
    ],
)
def test_a_pod_that_kueue_takes_away_tells_why(reason: str, what: str) -> None:
    target = {"type": "TerminationTarget", "status": "True", "reason": reason, "message": "words"}
    assert taken_away({"status": {"conditions": [target]}}) == (what, "words")


def test_a_pod_that_others_take_away_is_not_kueues() -> None:
    target = {"type": "TerminationTarget", "status": "True", "reason": "WorkloadDeleted", "message": "words"}
    assert taken_away({"status": {"conditions": [target]}}) is None
    assert taken_away({}) is None
