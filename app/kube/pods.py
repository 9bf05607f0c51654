"""Pods as observed: the few facts of one that decide anything, read out of its JSON.

What an API server never sends (labels that are no map, conditions that are no list) reads as absent, and an absent
fact never deletes anything.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from app.kube import names
from app.kube.hook import JSON

MAIN_CONTAINER = "main"
# Kueue's label on a Pod that takes its quota from a LocalQueue.
QUEUE = "kueue.x-k8s.io/queue-name"


class Progress(IntEnum):
    """How far a Pod has come."""

    UNBOUND = 0
    BOUND = 1
    STARTED = 2  # the engine's process runs
    READY = 3


@dataclass(frozen=True, slots=True)
class PodView:
    """One observed Pod.

    `role`, `ordinal` and `member` are what its labels say; empty or None where they say nothing that can be read.
    `queued`: it names a LocalQueue of Kueue. `created_at` and `started_at` are Kubernetes timestamps; `started_at` is
    the engine container's and absent until it runs. `raw` is the object itself, for who explains a Pod that does not
    serve.
    """

    key: str
    name: str
    uid: str
    role: str
    ordinal: int | None
    member: int | None
    pod_hash: str
    queued: bool
    progress: Progress
    ended: bool
    terminating: bool
    node_name: str
    created_at: str
    started_at: str
    raw: JSON


def mapping(value: Any) -> JSON:
    """`value` where it is a map, else an empty one."""
    return value if isinstance(value, dict) else {}


def maps(value: Any) -> list[JSON]:
    """The maps in `value` where it is a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """`value` where it is a string, else the empty one."""
    return value if isinstance(value, str) else ""


def _item(found: Any, key: str, value: str) -> JSON:
    """The first map in a list that has that value, or an empty one. Read for every Pod, so no list is made of it."""
    if isinstance(found, list):
        for item in found:
            if isinstance(item, dict) and item.get(key) == value:
                return item
    return {}


def condition(status: JSON, kind: str) -> JSON:
    """The condition of that type in a status, or an empty map."""
    return _item(status.get("conditions"), "type", kind)


def main_status(status: JSON) -> JSON:
    """The status of the engine's container, or an empty map."""
    return _item(status.get("containerStatuses"), "name", MAIN_CONTAINER)


def view(key: str, pod: JSON) -> PodView:
    """Reads one Pod; `key` is Metacontroller's `namespace/name` for it."""
    metadata, status = mapping(pod.get("metadata")), mapping(pod.get("status"))
    labels = mapping(metadata.get("labels"))
    node_name = text(mapping(pod.get("spec")).get("nodeName"))
    running = mapping(mapping(main_status(status).get("state")).get("running"))
    phase = status.get("phase")
    progress = Progress.BOUND if node_name else Progress.UNBOUND
    if running:
        progress = Progress.STARTED
    if phase == "Running" and condition(status, "Ready").get("status") == "True":
        progress = Progress.READY
    return PodView(
        key=key,
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        role=text(labels.get(names.ROLE)),
        ordinal=names.count(text(labels.get(names.REPLICA))),
        member=names.count(text(labels.get(names.MEMBER))),
        queued=QUEUE in labels,
        pod_hash=text(mapping(metadata.get("annotations")).get(names.POD_HASH)),
        progress=progress,
        ended=phase in ("Failed", "Succeeded"),
        terminating=bool(metadata.get("deletionTimestamp")),
        node_name=node_name,
        created_at=text(metadata.get("creationTimestamp")),
        started_at=text(running.get("startedAt")),
        raw=pod,
    )
