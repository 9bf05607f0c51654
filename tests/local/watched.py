"""A control plane with even durations, and questions about its Pods and nodes: what the cluster tests share."""

from typing import Any

from app.kube import times
from app.kube.hook import JSON
from app.local.clock import START
from app.local.durations import Durations
from app.local.faults import Pods
from app.local.plane import Plane
from app.local.podstatus import condition

EVEN = Durations(bind=1, pull=10, start=1, load=30, drain=3, spread=0)
GATE = {"httpGet": {"port": 8000}}
# Bound at 1 s, pulled at 11 s, running from 12 s on, answering from 42 s on.
RUNNING, ANSWERING = 12, 42


def the_pod(plane: Plane, title: str = "p") -> JSON:
    """The Pod in namespace `t`."""
    found = plane.get("Pod.v1", f"t/{title}")
    assert found is not None, f"there is no Pod {title}"
    return found


def the_container(plane: Plane, title: str = "p") -> JSON:
    """The status of the Pod's first container."""
    found: JSON = the_pod(plane, title)["status"]["containerStatuses"][0]
    return found


def the_state(plane: Plane, title: str = "p") -> tuple[str, str]:
    """In which state the container is, and the reason of it."""
    ((kind, state),) = the_container(plane, title)["state"].items()
    return kind, state.get("reason", "")


def the_condition(plane: Plane, kind: str, title: str = "p") -> tuple[str, float]:
    """Status of a condition, and the simulated second since when it has it."""
    found = condition(the_pod(plane, title), kind)
    since = times.parse(found["lastTransitionTime"])
    assert since is not None
    return found["status"], (since - START).total_seconds()


def all_events(plane: Plane, title: str = "p") -> list[str]:
    """Reasons of the events of a Pod or node, sorted."""
    found = [one for one in plane.all_of("Event.v1") if one["involvedObject"]["name"] == title]
    return sorted(one["reason"] for one in found)


def a_node(title: str, *, taints: list[JSON] | None = None, labels: JSON | None = None, **room: Any) -> JSON:
    """A Node object; `gpu=2` is two cards."""
    allocatable = {"nvidia.com/gpu" if key == "gpu" else key: value for key, value in room.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": title, "labels": labels or {}},
        "spec": {"taints": taints} if taints else {},
        "status": {"allocatable": allocatable} if allocatable else {},
    }


def asking(**amounts: Any) -> JSON:
    """The resources of a container; `gpu=2` is two cards."""
    asked = {"nvidia.com/gpu" if key == "gpu" else key: value for key, value in amounts.items()}
    return {"resources": {"limits": asked}}


P = Pods("t", "p")
