"""The status: Observed and Plan folded into what a person reads. A pure function; only `now` dates what changed.

Times move only when the thing they date changes, so the previous status is an input. Fields that were not seen are
left out; a printed zero was counted.
"""

from collections.abc import Mapping
from datetime import datetime

from app.api.reasons import Reason
from app.api.status import MAX_REPLICAS_LISTED, Phase
from app.kube import times
from app.kube.hook import JSON
from app.kube.pods import Progress, maps, text
from app.kube.text import clip
from app.modeldeployment import interruptions
from app.modeldeployment.admission import admission
from app.modeldeployment.conditions import JUDGES, Condition
from app.modeldeployment.conditions.base import listed, pods
from app.modeldeployment.observe import SERVICE, Observed
from app.modeldeployment.parking import write_assembly, write_parked
from app.modeldeployment.plan import Hold, Plan
from app.modeldeployment.render import RenderedRole
from app.modeldeployment.roleplan import RolePlan
from app.modeldeployment.seats import Replica
from app.settings import ControllerSettings

# Every other resource that a flavor is assigned for counts accelerators or their credits.
_NO_ACCELERATORS = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_LETTERS = {"Server": "S", "Prefill": "P", "Decode": "D"}


def fold(
    observed: Observed, plan: Plan, roles: Mapping[str, RenderedRole], now: datetime, settings: ControllerSettings
) -> JSON:
    """The whole status of one pass; `roles` are the rendered ones, empty where nothing was rendered."""
    found = [condition for judge in JUDGES if (condition := judge(observed, plan)) is not None]
    question = admission(plan)
    phase, message, reason = _phase(observed, plan, found, question)
    shown = [_replica(replica) for role in plan.roles for replica in (*role.stays, *role.extra)]
    status: JSON = {
        "observedGeneration": observed.generation,
        "phase": phase,
        "phaseMessage": clip(message),
        "reason": reason,
        **_counts(plan),
        "endpoint": _endpoint(observed, plan, roles),
        "admission": question,
        "roles": [_role(role) for role in plan.roles],
        "replicas": shown[:MAX_REPLICAS_LISTED],
        "replicasOmitted": max(len(shown) - MAX_REPLICAS_LISTED, 0),
        "interruptions": interruptions.write(plan.memory),
        "assembly": write_assembly(plan.timer) if plan.timer else None,
        "parked": write_parked(plan.parked),
        "workloadID": observed.workload_id,
        "clusterID": settings.cluster_id,
        "conditions": dated(found, observed, now),
    }
    return {key: value for key, value in status.items() if not _empty(key, value)}


def _counts(plan: Plan) -> JSON:
    """Sums over all roles; absent where no role of the spec can be read, because nothing was counted then."""
    if not plan.roles:
        return {}
    return {
        "ready": f"{plan.ready}/{plan.desired}",
        "readyReplicas": plan.ready,
        "desiredReplicas": plan.desired,
        "roleSummary": _summary(plan),
    }


def _empty(key: str, value: object) -> bool:
    """Whether a field is left out: the API server drops empty values, and an omission of none is none."""
    return value is None or value in ("", []) or (key == "replicasOmitted" and value == 0)


def dated(found: list[Condition], observed: Observed, now: datetime) -> list[JSON]:
    """The conditions as stored: a time that is kept unless the status flipped, and the generation that was judged.

    The schema's default (`Pending`, dated 1970) is nobody's verdict, so its time is not kept.
    """
    before = {
        item.get("type"): item
        for item in maps(observed.status.get("conditions"))
        if (item.get("status"), item.get("reason")) != ("Unknown", Reason.PENDING.value)
    }
    written = []
    for condition in found:
        previous = before.get(condition.type, {})
        stored = text(previous.get("lastTransitionTime"))
        unchanged = stored and previous.get("status") == condition.status
        if condition.type == "Reconciling":  # dates what is under way, so that it can be overdue
            unchanged = unchanged and previous.get("reason") == condition.reason.value
            stored = min(stored, times.render(now))  # a clock that was ahead stretches no wait
        written.append(
            {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason.value,
                "message": clip(condition.message),
                "observedGeneration": observed.generation,
                "lastTransitionTime": stored if unchanged else times.render(now),
            }
        )
    return written


def _phase(observed: Observed, plan: Plan, found: list[Condition], question: JSON | None) -> tuple[Phase, str, str]:
    """Phase, message and reason. Ready is equality of the sums; at zero replicas too, which the message says."""
    verdicts = {condition.type: condition for condition in found}
    if observed.deleting:
        return "Deleting", f"the deployment is being deleted; {pods(len(observed.pods))} left", Reason.DELETING.value
    stalled = verdicts.get("Stalled")
    if not plan.roles:
        serves = any(pod.progress is Progress.READY for pod in observed.pods)
        return "Degraded" if serves else "Starting", stalled.message if stalled else "", Reason.SPEC_INVALID.value
    if plan.desired == 0:
        return "Ready", stalled.message if stalled else "scaled to zero", Reason.SCALED_TO_ZERO.value
    if plan.ready == plan.desired:
        reason = stalled.reason if stalled else Reason.ALL_REPLICAS_READY
        return "Ready", stalled.message if stalled else "", reason.value
    asked = question or {}
    parts = [
        stalled.message if stalled else "",
        f"{plan.ready} of {plan.desired} replicas ready",
        text(asked.get("message")) or _short_of(plan, verdicts),
        plan.hold.value if plan.hold is Hold.OFF else "",
    ]
    reason_word = stalled.reason.value if stalled else text(asked.get("reason")) or Reason.REPLICAS_NOT_READY.value
    return "Degraded" if plan.ready else "Starting", "; ".join(part for part in parts if part), reason_word


def _short_of(plan: Plan, verdicts: Mapping[str, Condition]) -> str:
    """Why fewer replicas serve than are declared, where no Pod has anything to say."""
    found = verdicts.get("ReplicasUpToDate")
    if found and found.status == "False":
        return found.message
    lacking = [f"{role.name} {replica.ordinal}" for role in plan.roles for replica in role.stays if not replica.whole]
    return f"lacking a member: {listed(lacking)}" if lacking else ""


def _summary(plan: Plan) -> str:
    """Ready replicas by kind in the order S, P, D; declared kinds only, zeros printed."""
    ready: dict[str, int] = {}
    for role in plan.roles:
        kind = role.seats.role.kind
        ready[kind] = ready.get(kind, 0) + role.ready
    return "".join(f"{ready[kind]}{letter}" for kind, letter in _LETTERS.items() if kind in ready)


def _endpoint(observed: Observed, plan: Plan, roles: Mapping[str, RenderedRole]) -> str | None:
    """The deployment's Service as the first role serves it; while nothing is rendered, what was said before.

    Absent while the Service's name is somebody else's: never another model's address.
    """
    if observed.name in observed.foreign_services:
        return None
    first = roles.get(observed.roles[0].name) if observed.roles else None
    if first is not None and plan.hold is None:
        return f"{first.scheme}://{observed.name}.{observed.namespace}.svc:{first.port}"
    exists = f"{observed.namespace}/{observed.name}" in observed.children.get(SERVICE, {})
    return text(observed.status.get("endpoint")) if exists else None


def _role(role: RolePlan) -> JSON:
    declared = role.seats.role
    return {
        "name": declared.name,
        "kind": declared.kind,
        "desired": role.desired,
        "ready": role.ready,
        "unmanaged": declared.command is not None,
        **_quota(role),
    }


def _quota(role: RolePlan) -> JSON:
    """Quota of a role with a queue: an observed zero is printed. Flavors are those of accelerators, absent if none."""
    live = role.seats.live
    if role.queue is None and not any(replica.queued for replica in live):
        return {}
    flavors = {
        flavor
        for replica in live
        if replica.workload
        for resource, assigned in replica.workload.flavors.items()
        if resource not in _NO_ACCELERATORS
        for flavor in assigned
    }
    found: JSON = {"quotaReserved": sum(replica.reserved for replica in live)}
    return {**found, "assignedFlavors": sorted(flavors)} if flavors else found


def _replica(replica: Replica) -> JSON:
    leader = replica.leader
    named = leader or next(iter(replica.members.values()))
    found: JSON = {"name": named.name, "role": replica.role, "ready": replica.serves}
    if leader and leader.node_name:
        found["nodeName"] = leader.node_name
    if leader and leader.started_at:
        found["startedAt"] = leader.started_at
    return found
