"""How somebody else takes a Pod away: the eviction API, the scheduler for a Pod of higher priority, the taint manager.

All say so in the Pod's status first and then delete it with its grace. PodDisruptionBudgets are not imitated.
"""

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.podstatus import Words, with_condition
from app.local.store import Store
from app.local.values import mapping, name, namespace, terminating

EVICTION = Words("EvictionByEvictionAPI", "Eviction API: evicting")
PREEMPTION = Words("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod")


def disrupt(store: Store, clock: Clock, pod: JSON, why: Words) -> None:
    """Takes a stored Pod away; one that is on its way out already stays as it is."""
    if terminating(pod):
        return
    marked = with_condition(mapping(pod.get("status")), clock.now(), "DisruptionTarget", True, why.reason, why.message)
    store.update_status({**pod, "status": marked})
    store.delete(store.discovery.of(pod), namespace(pod), name(pod))
