"""`hangar resume`: lets what is parked ask for quota again."""

from datetime import UTC, datetime, timedelta

import typer

from app.cli.connecting import DEPLOYMENT, Context, Kubeconfig, Name, Namespace, about, connected
from app.cluster import Cluster, Conflict
from app.kube import times
from app.kube.hook import JSON
from app.kube.pods import condition, mapping, maps, text
from app.kube.reader import ReadError

# The controller writes the status while this reads it; each new attempt looks again whether anything is parked.
_ATTEMPTS = 5


class NothingParked(ReadError):
    """There is nothing to resume; the message says what is so instead."""


def resume(name: Name, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """Let the parked replicas of a ModelDeployment ask for quota again, by a new value of spec.resumedAt.

    Exit codes: 0 done; 1 nothing is parked, you may not, or the cluster does not answer; 2 a mistake in the command
    line or the kubeconfig.
    """
    with connected(kubeconfig, context, name) as cluster:
        where = namespace or cluster.namespace
        with about(where, name):
            before, after = resumed(cluster, where, name, datetime.now(UTC))
    typer.echo("\n".join(_said(before, after)))


def resumed(cluster: Cluster, namespace: str, name: str, now: datetime) -> tuple[JSON, JSON]:
    """The deployment before and after. Raises `NothingParked`, and `ReadError` where it cannot be read or written."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _once(cluster, namespace, name, now)
        except Conflict:
            continue
    return _once(cluster, namespace, name, now)


def _once(cluster: Cluster, namespace: str, name: str, now: datetime) -> tuple[JSON, JSON]:
    found = cluster.get(DEPLOYMENT, name, namespace)
    _check(found)
    used = {text(mapping(found.get("spec")).get("resumedAt")), text(_parked(found).get("resumedAt"))}
    while times.render(now) in used:  # any other value would do as well
        now += timedelta(seconds=1)
    changes: JSON = {
        "metadata": {"resourceVersion": mapping(found.get("metadata")).get("resourceVersion")},
        "spec": {"resumedAt": times.render(now)},
    }
    after = cluster.patch(DEPLOYMENT, name, changes, namespace)
    if mapping(after.get("spec")).get("resumedAt") != times.render(now):
        raise ReadError(f"{_title(found)}: spec.resumedAt was not kept: renew the cluster's CRDs (hangar crds)")
    return found, after


def _parked(found: JSON) -> JSON:
    return mapping(mapping(found.get("status")).get("parked"))


def _check(found: JSON) -> None:
    """Refuses where nothing is parked, or somebody has resumed it already."""
    parked, title = _parked(found), _title(found)
    if mapping(found.get("metadata")).get("deletionTimestamp"):
        raise NothingParked(f"{title} is being deleted, so there is nothing to resume")
    if not parked:
        quota = condition(mapping(found.get("status")), "QuotaReserved")
        words = f"QuotaReserved is {quota['status']}, {quota['reason']}" if quota else "it has no status yet"
        raise NothingParked(f"nothing of {title} is parked: {words}; hangar explain says what it waits for")
    stated = text(mapping(found.get("spec")).get("resumedAt"))
    if stated != text(parked.get("resumedAt")):
        raise NothingParked(
            f"{title} is resumed already (spec.resumedAt is {stated or 'taken away'}), and the controller has not "
            "acted on it yet; hangar explain says what is in the way"
        )


def _title(found: JSON) -> str:
    metadata = mapping(found.get("metadata"))
    return f"{text(metadata.get('namespace'))}/{text(metadata.get('name'))}"


def _said(before: JSON, after: JSON) -> list[str]:
    parked, spec = _parked(before), mapping(after.get("spec"))
    seats = ", ".join(f"{text(one.get('role'))} {text(one.get('seats'))}" for one in maps(parked.get("seats")))
    lines = [
        f"{_title(before)}: {seats or 'the whole set'} was parked at {text(parked.get('at'))}: "
        f"{text(parked.get('message'))}",
        f"spec.resumedAt is now {text(spec.get('resumedAt'))}.",
    ]
    if spec.get("enabled") is False:
        lines.append("Reconciling is off (spec.enabled is false): it asks for quota only when that is true again.")
    else:
        lines.append("Its replicas are made again and ask for quota as new Workloads, at the end of their queue.")
    return lines
