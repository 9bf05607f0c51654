"""Kueue's Pod webhooks: gates and marks on creation, and refusals of what makes no group."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from app.kube import kueue
from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local.quota.options import NAMESPACE_NAME, WITHOUT_WEBHOOK, KueueOptions
from app.local.quota.queues import Queues
from app.local.resources import Resource
from app.local.schema import Problem
from app.local.selectors import matches
from app.local.store import Store
from app.local.values import labels, listed, mapping, meta, namespace

TOPOLOGY_GATE = f"{kueue.PREFIX}topology"
ROLE_HASH = f"{kueue.PREFIX}role-hash"
FINALIZER = kueue.MANAGED
_DEFAULT_QUEUE = "default"
# What makes two members of a group the same role; images, environment, labels and volumes do not.
_SHAPE = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
    "resources",
)


class PodWebhook:
    """What happens to a Pod on its way into the store."""

    def __init__(self, store: Store, queues: Queues, options: KueueOptions) -> None:
        self._store = store
        self._queues = queues
        self._options = options

    def install(self) -> None:
        """Wraps the admission of Pods from now on."""
        pods = self._store.discovery.kind("v1", "Pod")
        self._store.discovery.add(replace(pods, admit=self._wrap(pods)))

    def manages(self, space: str) -> bool:
        """Whether Kueue looks after the Pods of a namespace."""
        found = self._store.find(self._store.discovery.kind("v1", "Namespace"), "", space)
        return matches(self._options.selector, {NAMESPACE_NAME: space, **labels(found or {})})

    def _wrap(self, pods: Resource) -> Callable[[JSON, JSON | None], tuple[JSON, list[Problem]]]:
        def admit(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
            pod, found = pods.admit(obj, stored)
            if found or namespace(pod) in WITHOUT_WEBHOOK:
                return pod, found
            if stored is None:
                self._mutate(pod)
            return pod, list(_refusals(pod))

        return admit

    def _mutate(self, pod: JSON) -> None:
        by_parent = kueue.SUSPENDING in mapping(meta(pod).get("annotations"))
        if not by_parent and not self._queue(pod):
            return
        if not by_parent:
            pod["metadata"]["finalizers"] = [*listed(meta(pod).get("finalizers")), FINALIZER]
        gates = [one.get("name") for one in listed(pod["spec"].get("schedulingGates"))]
        added = [name for name in (kueue.ADMISSION_GATE, TOPOLOGY_GATE) if name not in gates]
        pod["spec"]["schedulingGates"] = [{"name": name} for name in (*gates, *added)]
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations.setdefault(ROLE_HASH, role_hash(pod["spec"]))

    def _queue(self, pod: JSON) -> bool:
        """Whether a Pod that nobody suspends has a queue: its own, or the one called `default` of its namespace."""
        if not self.manages(namespace(pod)):
            return False
        own = labels(pod)
        if kueue.QUEUE not in own and self._queues.local_queue(namespace(pod), _DEFAULT_QUEUE) is not None:
            own = pod["metadata"]["labels"] = {**own, kueue.QUEUE: _DEFAULT_QUEUE}
        if kueue.QUEUE not in own:
            return False
        own[kueue.MANAGED] = "true"
        return True


def role_hash(spec: JSON) -> str:
    """Eight digits that are equal for members with the same scheduling shape."""
    containers = [
        {"requests": mapping(one.get("resources")).get("requests"), "ports": one.get("ports")}
        for one in (*listed(spec.get("initContainers")), *listed(spec.get("containers")))
    ]
    shape = {"containers": containers} | {key: spec[key] for key in _SHAPE if key in spec}
    return hashlib.sha256(dumps(shape)).hexdigest()[:8]


def group_of(pod: JSON) -> str:
    """The group that a Pod names, in its annotation or its label; empty for a single Pod."""
    return str(mapping(meta(pod).get("annotations")).get(kueue.GROUP) or labels(pod).get(kueue.GROUP) or "")


def group_size(pod: JSON) -> int:
    """How many members the Pod says its group has; 1 for a single Pod."""
    stated = mapping(meta(pod).get("annotations")).get(kueue.GROUP_SIZE)
    return int(stated) if stated else 1


def _refusals(pod: JSON) -> Iterator[Problem]:
    size = mapping(meta(pod).get("annotations")).get(kueue.GROUP_SIZE)
    both = f"both the '{kueue.GROUP_SIZE}' annotation and the '{kueue.GROUP}' label should be set"
    if size is not None and not group_of(pod):
        yield f"metadata.labels[{kueue.GROUP}]", f"Required value: {both}"
    elif size is None and group_of(pod):
        yield f"metadata.annotations[{kueue.GROUP_SIZE}]", f"Required value: {both}"
    elif size is not None and not (str(size).isdecimal() and int(size) > 0):
        yield f"metadata.annotations[{kueue.GROUP_SIZE}]", f"Invalid value: {size!r} is no whole number above zero"
    if labels(pod).get(kueue.MANAGED, "true") != "true":
        yield f"metadata.labels[{kueue.MANAGED}]", "Forbidden: managed label value can only be 'true'"
