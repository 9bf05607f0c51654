"""What a namespace looks like when a case in it failed, for the report."""

from collections.abc import Iterator

from app.kube.hook import JSON
from app.local.errors import ApiError
from app.local.values import listed, mapping, name, terminating
from tests.e2e.api import Api
from tests.e2e.deployments import KEY
from tests.e2e.kueue import WORKLOAD

_EVENTS = 15


def told(api: Api, space: str) -> str:
    """Deployments, Workloads and Pods with what they say of themselves, and the last events: a line each."""
    try:
        return "\n".join(_lines(api, space))
    except ApiError as error:
        return f"the API server does not tell: {error}"


def _lines(api: Api, space: str) -> Iterator[str]:
    for key in (KEY, WORKLOAD):
        if api.kinds.serves(key):
            for one in api.all_of(key, space):
                yield f"{one['kind']} {name(one)}"
                yield from (f"  {_condition(condition)}" for condition in listed(_status(one).get("conditions")))
    for pod in api.all_of("Pod.v1", space):
        gates = [gate["name"] for gate in listed(pod["spec"].get("schedulingGates"))]
        ends = " (terminating)" if terminating(pod) else ""
        yield f"Pod {name(pod)}: {_status(pod).get('phase')}{ends}, on {pod['spec'].get('nodeName')}, gates {gates}"
    for event in api.all_of("Event.v1", space)[-_EVENTS:]:
        about = event["involvedObject"]
        yield f"{event.get('reason')} {about.get('kind')}/{about.get('name')}: {event.get('message')}"


def _status(obj: JSON) -> JSON:
    return mapping(obj.get("status"))


def _condition(one: JSON) -> str:
    return f"{one['type']}={one['status']} {one.get('reason')}: {one.get('message')}"
