"""Replicas that do not serve though quota is no question: the rollout, the empty seats, and what Pods wait for."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from app.api.reasons import AdmissionReason, Reason
from app.explain.answer import Finding, Part, action_of, sentence
from app.explain.quota import ABOUT as QUOTA
from app.explain.subject import Subject, command
from app.kube import names, trouble
from app.kube.kueue import gated
from app.kube.pods import MAIN_CONTAINER, PodView, Progress

_MOST = 4
# These are told by QuotaReserved.
OF_QUOTA = frozenset(
    {
        AdmissionReason.PARKED,
        AdmissionReason.QUEUE_MISSING,
        AdmissionReason.QUEUE_STOPPED,
        AdmissionReason.PREEMPTED,
        AdmissionReason.INSUFFICIENT_QUOTA,
        AdmissionReason.WAITING_FOR_CHECKS,
    }
)


def rollout(subject: Subject) -> Iterator[Finding]:
    """ReplicasUpToDate: replicas of an older render, and declared seats that are empty."""
    status, reason, message = subject.condition("ReplicasUpToDate")
    if status != "False":
        return
    part = Part()
    part.say(sentence(message))
    for pod in [pod for pod in subject.pods if pod.terminating][:_MOST]:
        where = f" on node {pod.node_name}" if pod.node_name else ""
        part.say(f"Pod {pod.name} is terminating{where}; its seat is filled once it is gone.")
    if reason == Reason.ROLLOUT_IN_PROGRESS:
        for pod in _not_ready(subject)[:_MOST]:
            part.say(f"Pod {pod.name} does not serve: {_words(pod)}.")
    part.type(
        subject.kubectl("get", "pods", "-l", f"{names.DEPLOYMENT}={subject.name}", "-o", "wide"), "see every Pod of it"
    )
    yield part.finding("ReplicasUpToDate", reason, action_of(Reason, reason))


def pods(subject: Subject) -> Iterator[Finding]:
    """`status.admission`, but for what QuotaReserved tells already."""
    reason, message = subject.admission
    quota = subject.condition(QUOTA)[0]
    if not reason or reason in OF_QUOTA or (reason == AdmissionReason.INSUFFICIENT_CAPACITY and quota == "False"):
        return
    part = Part()
    part.say(sentence(message))
    alike = [pod for pod in _not_ready(subject) if trouble.of(pod)[0] == reason]
    for pod in alike[:_MOST]:
        where = f" on node {pod.node_name}" if pod.node_name else ""
        since = f", its engine since {pod.started_at}" if pod.started_at else ""
        part.say(f"Pod {pod.name} exists since {pod.created_at}{where}{since}.")
    look = _LOOK.get(reason)
    if look is not None and alike:
        look(subject, alike[0], part)
    yield part.finding("admission", reason, action_of(AdmissionReason, reason))


def _not_ready(subject: Subject) -> list[PodView]:
    return [pod for pod in subject.pods if pod.progress is not Progress.READY and not pod.terminating]


def _words(pod: PodView) -> str:
    return "Kueue holds it back" if gated(pod.raw) else trouble.of(pod)[1].rstrip(".")


def _describe(subject: Subject, pod: PodView, part: Part) -> None:
    part.type(subject.kubectl("describe", "pod", pod.name), "see its events")


def _nodes(subject: Subject, pod: PodView, part: Part) -> None:
    _describe(subject, pod, part)
    part.type(command("kubectl", "get", "nodes", "-o", "wide"), "see which nodes there are, and which are not ready")


def _devices(subject: Subject, pod: PodView, part: Part) -> None:
    _describe(subject, pod, part)
    if pod.node_name:
        part.type(command("kubectl", "describe", "node", pod.node_name), "see what the node offers (Allocatable)")


def _last_log(subject: Subject, pod: PodView, part: Part) -> None:
    line = subject.kubectl("logs", pod.name, "-c", MAIN_CONTAINER, "--previous", "--tail=50")
    part.type(line, "read the last words of the engine that ended")


def _log(subject: Subject, pod: PodView, part: Part) -> None:
    part.type(subject.kubectl("logs", pod.name, "-c", MAIN_CONTAINER, "--tail=50"), "read what the engine says")


_LOOK: Mapping[str, Callable[[Subject, PodView, Part], None]] = MappingProxyType(
    {
        AdmissionReason.INSUFFICIENT_CAPACITY: _nodes,
        AdmissionReason.INSUFFICIENT_DEVICES: _devices,
        AdmissionReason.IMAGE_PULL_FAILED: _describe,
        AdmissionReason.CONTAINER_CONFIG_ERROR: _describe,
        AdmissionReason.CRASH_LOOPING: _last_log,
        AdmissionReason.NOT_ANSWERING: _log,
        AdmissionReason.LOADING_MODEL: _log,
    }
)
