"""What is said of queues, holders and release, in worlds that differ in one point."""

from typing import Any

import pytest

from app.explain import Explanation, Finding, explain
from app.kube import names
from app.kube.hook import JSON
from tests.support.builders import ago
from tests.support.shelf import (
    KUEUE,
    Shelf,
    a_model_deployment,
    cluster_queue,
    holder,
    local_queue,
    priority_class,
    recorded,
    seat_workload,
)

PENDING = "quota-pending-carries-kueues-words-once"
OLDER = "kueue.x-k8s.io/v1beta1"


def explained(*more: JSON, case: str = PENDING, **shelf: Any) -> Explanation:
    return explain(Shelf([*recorded(case), *more], **shelf), "team-a", "qwen")


def quota(*more: JSON, **options: Any) -> Finding:
    found = explained(*more, **options).waits
    return next(finding for finding in found if finding.about == "QuotaReserved")


def preempting(within: str, **spec: Any) -> JSON:
    return cluster_queue(preemption={"withinClusterQueue": within, "reclaimWithinCohort": "Never"}, **spec)


def older(item: JSON, seconds_ago: float) -> JSON:
    item["metadata"]["creationTimestamp"] = ago(seconds_ago)
    return item


def test_a_newer_workload_of_equal_priority_is_named_where_the_queue_preempts_those() -> None:
    newer = older(holder("job", 8, owner=("Job", "late")), 60)
    found = quota(local_queue(), preempting("LowerOrNewerEqualPriority"), newer)
    assert found.release[0].startswith("Kueue may preempt Job team-b/late")
    found = quota(local_queue(), preempting("LowerPriority"), newer)
    assert found.release[0] == "None of them has a lower priority than 0, so Kueue preempts none of them."


def test_a_priority_class_that_would_help_is_named_with_the_patch_of_the_right_role() -> None:
    classes = [priority_class("urgent", 1000), priority_class("high", 200), priority_class("low", 100)]
    held = holder("job", 8, priority=100)
    found = quota(
        local_queue(), preempting("LowerPriority"), held, *classes, case="quota-pending-names-roles-not-types"
    )
    # Our own prefill has priority 0, and nobody wants to outrank that.
    assert "A workloadPriorityClass above 100 would let it: high (200), urgent (1000)." in found.release
    line = next(command.line for command in found.commands if "workloadPriorityClass" in command.line)
    assert line.startswith("kubectl -n team-a patch modeldeployments.hangar.dev qwen --type=json -p '[")
    assert '"path":"/spec/roles/1/workloadPriorityClass","value":"high"' in line


def test_without_a_higher_class_none_is_suggested() -> None:
    found = quota(local_queue(), preempting("LowerPriority"), holder("job", 8), priority_class("low", -5))
    assert not any("workloadPriorityClass" in text for text in (*found.release, *(c.line for c in found.commands)))


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("Never", "does not claim it back (preemption.reclaimWithinCohort is Never)"),
        ("Any", "may claim its own back (preemption.reclaimWithinCohort is Any)"),
        ("LowerPriority", "may claim its own back (preemption.reclaimWithinCohort is LowerPriority)"),
    ],
)
def test_who_borrows_of_the_cohort_is_named_with_what_the_queue_may_do(policy: str, words: str) -> None:
    own = cluster_queue(used=0, cohortName="ai", preemption={"reclaimWithinCohort": policy})
    own["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = 0
    other = cluster_queue("batch", nominal=8, used=12, borrowed=4, cohortName="ai")
    stranger = cluster_queue("elsewhere", nominal=8, used=12, borrowed=4, cohortName="other")
    held = holder("job", 12, owner=("Job", "sweep"), queue="batch")
    unseen = holder("job-2", 8, owner=("Job", "unseen"), queue="elsewhere")
    found = quota(local_queue(), own, other, stranger, held, unseen)
    assert [(one.who, one.cluster_queue) for one in found.holders] == [("Job team-b/sweep", "batch")]
    assert any(text.startswith("batch borrows of the cohort") and words in text for text in found.release)
    assert "Flavor h100 of cluster queue research (cohort ai): 0 of 0" in " ".join(found.sentences)


def test_what_never_fits_is_said_before_anybody_waits_for_it() -> None:
    found = quota(local_queue(), cluster_queue(nominal=0, used=0), holder("job", 1))
    assert "One replica asks for 1 nvidia.com/gpu, and the queue never has more than 0: waiting does not help." in (
        found.sentences
    )
    assert found.holders == ()
    assert any(command.line.startswith("kubectl edit clusterqueues") for command in found.commands)


def test_a_borrowing_limit_counts_into_what_the_queue_may_ever_have() -> None:
    queue = cluster_queue(nominal=0, used=0, cohortName="ai")
    stated = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    unlimited = quota(local_queue(), queue)
    assert not any("waiting does not help" in text for text in unlimited.sentences)
    stated["borrowingLimit"] = 1
    assert not any("waiting does not help" in text for text in quota(local_queue(), queue).sentences)
    stated["borrowingLimit"] = 0
    assert any("waiting does not help" in text for text in quota(local_queue(), queue).sentences)


def test_a_queue_without_any_quota_of_the_accelerator_is_no_place_to_wait() -> None:
    queue = cluster_queue()
    flavor = queue["spec"]["resourceGroups"][0]["flavors"][0]
    flavor["resources"] = [{"name": "cpu", "nominalQuota": "96"}]
    found = quota(local_queue(), queue)
    assert "Cluster queue research has no quota of nvidia.com/gpu at all, so waiting does not help." in found.sentences


def test_a_resource_that_is_short_is_shown_rather_than_the_accelerators() -> None:
    queue = cluster_queue(nominal=8, used=0)
    queue["status"]["flavorsReservation"][0]["resources"][1]["total"] = "90500m"
    assert (
        "Flavor h100 of cluster queue research: 90500m of 96 cpu in use, 5500m free."
        in quota(local_queue(), queue).sentences
    )


@pytest.mark.parametrize(
    ("queues", "words", "line"),
    [
        (
            [local_queue()],
            "LocalQueue team-a leads to cluster queue research, and there is none of that name.",
            "kubectl get clusterqueues.kueue.x-k8s.io",
        ),
        (
            [local_queue(), cluster_queue(stopPolicy="HoldAndDrain")],
            "Cluster queue research is stopped (stopPolicy HoldAndDrain): it takes nothing on.",
            'kubectl patch clusterqueues.kueue.x-k8s.io research --type=merge -p \'{"spec":{"stopPolicy":"None"}}\'',
        ),
        (
            [local_queue("other")],
            "There is other: a role may name another queue (queueName), which turns it over.",
            '"spec":{"clusterQueue":"CLUSTER-QUEUE"}',
        ),
    ],
)
def test_what_is_wrong_with_the_queues_comes_before_any_quota(queues: list[JSON], words: str, line: str) -> None:
    found = quota(*queues, holder("job", 8))
    assert words in found.sentences
    assert any(line in command.line for command in found.commands)
    assert found.holders == ()


def test_a_queue_that_is_not_active_says_what_it_lacks() -> None:
    queue = cluster_queue()
    queue["status"]["conditions"] = [
        {"type": "Active", "status": "False", "reason": "FlavorNotFound", "message": "Can't admit: no flavor h100."}
    ]
    found = quota(local_queue(), queue)
    assert "Cluster queue research is not active: FlavorNotFound: Can't admit: no flavor h100." in found.sentences


def test_a_local_queue_speaks_for_a_cluster_queue_that_may_not_be_read() -> None:
    queue = local_queue()
    queue["status"]["conditions"] = [{"type": "Active", "status": "False", "reason": "ClusterQueueIsInactive"}]
    found = quota(queue, cluster_queue(), denied=["ClusterQueue"])
    assert "LocalQueue team-a is not active: ClusterQueueIsInactive." in found.sentences


def test_many_holders_are_cut_and_counted() -> None:
    many = [holder(f"job-{n}", 1, priority=n, owner=("Job", f"job-{n}")) for n in range(13)]
    found = quota(local_queue(), cluster_queue(), *many)
    assert [one.priority for one in found.holders] == list(range(10))
    assert "And 3 more, of the same or a higher priority." in found.release


def test_a_holder_is_named_by_its_pod_where_deployments_may_not_be_listed() -> None:
    world = [a_model_deployment("llama", "team-b", 1), seat_workload("llama", "team-b", 0, gpus=8)]
    named = quota(local_queue(), cluster_queue(), *world)
    assert [one.who for one in named.holders] == ["ModelDeployment team-b/llama"]
    hidden = explained(local_queue(), cluster_queue(), *world, denied=["ModelDeployment everywhere"])
    assert [one.who for one in hidden.waits[0].holders] == [f"Pod team-b/{names.pod('llama', 'server', 0, 0, 1)}"]
    assert any(note.startswith("ModelDeployment objects of the whole cluster: ") for note in hidden.unread)


def test_a_workload_that_is_evicted_holds_its_quota_until_it_is_gone_and_a_finished_one_holds_none() -> None:
    evicted, finished = holder("job-1", 4, owner=("Job", "leaving")), holder("job-2", 4, owner=("Job", "done"))
    evicted["status"]["conditions"].append({"type": "Evicted", "status": "True", "reason": "Preempted"})
    finished["status"]["conditions"].append({"type": "Finished", "status": "True", "reason": "Succeeded"})
    found = quota(local_queue(), cluster_queue(), evicted, finished)
    assert [one.who for one in found.holders] == ["Job team-b/leaving"]


def _in_the_older_version(item: JSON) -> JSON:
    if item["apiVersion"] != KUEUE:
        return item
    spec = dict(item["spec"]) if "spec" in item else {}
    reference = spec.pop("priorityClassRef", None)
    if reference:
        spec |= {"priorityClassName": reference["name"], "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"}
    if "cohortName" in spec:
        spec["cohort"] = spec.pop("cohortName")
    return {**item, "apiVersion": OLDER, "spec": spec}


def test_kueue_before_its_newest_version_is_read_as_well() -> None:
    held = holder("job", 8, priority=7, owner=("Job", "train"), priority_class="high")
    objects = [*recorded(PENDING), local_queue(), cluster_queue(cohortName="ai"), held]
    newer = explain(Shelf(objects), "team-a", "qwen")
    found = explain(Shelf(map(_in_the_older_version, objects), unserved=[KUEUE]), "team-a", "qwen")
    assert found == newer
    assert found.waits[0].holders[0].priority_class == "high"


def test_a_cluster_without_kueue_is_said_to_be_one() -> None:
    found = explained(unserved=[KUEUE, OLDER])
    assert "LocalQueue team-a: this cluster serves no such kind" in found.unread


def test_two_thousand_foreign_workloads_cost_one_list() -> None:
    many = [holder(f"job-{n}", 1, namespace=f"team-{n % 7}", owner=("Job", f"job-{n}")) for n in range(2000)]
    few, crowd = Shelf([*recorded(PENDING), *many[:1]]), Shelf([*recorded(PENDING), *many])
    for shelf in (few, crowd):
        shelf.objects += [local_queue(), cluster_queue()]
        explain(shelf, "team-a", "qwen")
    assert few.asked == crowd.asked


def test_roles_of_one_queue_hear_of_it_once() -> None:
    case = "quota-preempted-in-part-loses-a-kind"
    found = quota(local_queue(), cluster_queue(), holder("job", 4, owner=("Job", "train")), case=case)
    assert len(found.sentences) == len(set(found.sentences))
    assert len(found.holders) == len(set(map(str, found.holders)))
