"""Queues and Workloads as other Workloads meet them, in both versions of Kueue's API."""

from fractions import Fraction
from typing import Any

import pytest

from app.kube.claims import claim
from app.kube.hook import JSON
from app.kube.queues import amount, cluster_queue, local_queue


def _queue(spec: JSON | None = None, **status: Any) -> JSON:
    return {"metadata": {"name": "research"}, "spec": spec or {}, "status": status}


def test_reserved_quota_counts_though_its_workload_is_not_admitted_yet() -> None:
    quota = {"name": "gpu", "nominalQuota": "8", "borrowingLimit": "4"}
    groups = [{"flavors": [{"name": "h100", "resources": [quota]}]}]
    usage = [{"name": "h100", "resources": [{"name": "gpu", "total": "6"}]}]
    reserved = [{"name": "h100", "resources": [{"name": "gpu", "total": "10", "borrowed": "2"}]}]
    (only_used,) = cluster_queue(_queue({"resourceGroups": groups}, flavorsUsage=usage)).quotas
    (both,) = cluster_queue(_queue({"resourceGroups": groups}, flavorsUsage=usage, flavorsReservation=reserved)).quotas
    assert [only_used.used, only_used.free] == [6, 2]
    assert [both.used, both.borrowed, both.free, both.borrowing_limit] == [10, 2, 0, 4]


@pytest.mark.parametrize(("field", "value"), [("cohortName", "ai"), ("cohort", "ai")])
def test_the_cohort_is_read_by_either_name(field: str, value: str) -> None:
    assert cluster_queue(_queue({field: value})).cohort == "ai"


def test_a_queue_that_states_no_policy_preempts_nobody_and_is_not_stopped() -> None:
    found = cluster_queue(_queue({"stopPolicy": "None"}))
    assert (found.within, found.reclaim, found.stopped, found.inactive, found.pending) == (
        "Never",
        "Never",
        "",
        None,
        None,
    )


def test_a_stop_is_said_once_by_its_policy() -> None:
    stopped = {"type": "Active", "status": "False", "reason": "Stopped", "message": "is stopped"}
    found = local_queue(_queue({"clusterQueue": "research", "stopPolicy": "Hold"}, conditions=[stopped]))
    assert (found.cluster_queue, found.stopped, found.inactive) == ("research", "Hold", None)


@pytest.mark.parametrize(
    ("quantity", "value"), [("500m", Fraction(1, 2)), (8, 8), ("1Ki", 1024), ("eight", 0), (None, 0), (["8"], 0)]
)
def test_a_quantity_that_cannot_be_read_is_none(quantity: object, value: Fraction) -> None:
    assert amount(quantity) == value


def _workload(spec: JSON | None = None, **status: Any) -> JSON:
    return {"metadata": {"name": "w", "namespace": "team-a"}, "spec": spec or {}, "status": status}


def _pod_set(count: int, *containers: JSON, first: tuple[JSON, ...] = ()) -> JSON:
    return {"count": count, "template": {"spec": {"containers": list(containers), "initContainers": list(first)}}}


def _asking(cpu: str, **more: Any) -> JSON:
    return {"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "64", "gpu": "2"}}, **more}


def test_a_workload_asks_for_the_sum_of_its_pods() -> None:
    found = claim(_workload({"podSets": [_pod_set(2, _asking("1"), _asking("500m")), _pod_set(1, _asking("1"))]}))
    assert found.requests == {"cpu": 4, "gpu": 10}


def test_an_init_container_counts_where_it_asks_for_more_and_a_sidecar_beside_the_rest() -> None:
    loader, sidecar = _asking("8"), _asking("1", restartPolicy="Always")
    assert claim(_workload({"podSets": [_pod_set(1, _asking("4"), first=(loader,))]})).requests == {"cpu": 8, "gpu": 2}
    assert claim(_workload({"podSets": [_pod_set(1, _asking("4"), first=(sidecar,))]})).requests == {"cpu": 5, "gpu": 4}


def test_kueues_own_account_goes_before_ours() -> None:
    found = claim(_workload({"podSets": [_pod_set(1, _asking("1"))]}, resourceRequests=[{"resources": {"cpu": "3"}}]))
    assert found.requests == {"cpu": 3}


def test_what_is_held_is_counted_by_flavor() -> None:
    assignments = [
        {"flavors": {"gpu": "h100", "cpu": "any"}, "resourceUsage": {"gpu": "2", "cpu": "8"}},
        {"flavors": {"gpu": "h100"}, "resourceUsage": {"gpu": "1"}},
    ]
    found = claim(_workload(admission={"podSetAssignments": assignments}))
    assert found.held == {("h100", "gpu"): 3, ("any", "cpu"): 8}
    assert found.spellings == {"gpu": "1", "cpu": "8"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (0, "")),
        ({"priority": 7, "priorityClassRef": {"name": "high"}}, (7, "high")),
        ({"priority": -3, "priorityClassName": "low"}, (-3, "low")),
    ],
)
def test_priority_and_its_class_are_read_in_both_versions(spec: JSON, expected: tuple[int, str]) -> None:
    found = claim(_workload(spec))
    assert (found.priority, found.priority_class) == expected


def test_the_controller_is_the_owner_and_without_one_the_first() -> None:
    owners = [{"kind": "Pod", "name": "a"}, {"kind": "Job", "name": "b", "controller": True}]
    item = _workload()
    assert claim(item).owner == ("", "")
    item["metadata"]["ownerReferences"] = owners
    assert claim(item).owner == ("Job", "b")
    item["metadata"]["ownerReferences"] = owners[:1]
    assert claim(item).owner == ("Pod", "a")
