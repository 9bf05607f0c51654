"""Kueue's marks on the Pods of a role with a queue: each replica is one pod group, without Kueue's finalizer.

The annotation `pod-suspending-parent` is Kueue's way for Pods of a parent that it does not know: no finalizer, so that
a member that departs is just a deleted Pod. Replicas of one Pod are groups too: their Workload has a name that is known
before it exists, and gives its quota back only when the Pod is gone.
"""

from app.api.reasons import Reason
from app.kube import kueue
from app.modeldeployment.render.subject import Subject

_PARENT = "modeldeployment"


def queue_name(subject: Subject) -> str | None:
    """The LocalQueue of the role: its own, else its InstanceType's, else None."""
    shape = subject.instance_type
    return subject.role.queue_name or (shape.queue_name if shape else None)


def queue_labels(subject: Subject) -> dict[str, str]:
    """Labels that all Pods of the role share; the group's name is the seat's."""
    queue, priority = queue_name(subject), subject.role.workload_priority_class
    if queue is None:
        return {}
    labels = {kueue.QUEUE: queue, kueue.MANAGED: "true"}
    return {**labels, kueue.PRIORITY: priority} if priority else labels


def queue_annotations(subject: Subject) -> dict[str, str]:
    """Annotations of every Pod of the role; a topology is asked for the group as a whole."""
    if queue_name(subject) is None:
        return {}
    found = {
        kueue.SUSPENDING: _PARENT,
        kueue.GROUP_SIZE: str(subject.role.size),
        kueue.RETRIABLE: "false",
    }
    if subject.role.topology is not None:
        found[kueue.TOPOLOGY] = subject.role.topology.required_level
    return found


def check_queue(subject: Subject) -> None:
    """Refuses a queue where Kueue is switched off, and what means something only with a queue."""
    role = subject.role
    if queue_name(subject) is None:
        for field, value in (("workloadPriorityClass", role.workload_priority_class), ("topology", role.topology)):
            if value is not None:
                problem = "it means something only with a queue: state queueName, or remove it"
                raise subject.refusal(Reason.ARGUMENT_CONFLICT, field, problem)
    elif not subject.settings.kueue:
        where = "queueName" if role.queue_name else f"instanceType ({role.instance_type} names a queue)"
        problem = "Kueue is switched off here: set HANGAR_KUEUE=true where it is installed, or name no queue"
        raise subject.refusal(Reason.QUEUE_UNSUPPORTED, where, problem)
