"""Workloads made of Pods, and the sets of Pods that a Workload asks quota for."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from app.kube import kueue
from app.kube.hook import JSON
from app.local.quota.kinds import API_VERSION
from app.local.quota.webhook import ROLE_HASH, group_of
from app.local.room import Amounts, requests
from app.local.values import clone, labels, listed, mapping, meta, name, namespace, uid

IN_USE = f"{kueue.PREFIX}resource-in-use"
JOB_UID = f"{kueue.PREFIX}job-uid"
_INDEX_LABEL = f"{kueue.PREFIX}pod-group-pod-index"
MAIN = "main"
_LONGEST = 253 - 6


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one role: how many, what each requests, and the topology level within which all must fit."""

    name: str
    count: int
    spec: JSON
    each: Amounts
    level: str | None

    @property
    def total(self) -> Amounts:
        """What all of them request, and how many Pods they are."""
        return {resource: amount * self.count for resource, amount in self.each.items()} | {
            "pods": Fraction(self.count)
        }


def pod_sets(workload: JSON) -> tuple[PodSet, ...]:
    """The Pod sets of a Workload, in its order."""
    return tuple(
        PodSet(
            name=one["name"],
            count=one["count"],
            spec=one["template"]["spec"],
            each=requests(one["template"]),
            level=mapping(one.get("topologyRequest")).get("required"),
        )
        for one in listed(mapping(workload.get("spec")).get("podSets"))
    )


def role_of(pod: JSON) -> str:
    """The name of the Pod set that a member belongs to."""
    return str(mapping(meta(pod).get("annotations")).get(ROLE_HASH, ""))


def single_name(pod: JSON) -> str:
    """The name of the Workload of a Pod that is in no group: cut, with a hash of the kind, name and UID."""
    digest = hashlib.sha1(f"Pod\n\n{name(pod)}\n{uid(pod)}".encode(), usedforsecurity=False).hexdigest()[:5]
    return f"{f'pod-{name(pod)}'[:_LONGEST]}-{digest}"


def owner(pod: JSON, **more: bool) -> JSON:
    """The reference by which a Workload names a Pod as its owner."""
    return {"apiVersion": "v1", "kind": "Pod", "name": name(pod), "uid": uid(pod), **more}


def group_workload(pods: Sequence[JSON], priority: Mapping[str, object]) -> JSON:
    """The Workload of a group whose members all exist; none of them is its controller."""
    roles: dict[str, list[JSON]] = {}
    for pod in pods:
        roles.setdefault(role_of(pod), []).append(pod)
    found = _workload(pods[0], group_of(pods[0]), priority, (_set(key, roles[key]) for key in sorted(roles)))
    found["metadata"] |= {
        "annotations": {kueue.IS_GROUP: "true"},
        "ownerReferences": [owner(pod) for pod in pods],
    }
    return found


def single_workload(pod: JSON, priority: Mapping[str, object]) -> JSON:
    """The Workload of a Pod in no group, which is its controller."""
    found = _workload(pod, single_name(pod), priority, [_set(MAIN, [pod])])
    found["metadata"] |= {
        "labels": {JOB_UID: uid(pod)},
        "ownerReferences": [owner(pod, controller=True, blockOwnerDeletion=True)],
    }
    return found


def _workload(pod: JSON, title: str, priority: Mapping[str, object], sets: Iterable[JSON]) -> JSON:
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": title, "namespace": namespace(pod), "finalizers": [IN_USE]},
        "spec": {"podSets": list(sets), "queueName": labels(pod).get(kueue.QUEUE, ""), **priority},
    }


def _set(title: str, pods: Sequence[JSON]) -> JSON:
    topology: JSON = {"podIndexLabel": _INDEX_LABEL}
    level = mapping(meta(pods[0]).get("annotations")).get(kueue.TOPOLOGY)
    if level:
        topology["required"] = level
    template = {"metadata": {}, "spec": clone(pods[0]["spec"])}
    return {"name": title, "count": len(pods), "template": template, "topologyRequest": topology}
