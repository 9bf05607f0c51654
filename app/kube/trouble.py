"""Why a Pod does not serve yet, in the words of who knows: the scheduler, the kubelet, the container itself."""

from app.api.reasons import AdmissionReason
from app.kube.hook import JSON
from app.kube.pods import PodView, Progress, condition, main_status, mapping, maps, text

_PULL = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
    }
)
_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})

Trouble = tuple[AdmissionReason | None, str]


def of(pod: PodView) -> Trouble:
    """The open question of one Pod that is not ready: a reason where one is known, and a sentence (may be empty)."""
    status = mapping(pod.raw.get("status"))
    if pod.ended:
        return _ended(status)
    if pod.progress is Progress.UNBOUND:
        return _unbound(status)
    for container in maps(status.get("initContainerStatuses")) + maps(status.get("containerStatuses")):
        found = _container(container)
        if found:
            return found
    if pod.progress is Progress.STARTED:
        if main_status(status).get("started") is True:
            return AdmissionReason.NOT_ANSWERING, "the engine answered before and does not now"
        return AdmissionReason.LOADING_MODEL, "the engine runs and does not answer yet"
    return None, "its containers are being created"


def _unbound(status: JSON) -> Trouble:
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        return AdmissionReason.INSUFFICIENT_CAPACITY, text(scheduled.get("message"))
    return None, "it waits for the scheduler"


def _ended(status: JSON) -> Trouble:
    reason, message = text(status.get("reason")), text(status.get("message"))
    words = f"{reason}: {message}" if reason and message else reason or message or "it ended"
    refused_by_node = reason.startswith("OutOf") or reason == "UnexpectedAdmissionError"
    return (AdmissionReason.INSUFFICIENT_DEVICES if refused_by_node else None), words


def _container(container: JSON) -> Trouble | None:
    waiting = mapping(mapping(container.get("state")).get("waiting"))
    reason, message = text(waiting.get("reason")), text(waiting.get("message"))
    if reason in _PULL:
        return AdmissionReason.IMAGE_PULL_FAILED, message or reason
    if reason in _CONFIG:
        return AdmissionReason.CONTAINER_CONFIG_ERROR, message or reason
    if reason == "CrashLoopBackOff" or _failed_just_now(container):
        return AdmissionReason.CRASH_LOOPING, _last_words(container)
    return None


def _failed_just_now(container: JSON) -> bool:
    ended = mapping(mapping(container.get("state")).get("terminated"))
    return bool(ended) and ended.get("exitCode") != 0


def _last_words(container: JSON) -> str:
    """The exit that the kubelet saw last, with the count of restarts."""
    ended = mapping(mapping(container.get("state")).get("terminated")) or mapping(
        mapping(container.get("lastState")).get("terminated")
    )
    name, restarts = text(container.get("name")), container.get("restartCount", 0)
    if not ended:
        return f"container {name} ends again and again ({restarts} restarts)"
    why = text(ended.get("reason"))
    return (
        f"container {name} ended with exit code {ended.get('exitCode')}{f' ({why})' * bool(why)}, {restarts} restarts"
    )
