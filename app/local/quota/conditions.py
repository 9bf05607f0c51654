"""Conditions of Kueue's own objects, in the form of metav1.Condition, and what a Workload's say together."""

from datetime import datetime

from app.kube import times
from app.kube.hook import JSON
from app.local.podstatus import condition
from app.local.values import listed, mapping


def put(obj: JSON, now: datetime, kind: str, value: bool, reason: str, message: str) -> None:
    """Sets one condition in the status of `obj`; its transition time moves only when its status changes."""
    status = obj.setdefault("status", {})
    before = condition(obj, kind)
    text = "True" if value else "False"
    new = {
        "type": kind,
        "status": text,
        "reason": reason,
        "message": message,
        "lastTransitionTime": before.get("lastTransitionTime") if before.get("status") == text else times.render(now),
        "observedGeneration": obj["metadata"].get("generation", 0),
    }
    others = listed(status.get("conditions"))
    status["conditions"] = [new if one is before else one for one in others] if before else [*others, new]


def is_true(obj: JSON, kind: str) -> bool:
    """Whether a condition of that type is True."""
    return condition(obj, kind).get("status") == "True"


def active(workload: JSON) -> bool:
    """Whether the Workload may ask for quota: nobody has deactivated it."""
    return mapping(workload.get("spec")).get("active") is not False


def reserved(workload: JSON) -> bool:
    """Whether quota is reserved for it."""
    return is_true(workload, "QuotaReserved")


def evict(workload: JSON, now: datetime, reason: str, message: str) -> None:
    """Marks a Workload as evicted, and counts it."""
    put(workload, now, "Evicted", True, reason, message)
    counted = workload["status"].setdefault("schedulingStats", {}).setdefault("evictions", [])
    entry = next((one for one in counted if one["reason"] == reason), None)
    if entry is None:
        counted.append({"reason": reason, "count": 1})
    else:
        entry["count"] += 1


def reserve(workload: JSON, now: datetime, admission: JSON) -> None:
    """Reserves quota and, without admission checks, admits; an earlier eviction is over."""
    workload.setdefault("status", {})["admission"] = admission
    words = f"Quota reserved in ClusterQueue {admission['clusterQueue']}"
    put(workload, now, "QuotaReserved", True, "QuotaReserved", words)
    for kind in ("Evicted", "Preempted"):
        if is_true(workload, kind):
            before = f"Previously: {condition(workload, kind)['message']}"
            put(workload, now, kind, False, "QuotaReserved", before)
    put(workload, now, "Admitted", True, "Admitted", "The workload is admitted")


def unreserve(workload: JSON, now: datetime, reason: str, message: str) -> None:
    """Says why a Workload holds no quota; a reservation that it had is gone."""
    put(workload, now, "QuotaReserved", False, reason, message)
    workload["status"].pop("admission", None)
    if is_true(workload, "Admitted"):
        put(workload, now, "Admitted", False, "NoReservation", "The workload has no reservation")


def words(obj: JSON, kind: str) -> tuple[str, str]:
    """Reason and message of a condition, empty where it is absent."""
    found = condition(obj, kind)
    return str(found.get("reason", "")), str(found.get("message", ""))
