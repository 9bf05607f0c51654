"""Worlds whose explanation is kept as a text: a recorded deployment, and the queues and holders around it."""

from dataclasses import dataclass
from typing import Any

from app.kube.hook import JSON
from tests.support.shelf import (
    Shelf,
    a_model_deployment,
    cluster_queue,
    event,
    holder,
    local_queue,
    priority_class,
    recorded,
    seat_workload,
)

PREEMPTS: dict[str, Any] = {"preemption": {"withinClusterQueue": "LowerPriority"}}


@dataclass(frozen=True)
class World:
    """A fixture case of the controller, what else there is, and what the caller may not read."""

    case: str
    more: tuple[JSON, ...] = ()
    denied: tuple[str, ...] = ()
    with_events: tuple[tuple[str, str], ...] = ()
    about: str = "ModelDeployment"

    def shelf(self) -> Shelf:
        objects = recorded(self.case)
        subject = next(item for item in objects if item["kind"] == self.about)
        events = [event(subject, reason, message) for reason, message in self.with_events]
        return Shelf([*objects, *self.more, *events], denied=self.denied)


# A full queue: a training job of high priority, an evaluation, and another team's deployment of two replicas.
FULL = (
    local_queue(),
    holder("job-train-1", 4, priority=100, owner=("Job", "train"), priority_class="high"),
    holder("job-eval-1", 1, owner=("Job", "eval")),
    a_model_deployment("llama", "team-b", replicas=2),
    seat_workload("llama", "team-b", 0, gpus=1, priority=-10),
    seat_workload("llama", "team-b", 1, gpus=1, priority=-10),
    priority_class("low", -10),
    priority_class("urgent", 1000),
)
PREEMPTING = (*FULL, cluster_queue(**PREEMPTS))
FIXED = (*FULL, cluster_queue())
ROOM = (local_queue(), cluster_queue(used=6))

# One world for each reason of QuotaReserved that is not True, by the name of the reason.
REASONS: dict[str, World] = {
    "Pending": World("quota-pending-carries-kueues-words-once", PREEMPTING),
    "PreemptedInPart": World("quota-preempted-in-part-loses-a-kind", FIXED),
    "Parked": World("quota-one-replica-parked-by-kueue", ROOM),
    "PodGroupIncomplete": World("quota-pod-group-incomplete", FIXED),
    "NoQueueInReservedNamespace": World("quota-reserved-namespace-is-said"),
    "AdmissionInFlight": World(
        "quota-admission-in-flight-for-a-minute-names-the-namespace",
        FIXED,
        with_events=(("ErrWorkloadCompose", "'g' group has fewer runnable pods than expected"),),
        about="Pod",
    ),
    "NoReplicas": World("quota-no-replicas-yet", FIXED),
    "AllReplicasTerminating": World("quota-all-replicas-terminating", FIXED),
}

OTHERS: dict[str, World] = {
    "ready": World("quota-reserved", FIXED),
    "one-replica-would-give-its-quota-away": World("quota-pending-names-roles-not-types", FIXED),
    "pending-that-never-fits": World(
        "wait-for-quota-that-never-comes", (local_queue(), cluster_queue(nominal=0, used=0))
    ),
    "pending-in-a-queue-that-is-missing": World("wait-for-a-queue-that-does-not-exist", (cluster_queue(),)),
    "pending-in-a-queue-that-is-stopped": World(
        "wait-for-a-queue-that-is-stopped", (local_queue(stopPolicy="Hold"), cluster_queue())
    ),
    "pending-behind-a-check": World("wait-for-an-admission-check", FIXED),
    "pending-for-a-topology": World("wait-for-a-topology", ROOM),
    "pending-and-little-may-be-read": World(
        "quota-pending-carries-kueues-words-once",
        FIXED,
        ("ClusterQueue", "Workload everywhere", "ModelDeployment everywhere"),
    ),
    "pending-and-nothing-may-be-read": World(
        "quota-pending-carries-kueues-words-once", FIXED, ("LocalQueue", "Workload", "Pod", "InstanceType", "Event")
    ),
    "parked-set": World("parked-set-gives-its-quota-back", ROOM),
    "gate-held-by-a-replica-without-quota": World("turnover-waits-for-quota-and-names-who-holds-the-gate", FIXED),
    "pods-that-kueue-never-saw": World("pod-that-kueue-never-saw-is-reported-loudly", FIXED),
    "render-refused": World("missing-instance-type-keeps-what-runs"),
    "child-not-created": World(
        "object-that-does-not-come-is-named-after-a-minute",
        with_events=(("SyncError", 'pods "qwen-server-8ebd17-1" is forbidden: exceeded quota: compute'),),
    ),
    "name-taken": World("service-of-another-owner-is-left-alone"),
    "off": World("off-keeps-everything-as-it-is"),
    "deleting": World("finalize-lets-all-go-and-waits"),
    "crash-looping": World("crash-loop-names-the-exit"),
    "loading": World("loading-model-is-starting"),
    "no-node-with-room": World("no-node-with-room-names-the-scheduler"),
    "devices-that-are-missing": World("node-without-its-devices-is-named"),
    "seat-that-empties": World("terminating-pod-keeps-its-seat"),
}

WORLDS = REASONS | OTHERS
