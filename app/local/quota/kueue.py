"""Kueue as one thing in a control plane: its kinds, webhook, scheduler and reconcilers."""

from app.kube import kueue
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.quota import kinds
from app.local.quota.groups import Groups, is_group
from app.local.quota.jobs import Jobs
from app.local.quota.ledger import Ledger
from app.local.quota.options import KueueOptions
from app.local.quota.podsets import single_name
from app.local.quota.queues import Queues
from app.local.quota.queuestatus import QueueStatus
from app.local.quota.scheduler import Scheduler
from app.local.quota.singles import Singles
from app.local.quota.webhook import PodWebhook, group_of
from app.local.quota.workloads import WorkloadController
from app.local.store import Store
from app.local.table import Change
from app.local.values import labels, name, namespace, owners, uid

# From a change of Pods or their Workload to the reconciler's look at them.
DELAY = 0.04
# The garbage collector has read that no owner is left; what is added to the Workload after that does not save it.
DOOM = 0.07
# Namespace, and the group's name or the single Pod's; the third says which of the two.
_Unit = tuple[str, str, bool]


class Kueue:
    """Watches Pods and Workloads, and reconciles the groups and single Pods that they make."""

    def __init__(self, store: Store, clock: Clock, options: KueueOptions) -> None:
        self._store = store
        self._clock = clock
        for one in kinds.KINDS:
            store.discovery.add(one)
        queues = Queues(store)
        ledger = Ledger(store)
        jobs = Jobs(store, clock, queues, granular=options.granular)
        WorkloadController(store, clock, queues, options)
        Scheduler(store, clock, queues, ledger, options)
        QueueStatus(store, clock, queues, ledger)
        self._groups, self._singles = Groups(jobs), Singles(jobs)
        self._webhook = PodWebhook(store, queues, options)
        self._webhook.install()
        self._pods = store.discovery.kind("v1", "Pod")
        self._members: dict[_Unit, set[str]] = {}
        self._due: set[_Unit] = set()
        store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == self._pods.key:
            self._on_pod(change)
        elif change.resource.key == kinds.WORKLOAD.key:
            self._on_workload(change.new)
        elif change.resource.key in {kinds.PRIORITY_CLASS.key, "Namespace.v1"}:
            for unit in list(self._members):
                self._look_later(unit)

    def _on_pod(self, change: Change) -> None:
        pod = change.new
        if labels(pod).get(kueue.MANAGED) != "true":
            return
        unit = _unit(pod)
        if change.type == "DELETED":
            self._members.get(unit, set()).discard(name(pod))
            if not self._members.get(unit):
                self._members.pop(unit, None)
                self._leave(pod)
        else:
            self._members.setdefault(unit, set()).add(name(pod))
        self._look_later(unit)

    def _on_workload(self, workload: JSON) -> None:
        for reference in owners(workload):
            self._look_later((namespace(workload), str(reference.get("name")), False))
        self._look_later((namespace(workload), name(workload), True))

    def _leave(self, pod: JSON) -> None:
        """The last Pod of a unit has gone. The Workload of a group goes too, whoever comes meanwhile."""
        space, title, grouped = _unit(pod)
        if not grouped:
            self._clock.after(DELAY, lambda: self._singles.look(self._workload_of(pod), None))
            return
        workload = self._store.find(kinds.WORKLOAD, space, title)
        if workload is not None and is_group(workload):
            self._clock.after(DOOM, lambda: self._collect(space, title, uid(workload)))

    def _workload_of(self, pod: JSON) -> JSON | None:
        return self._store.find(kinds.WORKLOAD, namespace(pod), single_name(pod))

    def _collect(self, space: str, title: str, identity: str) -> None:
        found = self._store.find(kinds.WORKLOAD, space, title)
        if found is not None and uid(found) == identity:
            self._store.delete(kinds.WORKLOAD, space, title)

    def _look_later(self, unit: _Unit, seconds: float = DELAY) -> None:
        if unit not in self._due:
            self._due.add(unit)
            self._clock.after(seconds, lambda: self._look(unit))

    def _look(self, unit: _Unit) -> None:
        self._due.discard(unit)
        space, title, grouped = unit
        if not self._webhook.manages(space):
            return
        found = [self._store.find(self._pods, space, member) for member in sorted(self._members.get(unit, ()))]
        pods = [pod for pod in found if pod is not None]
        if grouped:
            workload = self._store.find(kinds.WORKLOAD, space, title)
            self._groups.look(workload, pods, lambda seconds: self._clock.after(seconds, lambda: self._look(unit)))
        elif pods:
            self._singles.look(self._workload_of(pods[0]), pods[0])


def _unit(pod: JSON) -> _Unit:
    group = group_of(pod)
    return (namespace(pod), group, True) if group else (namespace(pod), name(pod), False)
