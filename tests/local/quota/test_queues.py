"""Queues: who comes first, what those who wait are told, missing and stopped queues, excluded namespaces (trials F)."""

from typing import Any

import pytest

from app.kube.kueue import KNOWN_REASONS
from app.local.errors import Invalid
from app.local.quota.options import KueueOptions, all_but
from tests.local.quota.scene import GPU, HIGH, LOW, Scene, a_cluster_queue, a_flavor, a_local_queue, a_pod, a_priority

V = "kueue.x-k8s.io/v1beta2"
GRANULAR = KueueOptions(granular=True)
EXCLUDED = KueueOptions(managed_namespaces=all_but("excluded"))


def _reason(granular: bool, old: str, new: str) -> str:
    return new if granular else old


both = pytest.mark.parametrize("granular", [False, True], ids=["legacy", "granular"])


# Excluded namespaces


def test_our_pod_in_an_excluded_namespace_is_gated_and_nobody_looks_after_it() -> None:
    scene = Scene(options=EXCLUDED)
    scene.given(a_local_queue(space="excluded"), a_pod("p", "g", space="excluded")).passes(120)
    assert scene.gates("p", "excluded") == ["admission", "topology"]
    assert scene.workloads() == []
    assert scene.events("p") == []
    pod = scene.pod("p", "excluded")
    assert pod is not None
    conditions = [(one["type"], one["reason"]) for one in pod["status"]["conditions"]]
    assert conditions == [("PodScheduled", "SchedulingGated")]


def _plain(space: str, **labels: str) -> dict[str, Any]:
    pod = a_pod("p", space=space)
    pod["metadata"] = {"name": "p", "namespace": space, "labels": labels}
    return pod


def test_a_plain_pod_with_a_queue_runs_in_an_excluded_namespace() -> None:
    scene = Scene(options=EXCLUDED)
    scene.given(a_local_queue(space="excluded"), _plain("excluded", **{"kueue.x-k8s.io/queue-name": "lq"}))
    assert scene.gates("p", "excluded") == []
    scene.until(lambda: ((scene.pod("p", "excluded") or {}).get("status") or {}).get("phase") == "Running")


def test_the_webhook_is_not_called_for_kube_system() -> None:
    scene = Scene().given(a_pod("p", "g", space="kube-system"))
    assert scene.gates("p", "kube-system") == []


def test_a_plain_pod_with_a_queue_is_kueues_in_a_managed_namespace() -> None:
    scene = Scene().given(_plain("t", **{"kueue.x-k8s.io/queue-name": "lq"}))
    pod = scene.pod("p")
    assert pod is not None
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true"
    assert pod["metadata"]["finalizers"] == ["kueue.x-k8s.io/managed"]
    assert scene.gates("p") == ["admission", "topology"]
    scene.until(lambda: scene.running("p"))
    scene.delete("p")
    scene.until(lambda: not scene.pods(), within=60)
    scene.until(lambda: not scene.workloads(), within=1)


def test_a_plain_pod_without_a_queue_takes_the_one_called_default_where_there_is_one() -> None:
    scene = Scene().given(_plain("t"))
    assert scene.gates("p") == []
    other = Scene(a_flavor(), a_cluster_queue(), a_local_queue("default")).given(_plain("t"))
    assert other.gates("p") == ["admission", "topology"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"annotations": {}}, "both the 'kueue.x-k8s.io/pod-group-total-count' annotation"),
        ({"annotations": {"kueue.x-k8s.io/pod-group-total-count": "0"}}, "no whole number above zero"),
        ({"labels": {"kueue.x-k8s.io/managed": "yes"}}, "managed label value can only be 'true'"),
    ],
    ids=["no size", "size 0", "managed: yes"],
)
def test_a_pod_that_makes_no_group_is_refused(change: dict[str, Any], problem: str) -> None:
    pod = a_pod("p", "g")
    pod["metadata"] |= change
    with pytest.raises(Invalid, match=problem):
        Scene().plane.store.create(pod)


# Missing, inactive and stopped queues


@both
def test_a_queue_that_does_not_exist_is_named_and_its_workload_admitted_once_it_does(granular: bool) -> None:
    scene = Scene(options=KueueOptions(granular=granular))
    scene.group("g", 1, queue="nope")
    scene.passes(0.2)
    reason = _reason(granular, "Inadmissible", "Misconfigured")
    assert scene.says("g", "QuotaReserved") == ("False", reason, "LocalQueue nope doesn't exist")
    scene.given(a_local_queue("nope"))
    scene.until(lambda: scene.admitted("g"), within=2)


@both
def test_a_queue_that_leads_nowhere_names_what_is_missing(granular: bool) -> None:
    scene = Scene(a_local_queue(), options=KueueOptions(granular=granular))
    scene.group("g", 1)
    scene.passes(0.2)
    reason = _reason(granular, "Inadmissible", "Misconfigured")
    assert scene.says("g", "QuotaReserved") == ("False", reason, "ClusterQueue cq doesn't exist")
    scene.given(a_cluster_queue()).passes(0.2)
    reason = _reason(granular, "Inadmissible", "Suspended")
    assert scene.says("g", "QuotaReserved") == ("False", reason, "ClusterQueue cq is inactive")
    active = scene.plane.get(f"ClusterQueue.{V}", "cq")["status"]["conditions"][0]  # type: ignore[index]
    assert (active["status"], active["reason"]) == ("False", "FlavorNotFound")
    assert active["message"] == "Can't admit new workloads: references missing ResourceFlavor(s): default-flavor."
    scene.given(a_flavor())
    scene.until(lambda: scene.admitted("g"), within=2)


@both
@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
@pytest.mark.parametrize("which", ["LocalQueue", "ClusterQueue"])
def test_a_stopped_queue_admits_nobody_until_it_goes_on(which: str, policy: str, granular: bool) -> None:
    scene = Scene(options=KueueOptions(granular=granular))
    scene.given(a_local_queue(stopPolicy=policy) if which == "LocalQueue" else a_cluster_queue(stopPolicy=policy))
    scene.passes(2).group("g", 1)
    scene.passes(5)
    words = f"{which} {'lq' if which == 'LocalQueue' else 'cq'} is inactive"
    reason = _reason(granular, "Inadmissible", "Suspended")
    assert scene.says("g", "QuotaReserved") == ("False", reason, words)
    scene.given(a_local_queue(), a_cluster_queue())
    scene.until(lambda: scene.admitted("g"), within=2)


@pytest.mark.parametrize("which", ["LocalQueue", "ClusterQueue"])
def test_a_queue_on_hold_keeps_what_runs_and_one_that_drains_takes_it(which: str) -> None:
    scene = Scene()
    names = scene.group("g", 2)
    scene.until(lambda: scene.running(*names))

    def stop(policy: str) -> None:
        scene.given(a_local_queue(stopPolicy=policy) if which == "LocalQueue" else a_cluster_queue(stopPolicy=policy))

    stop("Hold")
    scene.passes(60)
    assert scene.running(*names)
    stop("HoldAndDrain")
    scene.until(lambda: scene.leaves("g-0"), within=1)
    told = scene.pod_says("g-0", "TerminationTarget")
    assert told == ("True", f"WorkloadEvictedDueTo{which}Stopped", f"The {which} is stopped")
    scene.until(lambda: scene.pods() == [] and scene.workloads() == [])


def test_a_namespace_that_the_cluster_queue_does_not_take_is_told() -> None:
    selector = {"matchLabels": {"team": "a"}}
    scene = Scene(a_flavor(), a_cluster_queue(namespaceSelector=selector), a_local_queue())
    scene.group("g", 1)
    scene.passes(1)
    words = "workload namespace doesn't match ClusterQueue selector"
    assert scene.says("g", "QuotaReserved") == ("False", "Pending", words)


# Who comes first, and what the others are told


def test_the_higher_priority_comes_first_then_the_older() -> None:
    scene = Scene()
    scene.group("holds", 1, 8, priority=HIGH)
    scene.passes(1)
    for title, priority in (("young-high", HIGH), ("old-low", LOW), ("young-low", LOW)):
        scene.group(title, 1, 4, priority=priority)
        scene.passes(1)
    scene.delete("holds-0")
    scene.passes(5)
    assert [title for title in ("young-high", "old-low", "young-low") if scene.admitted(title)] == [
        "young-high",
        "old-low",
    ]


@pytest.mark.parametrize(("strategy", "passes"), [("BestEffortFIFO", True), ("StrictFIFO", False)])
def test_a_small_one_passes_a_large_one_unless_the_queue_is_strict(strategy: str, passes: bool) -> None:
    scene = Scene(a_flavor(), a_cluster_queue(queueingStrategy=strategy), a_local_queue())
    scene.group("holds", 1, 6)
    scene.passes(1).group("large", 1, 4)
    scene.passes(1).group("small", 1, 1)
    scene.passes(5)
    assert scene.admitted("small") is passes


@pytest.mark.parametrize(("strategy", "first"), [("BestEffortFIFO", "late"), ("StrictFIFO", "waits")])
def test_who_comes_in_the_second_after_quota_came_back_passes_those_set_aside(strategy: str, first: str) -> None:
    scene = Scene(a_flavor(), a_cluster_queue(queueingStrategy=strategy), a_local_queue())
    scene.group("holds", 1, 8)
    scene.passes(1).group("waits", 1, 8)
    scene.passes(5).delete("holds-0")
    scene.until(lambda: "holds" not in scene.workloads())
    scene.passes(0.3).group("late", 1, 8)
    scene.passes(5)
    assert [title for title in ("waits", "late") if scene.admitted(title)] == [first]


def test_nobody_takes_what_a_preemptor_waits_for() -> None:
    scene = Scene()
    names = scene.group("victim", 1, 6, priority=LOW)
    scene.until(lambda: scene.running(*names))
    scene.group("high", 1, 8, priority=HIGH)
    scene.passes(0.1).group("small", 1, 2, priority=LOW)
    scene.until(lambda: scene.admitted("high"), within=60)
    assert not scene.admitted("small")


@both
def test_what_waits_for_quota_says_how_much_more_it_needs(granular: bool) -> None:
    scene = Scene(options=KueueOptions(granular=granular))
    scene.group("holds", 1, 6)
    scene.passes(1).group("g", 2, 2)
    scene.passes(1)
    role = scene.workload("g")["spec"]["podSets"][0]["name"]
    assert scene.says("g", "QuotaReserved") == (
        "False",
        _reason(granular, "Pending", "WaitingForQuota"),
        f"couldn't assign flavors to pod set {role}: insufficient unused quota for nvidia.com/gpu in flavor "
        "default-flavor, 2 more needed",
    )


@both
def test_what_never_fits_says_so(granular: bool) -> None:
    scene = Scene(options=KueueOptions(granular=granular))
    scene.group("g", 2, 8)
    scene.passes(1)
    role = scene.workload("g")["spec"]["podSets"][0]["name"]
    assert scene.says("g", "QuotaReserved") == (
        "False",
        _reason(granular, "Pending", "ExceedsMaxQuota"),
        f"couldn't assign flavors to pod set {role}: insufficient quota for nvidia.com/gpu in flavor default-flavor, "
        "previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)",
    )


@both
def test_a_resource_that_the_queue_does_not_have_is_named(granular: bool) -> None:
    scene = Scene(options=KueueOptions(granular=granular))
    pod = a_pod("p", "g")
    pod["spec"]["containers"][0]["resources"]["limits"] = {"amd.com/gpu": 1}
    scene.given(pod).passes(1)
    status, reason, words = scene.says("g", "QuotaReserved") or ("", "", "")
    assert (status, reason) == ("False", _reason(granular, "Pending", "NoMatchingFlavor"))
    assert words.endswith(": resource amd.com/gpu unavailable in ClusterQueue")


def test_the_newer_vocabulary_tells_a_preemptor_and_a_deactivated_one_apart() -> None:
    scene = Scene(options=GRANULAR)
    names = scene.group("victim", 1, 8, priority=LOW)
    scene.until(lambda: scene.running(*names))
    scene.group("high", 1, 8, priority=HIGH)
    scene.passes(0.2)
    assert (scene.says("high", "QuotaReserved") or ())[:2] == ("False", "WaitingForPreemptedWorkloads")
    scene.until(lambda: scene.admitted("high"))
    scene.group("parked", 1)
    scene.passes(1).sets_active("parked", False)
    scene.passes(1)
    assert (scene.says("parked", "QuotaReserved") or ())[:2] == ("False", "Deactivated")
    reasons = {said[1] for title in ("high", "parked", "victim") for said in scene.said(title, "QuotaReserved")}
    assert reasons <= KNOWN_REASONS | {"QuotaReserved"}


def test_a_priority_class_that_does_not_exist_makes_no_workload_until_it_does() -> None:
    scene = Scene()
    scene.group("g", 1, priority="urgent")
    scene.passes(5)
    assert scene.workloads() == []
    scene.given(a_priority("urgent", 1000)).passes(1)
    assert scene.workload("g")["spec"]["priority"] == 1000
    assert scene.workload("g")["spec"]["priorityClassRef"]["name"] == "urgent"
    scene.given(a_priority("urgent", 1)).passes(1)
    assert scene.workload("g")["spec"]["priority"] == 1000, "a Workload that exists keeps its priority"


def test_quota_that_is_raised_admits_those_who_wait() -> None:
    scene = Scene()
    scene.group("holds", 1, 8)
    scene.passes(1).group("g", 1, 4)
    scene.passes(2).given(a_cluster_queue(flavors={"default-flavor": 12}))
    scene.until(lambda: scene.admitted("g"), within=2)


# Flavors


def _two_flavors(**spec: Any) -> Scene:
    return Scene(
        a_flavor("h100", nodeLabels={"card": "h100"}, tolerations=[{"key": "gpu", "operator": "Exists"}]),
        a_flavor("h200", nodeLabels={"card": "h200"}),
        a_cluster_queue(flavors={"h100": 4, "h200": 4}, **spec),
        a_local_queue(),
    )


def test_the_first_flavor_that_fits_is_taken_and_its_nodes_are_asked_for() -> None:
    scene = _two_flavors()
    scene.group("a", 1, 4)
    scene.passes(1).group("b", 1, 4)
    scene.passes(1)
    pods = {title: scene.pod(title) for title in ("a-0", "b-0")}
    selectors = [pod["spec"]["nodeSelector"] for pod in pods.values() if pod]
    assert selectors == [{"card": "h100"}, {"card": "h200"}]
    assert {"key": "gpu", "operator": "Exists"} in (pods["a-0"] or {})["spec"]["tolerations"]
    assert scene.passes(2).used(flavor="h200") == "4"


def test_the_words_of_all_flavors_are_said() -> None:
    scene = _two_flavors()
    scene.group("a", 1, 4)
    scene.passes(1).group("b", 1, 3)
    scene.passes(1).group("c", 1, 2)
    scene.passes(1)
    words = (scene.says("c", "QuotaReserved") or ("", "", ""))[2]
    assert words.endswith(
        "insufficient unused quota for nvidia.com/gpu in flavor h100, 2 more needed, insufficient unused quota for "
        "nvidia.com/gpu in flavor h200, 1 more needed"
    )


@pytest.mark.parametrize(("policy", "displaced"), [("TryNextFlavor", False), ("MayStopSearch", True)])
def test_a_free_flavor_is_taken_before_anybody_is_preempted_unless_the_queue_says_otherwise(
    policy: str, displaced: bool
) -> None:
    scene = _two_flavors(flavorFungibility={"whenCanPreempt": policy})
    scene.group("victim", 1, 4, priority=LOW)
    scene.until(lambda: scene.running("victim-0"))
    scene.group("high", 1, 4, priority=HIGH)
    scene.until(lambda: scene.admitted("high"), within=60)
    assert ("victim-0" not in scene.pods()) is displaced


def test_a_flavor_that_the_pod_cannot_use_is_passed_over() -> None:
    scene = Scene(
        a_flavor("spot", nodeTaints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}]),
        a_flavor("other", nodeLabels={"card": "other"}),
        a_cluster_queue(flavors={"spot": 4, "other": 4}),
        a_local_queue(),
    )
    scene.group("g", 1, spec={"nodeSelector": {"card": "mine"}})
    scene.passes(1)
    words = (scene.says("g", "QuotaReserved") or ("", "", ""))[2]
    assert words.endswith(
        "untolerated taint {spot true NoSchedule <nil>} in flavor spot, flavor other doesn't match node affinity"
    )


def test_cpu_memory_and_pods_are_counted_and_spelled_as_kueue_does() -> None:
    queue = a_cluster_queue()
    resources = {"cpu": "4", "memory": "10Gi", "pods": 5, GPU: 8}
    queue["spec"]["resourceGroups"] = [
        {
            "coveredResources": list(resources),
            "flavors": [
                {
                    "name": "default-flavor",
                    "resources": [{"name": key, "nominalQuota": value} for key, value in resources.items()],
                }
            ],
        }
    ]
    scene = Scene(a_flavor(), queue, a_local_queue())
    for index in range(2):
        pod = a_pod(f"g-{index}", "g", 2)
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "250m", "memory": "1536Mi", GPU: 1}
        scene.given(pod)
    scene.passes(2)
    usage = scene.workload("g")["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]
    assert usage == {"cpu": "500m", "memory": "3Gi", "nvidia.com/gpu": "2", "pods": "2"}
    assert {resource: scene.used(resource=resource) for resource in resources} == usage
