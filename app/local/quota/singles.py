"""Kueue's reconciler of Pods in no group: a Workload each, which is finished as soon as its Pod is to go.

The quota of such a Pod is given back at once, while its containers still drain.
"""

from app.kube.hook import JSON
from app.local.podstatus import ENDED
from app.local.quota import conditions
from app.local.quota.jobs import Jobs
from app.local.quota.members import gated, phase, ready
from app.local.quota.podsets import MAIN, single_workload
from app.local.values import mapping, terminating


class Singles:
    """What one look at a single Pod does."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def look(self, workload: JSON | None, pod: JSON | None) -> None:
        """Brings a Pod and its Workload on by one step; what it writes makes for the next look."""
        if pod is None or terminating(pod):
            self._leave(workload, pod)
        elif workload is None:
            self._make(pod)
        elif conditions.is_true(workload, "Finished"):
            self._jobs.free([pod])
            self._jobs.let_go(workload)
        elif terminating(workload):
            self._jobs.stop([pod], "WorkloadDeleted", "Workload is deleted", even_suspended=True)
            self._jobs.free([pod])
            self._jobs.let_go(workload)
        elif phase(pod) in ENDED:
            reason = "Succeeded" if phase(pod) == "Succeeded" else "Failed"
            self._jobs.finish(workload, reason, str(mapping(pod.get("status")).get("message", "")))
        elif not self._jobs.tell_readiness(workload, ready=ready(pod)):
            self._run(workload, pod)

    def _leave(self, workload: JSON | None, pod: JSON | None) -> None:
        if workload is not None:
            if pod is not None and conditions.is_true(workload, "Evicted") and conditions.reserved(workload):
                self._jobs.release(workload, requeue=False)
                return
            self._jobs.finish(workload, "OwnerNotFound", "Owner reference not found")
            self._jobs.let_go(workload)
        if pod is not None:
            self._jobs.free([pod])

    def _make(self, pod: JSON) -> None:
        if phase(pod) in ENDED:
            self._jobs.free([pod])
            return
        priority = self._jobs.priority(pod)
        if priority is not None:
            self._jobs.create(pod, single_workload(pod, priority))

    def _run(self, workload: JSON, pod: JSON) -> None:
        if conditions.is_true(workload, "Evicted"):
            self._jobs.stop_evicted([pod], workload)
        elif gated(pod) and conditions.is_true(workload, "Admitted"):
            self._jobs.start([pod], workload, MAIN)
        elif not gated(pod) and not conditions.is_true(workload, "Admitted"):
            self._jobs.stop([pod], "NotAdmitted", "Not admitted by cluster queue")
