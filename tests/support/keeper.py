"""A controller that keeps every live child, around the throw-away kind of the recorded requests."""

from datetime import datetime

from app.kube.hook import JSON, ChildRule, HookController, RelatedRule, SyncAnswer, SyncRequest
from app.settings import ControllerSettings

QUEUES = "kueue.x-k8s.io/v1beta2"


def live(children: JSON) -> set[tuple[str, str]]:
    """Key of kind and of object of every child that is not being deleted."""
    return {
        (key, name)
        for key, group in children.items()
        for name, child in group.items()
        if "deletionTimestamp" not in child["metadata"]
    }


def keep(request: SyncRequest, _now: datetime, settings: ControllerSettings) -> SyncAnswer:
    """A stub for each live child, and their number as status."""
    kept = [
        {"apiVersion": child["apiVersion"], "kind": child["kind"], "metadata": {"name": child["metadata"]["name"]}}
        for group in request.children.values()
        for child in group.values()
        if "deletionTimestamp" not in child["metadata"]
    ]
    return SyncAnswer(status={"kept": len(kept), "cluster": settings.cluster_id or "none"}, children=kept)


def release(request: SyncRequest, _now: datetime, _settings: ControllerSettings) -> SyncAnswer:
    """Nothing stays; final once nothing is left."""
    return SyncAnswer(status={"phase": "Deleting"}, children=[], finalized=not any(request.children.values()))


def ask(parent: JSON, _settings: ControllerSettings) -> tuple[RelatedRule, ...]:
    """The Workload of the parent's name, and one queue."""
    metadata = parent["metadata"]
    return (
        RelatedRule(QUEUES, "workloads", (metadata["name"],), metadata["namespace"]),
        RelatedRule(QUEUES, "localqueues", ("lq",), metadata["namespace"]),
    )


KEEPER = HookController(
    name="keeper",
    api_version="test.example/v1alpha1",
    kind="ModelDeployment",
    resource="modeldeployments",
    children=(
        ChildRule("v1", "pods", "Pod", "OnDelete"),
        ChildRule("v1", "services", "Service", "InPlace"),
        ChildRule("v1", "configmaps", "ConfigMap", "InPlace"),
        ChildRule("apps/v1", "deployments", "Deployment", "InPlace"),
    ),
    sync=keep,
    finalize=release,
    customize=ask,
    related=((QUEUES, "workloads"), (QUEUES, "localqueues")),
)
