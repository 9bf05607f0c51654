"""A local run is read as a cluster is, so that it is explained by the same words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.cli.cluster import local_cluster
from app.cli.localreader import LocalReader
from app.cli.main import exit_code
from app.explain import explain
from app.explain.text import lines
from app.kube.hook import JSON
from app.kube.reader import NotFound, NotServed, ObjectKind
from app.local.plane import Plane
from app.local.quota.options import KueueOptions
from tests.support.shelf import KUEUE
from tests.worlds.story import a_deployment, role

DEPLOYMENT = ObjectKind("hangar.dev/v1alpha1", "ModelDeployment")
POD = ObjectKind("v1", "Pod")


@contextmanager
def a_run(kueue: KueueOptions | None = None) -> Iterator[Plane]:
    """A control plane with Hangar behind it."""
    with local_cluster(kueue=kueue or False) as cluster:
        yield cluster.plane


def _queues(gpus: int) -> list[JSON]:
    quotas = [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": quotas}]}
    return [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "h100"}},
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": "research"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "team-a", "namespace": "team-a"},
            "spec": {"clusterQueue": "research"},
        },
    ]


def test_a_run_whose_quota_another_deployment_holds_names_that_one() -> None:
    with a_run(KueueOptions()) as plane:
        for item in (*_queues(2), a_deployment(role(replicas=2, queueName="team-a"), name="first")):
            plane.apply(item)
        plane.run_for(600)
        plane.apply(a_deployment(role(queueName="team-a")))
        plane.run_for(600)
        found = explain(LocalReader(plane), "team-a", "qwen")
    (finding,) = found.waits
    assert (finding.about, finding.reason) == ("QuotaReserved", "Pending")
    assert "Flavor h100 of cluster queue research: 2 of 2 nvidia.com/gpu in use, 0 free." in finding.sentences
    (holder,) = finding.holders
    assert (holder.who, dict(holder.amounts)) == ("ModelDeployment team-a/first", {"nvidia.com/gpu": "2"})
    assert found.unread == ()


def test_a_run_without_kueue_is_explained_too() -> None:
    with a_run() as plane:
        plane.apply(a_deployment())
        plane.run_for(5)
        starting = "\n".join(lines(explain(LocalReader(plane), "team-a", "qwen")))
        plane.run_for(3600)
        ready = "\n".join(lines(explain(LocalReader(plane), "team-a", "qwen")))
    assert starting.startswith("team-a/qwen is Starting: 0 of 1 replicas ready.")
    assert ready.startswith("team-a/qwen is Ready: 1 of 1 replicas ready; it waits for nothing.")


def test_objects_are_chosen_by_namespace_labels_and_fields() -> None:
    with a_run() as plane:
        plane.apply(a_deployment(role(replicas=2)))
        plane.run_for(60)
        reader = LocalReader(plane)
        pods = reader.list(POD, "team-a", labels={"hangar.dev/deployment": "qwen"})
        assert len(pods) == 2
        name = pods[0]["metadata"]["name"]
        assert reader.get(POD, name, "team-a") == pods[0]
        assert reader.list(POD, fields={"metadata.name": name}) == [pods[0]]
        assert reader.list(POD, "default") == []
        with pytest.raises(NotFound):
            reader.get(POD, name, "default")
        unknown = ObjectKind(KUEUE, "Workload")
        with pytest.raises(NotServed):
            reader.list(unknown)
        with pytest.raises(NotServed):
            reader.get(unknown, "x", "team-a")


def test_a_run_explains_in_the_end_who_holds_what_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", "examples/quota.yaml", "--timeout", "10m", "--explain"]) == 1
    said = capsys.readouterr().out
    assert "team-a/chat is Ready: 3 of 3 replicas ready; it waits for nothing." in said
    assert "team-a/long-documents is Starting: 0 of 1 replicas ready." in said
    assert "It is held by:\n    3 nvidia.com/gpu in 3 Workloads: ModelDeployment team-a/chat" in said
