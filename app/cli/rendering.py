"""What Hangar would make of a ModelDeployment of which nothing is there yet."""

from collections.abc import Mapping
from datetime import UTC, datetime

from app.api.kinds import MODEL_DEPLOYMENT
from app.kube import names
from app.kube.canonical import dumps
from app.kube.hook import JSON, SyncAnswer, SyncRequest, Unreadable
from app.kube.pods import mapping, maps, text
from app.modeldeployment.controller import CONTROLLER
from app.settings import ControllerSettings
from app.wire.requests import parse_sync

INSTANCE_TYPE_KEY = f"InstanceType.{names.API_VERSION}"
# Nothing that is rendered depends on the time or on who the object is.
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_UID = "00000000-0000-0000-0000-000000000000"


def first_answer(deployment: JSON, instance_types: Mapping[str, JSON], settings: ControllerSettings) -> SyncAnswer:
    """The answer to the first sync of a deployment, without what its status remembers."""
    metadata = {"namespace": "default", "uid": _UID, "generation": 1, **mapping(deployment.get("metadata"))}
    parent = {
        "apiVersion": names.API_VERSION,
        "kind": MODEL_DEPLOYMENT.kind,
        "metadata": {key: value for key, value in metadata.items() if key != "deletionTimestamp"},
        "spec": deployment.get("spec"),
    }
    children: dict[str, dict[str, JSON]] = {rule.key: {} for rule in CONTROLLER.children}
    return CONTROLLER.sync(SyncRequest(parent, children, {INSTANCE_TYPE_KEY: instance_types}), _NOW, settings)


def refusal(answer: SyncAnswer) -> str:
    """Why nothing was rendered, empty where something was: the message of the condition Stalled."""
    conditions = maps(answer.status.get("conditions"))
    found = (one for one in conditions if one.get("type") == "Stalled" and one.get("status") == "True")
    return next((text(one.get("message")) for one in found), "")


def pod_hash(pod: JSON) -> str:
    """The hash that tells whether a Pod is outdated, empty where it has none."""
    return text(mapping(mapping(pod.get("metadata")).get("annotations")).get(names.POD_HASH))


def moved_hashes(request: JSON, redacted: JSON, settings: ControllerSettings) -> dict[str, str]:
    """Pod hashes of the deployment in a recorded sync request, and what they are of its redacted copy.

    Without this a replay would take every Pod for outdated: the hash covers values that are not there any more.
    """
    try:
        before, after = (_hashes(one, settings) for one in (request, redacted))
    except Unreadable:
        return {}  # the service refuses such a request, so no hash of it is ever compared
    return {old: after[name] for name, old in before.items() if after.get(name, old) != old}


def _hashes(request: JSON, settings: ControllerSettings) -> dict[str, str]:
    """Pod hash by Pod name of a request's deployment. Raises `Unreadable`."""
    read = parse_sync(dumps(request), CONTROLLER, "sync")
    deployment = {**read.parent, "spec": {**mapping(read.parent.get("spec")), "enabled": True}}
    answer = first_answer(deployment, read.related.get(INSTANCE_TYPE_KEY, {}), settings)
    return {pod["metadata"]["name"]: pod_hash(pod) for pod in answer.children if pod["kind"] == "Pod"}
