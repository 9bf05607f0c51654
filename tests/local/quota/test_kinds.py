"""Kueue's manifests as they are taken, and what is refused because nobody here would act on it."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.errors import Invalid
from app.local.quota.placement import read_placement
from tests.local.quota.scene import GPU, Scene, a_cluster_queue, a_flavor, a_local_queue

V = "kueue.x-k8s.io/v1beta2"


def test_a_short_manifest_gets_the_defaults_of_the_real_api() -> None:
    scene = Scene()
    spec = scene.plane.get(f"ClusterQueue.{V}", "cq")["spec"]  # type: ignore[index]
    assert (spec["queueingStrategy"], spec["stopPolicy"]) == ("BestEffortFIFO", "None")
    assert spec["flavorFungibility"] == {"whenCanPreempt": "TryNextFlavor"}
    local = scene.plane.get(f"LocalQueue.{V}", "t/lq")
    assert local is not None
    assert local["spec"] == {"clusterQueue": "cq", "stopPolicy": "None"}


def test_a_cluster_queue_that_says_nothing_about_preemption_preempts_nobody() -> None:
    queue = a_cluster_queue()
    del queue["spec"]["preemption"]
    scene = Scene(a_flavor(), queue, a_local_queue())
    assert scene.plane.get(f"ClusterQueue.{V}", "cq")["spec"]["preemption"] == {  # type: ignore[index]
        "withinClusterQueue": "Never"
    }


def test_what_means_something_only_in_a_cohort_is_taken() -> None:
    preemption = {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "Never"}}
    Scene(a_flavor(), a_cluster_queue(preemption=preemption), a_local_queue())


REFUSED: dict[str, tuple[JSON, str]] = {
    "a cohort": (a_cluster_queue(cohortName="all"), "spec.cohortName: this control plane does not imitate it"),
    "admission checks": (
        a_cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "x"}]}),
        "spec.admissionChecksStrategy: this control plane does not imitate it",
    ),
    "a strategy that is none": (a_cluster_queue(queueingStrategy="LIFO"), "spec.queueingStrategy: Unsupported value"),
    "a quota that is none": (
        a_cluster_queue(flavors={"default-flavor": "many"}),
        r"resources\[0\].nominalQuota: Invalid value: 'many' is not a Kubernetes quantity",
    ),
    "a local queue to nowhere": (
        {"apiVersion": V, "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "t"}, "spec": {}},
        "spec.clusterQueue: Required value",
    ),
    "a priority without a value": (
        {"apiVersion": V, "kind": "WorkloadPriorityClass", "metadata": {"name": "x"}},
        "value: Required value",
    ),
    "a field that no flavor has": (a_flavor(labels={"a": "b"}), "spec.labels: this control plane does not imitate it"),
}


@pytest.mark.parametrize(("manifest", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_imitated_or_is_wrong_is_refused(manifest: JSON, problem: str) -> None:
    manifest = {**manifest, "metadata": {**manifest["metadata"], "name": "another"}}
    with pytest.raises(Invalid, match=problem):
        Scene().plane.apply(manifest)


def test_resources_of_a_flavor_must_be_those_of_their_group() -> None:
    queue = a_cluster_queue("another")
    queue["spec"]["resourceGroups"][0]["coveredResources"] = ["cpu", GPU]
    with pytest.raises(Invalid, match="must name the coveredResources of its group, in their order"):
        Scene().plane.apply(queue)


def test_a_placement_is_read_in_every_spelling_of_the_api() -> None:
    """Kueue spells equal values and counts once, and cuts what roots have in common."""
    assignment: dict[str, Any] = {
        "levels": ["rack", "host"],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [
                    {"universal": "a"},
                    {"individual": {"prefix": "node-", "suffix": ".x", "roots": ["1", "2"]}},
                ],
                "podCounts": {"universal": 3},
            }
        ],
    }
    found = read_placement({"podSetAssignments": [{"name": "main", "topologyAssignment": assignment}]})
    assert found == {
        "main": {
            (("rack", "a"), ("host", "node-1.x")): 3,
            (("rack", "a"), ("host", "node-2.x")): 3,
        }
    }
