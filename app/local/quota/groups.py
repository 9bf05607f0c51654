"""Kueue's reconciler of Pod groups: one Workload per group, made when all members exist, gone with the last of them.

A group keeps its quota until none of its Pods runs any more. A member that has gone is waited for; one of the same role
takes its place, but not while the old one still drains on its node: then the newcomer is one too many, and is deleted.
"""

from collections.abc import Callable, Sequence

from app.kube import kueue
from app.kube.hook import JSON
from app.local.podstatus import ENDED
from app.local.quota import conditions, kinds
from app.local.quota.jobs import Jobs
from app.local.quota.members import (
    Matched,
    born,
    match,
    oldest_first,
    overdue_at,
    phase,
    ready,
    retriable,
    runnable,
    running,
    suspended,
)
from app.local.quota.podsets import group_workload, owner, pod_sets
from app.local.quota.webhook import group_of, group_size
from app.local.values import labels, mapping, meta, name, namespace, owners, qualified, terminating, uid

# Asks for another look at the group, so many seconds from now.
Again = Callable[[float], None]


class Groups:
    """What one look at a group does."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def look(self, workload: JSON | None, pods: Sequence[JSON], again: Again) -> None:
        """Brings a group and its Workload on by one step; what it writes makes for the next look."""
        pods = sorted(pods, key=born)
        if not pods:
            if workload is not None and is_group(workload):
                self._jobs.let_go(workload)
        elif workload is None:
            self._compose(pods)
        elif not is_group(workload):
            words = (
                f'A Workload named "{name(workload)}" already exists but is not a pod group workload; this pod group '
                "cannot be admitted"
            )
            self._jobs.events.warn(pods[0], "WorkloadNameConflict", words)
        elif conditions.is_true(workload, "Finished"):
            self._jobs.free(pods)
            self._jobs.let_go(workload)
        elif terminating(workload):
            self._jobs.stop(pods, "WorkloadDeleted", "Workload is deleted", even_suspended=True)
            self._jobs.free(pods)
            self._jobs.let_go(workload)
        else:
            self._bring_on(workload, pods, again)

    def _compose(self, pods: Sequence[JSON]) -> None:
        """Makes the Workload once all members exist."""
        counting, gone = [pod for pod in pods if runnable(pod)], [pod for pod in pods if not runnable(pod)]
        self._jobs.free(gone)
        size, title = group_size(pods[0]), group_of(pods[0])
        if any(running(pod, self._jobs.clock.now()) for pod in pods):
            return
        if len(counting) < size:
            words = f"'{title}' group has fewer runnable pods than expected"
            self._jobs.events.warn(pods[0], "ErrWorkloadCompose", words)
            return
        if any(_says(pod) != _says(pods[0]) for pod in pods if phase(pod) != "Failed"):
            return
        kept = oldest_first(counting)
        self._delete_excess(kept[size:])
        priority = self._jobs.priority(pods[0])
        if priority is not None:
            self._jobs.create(pods[0], group_workload(sorted(kept[:size], key=born), priority))

    def _bring_on(self, workload: JSON, pods: Sequence[JSON], again: Again) -> None:
        found = match(pods, pod_sets(workload))
        if not found.kept:
            self._jobs.store.delete(kinds.WORKLOAD, namespace(workload), name(workload))
            self._jobs.let_go(workload)
            self._jobs.events.note(pods[0], "DeletedWorkload", f"Deleted not matching Workload: {qualified(workload)}")
        elif not self._own(workload, found.kept):
            self._delete_excess(found.excess)
            self._jobs.free(found.replaced)
            if not (self._tell_absence(workload, found) or self._finish(workload, found.kept)):
                self._run(workload, found.kept, again)

    def _own(self, workload: JSON, pods: Sequence[JSON]) -> bool:
        """Adds members that the Workload does not name as its owners; whether there were any."""
        known = {reference.get("uid") for reference in owners(workload)}
        added = [owner(pod) for pod in pods if uid(pod) not in known]
        if added:
            references = [*owners(workload), *added]
            self._jobs.store.update(
                {**workload, "metadata": {**meta(workload), "ownerReferences": references}}, manager=kinds.MANAGER
            )
            self._jobs.events.note(workload, "OwnerReferencesAdded", f"Added {len(added)} owner reference(s)")
        return bool(added)

    def _delete_excess(self, pods: Sequence[JSON]) -> None:
        self._jobs.free(pods)
        for pod in pods:
            if not terminating(pod):
                resource = self._jobs.store.discovery.of(pod)
                self._jobs.store.delete(resource, namespace(pod), name(pod), uid_is=uid(pod))
                self._jobs.events.note(pod, "ExcessPodDeleted", "Excess pod deleted")

    def _tell_absence(self, workload: JSON, found: Matched) -> bool:
        """Writes whether the group waits for replacements; whether that was news."""
        before = conditions.words(workload, "WaitingForReplacementPods")
        waits = conditions.is_true(workload, "WaitingForReplacementPods")
        if not found.absent and not waits:
            return False
        said = ("PodsReady", "No pods need replacement")
        if found.absent:
            said = ("PodsFailed", "Some Failed pods need replacement")
            if conditions.is_true(workload, "Evicted"):
                said = conditions.words(workload, "Evicted")
        if waits == bool(found.absent) and before == said:
            return False
        now = self._jobs.clock.now()
        conditions.put(workload, now, "WaitingForReplacementPods", bool(found.absent), *said)
        self._jobs.store.update_status(workload, manager=kinds.MANAGER)
        return True

    def _finish(self, workload: JSON, pods: Sequence[JSON]) -> bool:
        """Whether the group has come to its end: all succeeded, or all ended and one forbids another try."""
        done, size = sum(phase(pod) == "Succeeded" for pod in pods), group_size(pods[0])
        over = all(phase(pod) in ENDED for pod in pods) and not all(retriable(pod) for pod in pods)
        if done != size and not over:
            return False
        self._jobs.finish(workload, "Succeeded", f"Pods succeeded: {done}/{size}.")
        return True

    def _run(self, workload: JSON, pods: Sequence[JSON], again: Again) -> None:
        whole = len(pods) >= group_size(pods[0]) and all(ready(pod) for pod in pods)
        if self._jobs.tell_readiness(workload, ready=whole):
            return
        if conditions.is_true(workload, "Evicted"):
            self._jobs.stop_evicted(pods, workload)
            if conditions.reserved(workload):
                self._release(workload, pods, again)
        elif any(suspended(pod) for pod in pods):
            if conditions.is_true(workload, "Admitted"):
                self._jobs.start(pods, workload)
        elif not conditions.is_true(workload, "Admitted"):
            self._jobs.stop(pods, "NotAdmitted", "Not admitted by cluster queue")

    def _release(self, workload: JSON, pods: Sequence[JSON], again: Again) -> None:
        """Gives the quota back once none of the Pods runs; a stuck one is waited for no longer than twice its grace."""
        now = self._jobs.clock.now()
        holding = [pod for pod in pods if running(pod, now)]
        if not holding:
            self._jobs.release(workload, requeue=True)
            return
        ends = [end for pod in holding if (end := overdue_at(pod)) is not None]
        if ends:
            again(max(0.0, (min(ends) - now).total_seconds()) + 1)


def is_group(workload: JSON) -> bool:
    """Whether a Workload was made for a Pod group."""
    return mapping(meta(workload).get("annotations")).get(kueue.IS_GROUP) == "true"


def _says(pod: JSON) -> tuple[str, int]:
    """What all members must say alike: the queue and the size of the group."""
    return str(labels(pod).get(kueue.QUEUE, "")), group_size(pod)
