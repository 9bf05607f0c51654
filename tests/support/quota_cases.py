"""The cases of roles with a queue: every row of QuotaReserved, and what outranks what."""

from typing import Any

from app.kube.hook import JSON
from tests.support.builders import DeploymentBuilder, PodBuilder, a_deployment, ago, pod, workload

UNUSED = (
    "couldn't assign flavors to pod set 2ac9563e: insufficient unused quota for nvidia.com/gpu in flavor h100, "
    "1 more needed"
)
NEVER = (
    "couldn't assign flavors to pod set 2ac9563e: insufficient quota for nvidia.com/gpu in flavor h100, previously "
    "considered podsets requests (0) + current podset request (16) > maximum capacity (8)"
)
PREEMPTION = "Preempted to accommodate a workload (UID: u, JobUID: j) due to prioritization in the ClusterQueue"


def _queued(replicas: int = 2, **role: Any) -> DeploymentBuilder:
    return a_deployment().with_role("server", replicas=replicas, queueName="team-a", **role).with_services()


def _pair() -> DeploymentBuilder:
    """One prefill and two decode replicas, all of one queue."""
    return (
        a_deployment()
        .with_role("prefill", kind="Prefill", queueName="team-a")
        .with_role("decode", kind="Decode", replicas=2, queueName="team-a")
        .with_services()
    )


def _gated(role: str, *ordinals: int) -> list[PodBuilder]:
    return [pod(role, ordinal).gated() for ordinal in ordinals]


def _parked(*seats: JSON, resumed_at: str = "", seconds_ago: float = 60) -> JSON:
    found: JSON = {"at": ago(seconds_ago), "message": "The workload is deactivated"}
    if resumed_at:
        found["resumedAt"] = resumed_at
    return {**found, "seats": list(seats)} if seats else found


def _interruption(role: str, reason: str, seats: str, seconds_ago: float) -> JSON:
    return {"role": role, "reason": reason, "seats": seats, "at": ago(seconds_ago), "message": PREEMPTION}


def _rows() -> dict[str, DeploymentBuilder]:
    """One case for each row of the table, in its order."""
    return {
        "quota-reserved": _queued()
        .having(pod("server", 0), pod("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted()),
        "quota-pending-carries-kueues-words-once": _queued()
        .having(*_gated("server", 0, 1))
        .with_workloads(workload("server", 0).pending(UNUSED), workload("server", 1).pending(UNUSED)),
        "quota-pending-names-roles-not-types": _pair()
        .having(pod("prefill", 0), *_gated("decode", 0, 1))
        .with_workloads(
            workload("prefill", 0).admitted(),
            workload("decode", 0).pending(UNUSED),
            workload("decode", 1).pending(NEVER),
        ),
        "quota-pod-group-incomplete": _queued(2, size=2)
        .having(pod("server", 0, 0).gated(), pod("server", 0, 1).gated(), pod("server", 1, 0).gated().born(3))
        .with_workloads(workload("server", 0).pending(UNUSED)),
        "quota-preempted-in-part-loses-capacity": _queued()
        .having(pod("server", 0), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).preempted(PREEMPTION)),
        "quota-preempted-in-part-loses-a-kind": _pair()
        .having(*_gated("prefill", 0), pod("decode", 0), pod("decode", 1))
        .with_workloads(
            workload("prefill", 0).preempted(PREEMPTION),
            workload("decode", 0).admitted(),
            workload("decode", 1).admitted(),
        ),
        "quota-preemption-is-known-after-its-workload-died": _queued()
        .with_status(interruptions=[_interruption("server", "Preempted", "1", 30)])
        .having(pod("server", 0), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).pending(UNUSED)),
        "quota-preemption-is-over-once-the-seat-holds-quota": _queued()
        .with_status(interruptions=[_interruption("server", "Preempted", "1", 30)])
        .having(pod("server", 0), pod("server", 1).loading())
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted()),
        "quota-one-replica-parked-by-kueue": _queued()
        .having(pod("server", 0), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).parked()),
        "quota-running-replica-parked-by-kueue-is-remembered": _queued()
        .having(pod("server", 0), pod("server", 1).taken_by_kueue("Deactivated", "The workload is deactivated"))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted()),
        "quota-reserved-namespace-is-said": _queued().having(*_gated("server", 0, 1)),
        "quota-admission-in-flight": _queued().having(*(p.born(3) for p in _gated("server", 0, 1))),
        "quota-admission-in-flight-for-a-minute-names-the-namespace": _queued().having(
            *(p.born(61) for p in _gated("server", 0, 1))
        ),
        "quota-no-replicas-yet": _queued(),
        "quota-all-replicas-terminating": _queued()
        .having(pod("server", 0).terminating(), pod("server", 1).terminating())
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted()),
        "quota-not-applicable-beside-a-queue-counts-the-queued-role": a_deployment()
        .with_role("free")
        .with_role("paid", queueName="team-a")
        .with_services()
        .having(pod("free", 0), *_gated("paid", 0))
        .with_workloads(workload("paid", 0).pending(UNUSED)),
        "quota-at-zero-knows-no-replicas": _queued(0),
    }


def _precedence() -> dict[str, DeploymentBuilder]:
    """Two rows at once: the one that is named first wins."""
    return {
        "quota-parked-outranks-preempted": _queued(3)
        .having(pod("server", 0), *_gated("server", 1, 2))
        .with_workloads(
            workload("server", 0).admitted(), workload("server", 1).preempted(), workload("server", 2).parked()
        ),
        "quota-parked-outranks-incomplete": _queued(3)
        .having(pod("server", 0), *_gated("server", 2))
        .with_workloads(workload("server", 0).admitted(), workload("server", 2).parked()),
        "quota-parked-outranks-in-flight": _queued(2)
        .with_status(parked=_parked({"role": "server", "seats": "1"}))
        .having(*(p.born(2) for p in _gated("server", 0))),
        "quota-parked-outranks-pending": _queued(2)
        .with_status(parked=_parked({"role": "server", "seats": "1"}))
        .having(*_gated("server", 0))
        .with_workloads(workload("server", 0).pending(UNUSED)),
        "quota-parked-outranks-terminating": _queued(1)
        .with_status(parked=_parked({"role": "server", "seats": "0"}))
        .having(pod("server", 0).terminating()),
        "quota-parked-outranks-no-replicas": _queued(1).with_status(parked=_parked({"role": "server", "seats": "0"})),
        "quota-preempted-outranks-incomplete": _queued(3)
        .with_status(interruptions=[_interruption("server", "Preempted", "1-2", 30)])
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted()),
        "quota-preempted-outranks-in-flight": _queued(2)
        .with_status(interruptions=[_interruption("server", "Preempted", "1", 30)])
        .having(pod("server", 0), *(p.born(2) for p in _gated("server", 1)))
        .with_workloads(workload("server", 0).admitted()),
        "quota-preempted-without-a-survivor-is-pending-with-a-clause": _queued(1)
        .with_status(interruptions=[_interruption("server", "Preempted", "0", 30)])
        .having(*_gated("server", 0))
        .with_workloads(workload("server", 0).pending(UNUSED)),
        "quota-terminating-outranks-incomplete": _queued(2).having(pod("server", 0).terminating()),
        "quota-incomplete-outranks-in-flight": _queued(2).having(*(p.born(2) for p in _gated("server", 0))),
        "quota-incomplete-outranks-reserved-namespace": _queued(2).having(*_gated("server", 0)),
        "quota-in-flight-outranks-pending": _queued(2)
        .having(*_gated("server", 0), *(p.born(2) for p in _gated("server", 1)))
        .with_workloads(workload("server", 0).pending(UNUSED)),
    }


def _seats() -> dict[str, DeploymentBuilder]:
    """What a queue changes about seats, turnovers and parking."""
    return {
        "queued-first-sync-makes-one-group-per-replica": _queued(2, size=2, workloadPriorityClass="high"),
        "failed-replica-counts-no-quota-that-kueue-gave-away": _queued()
        .having(pod("server", 0), pod("server", 1).ended("Evicted", "The node was low on resource: memory."))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted().finished()),
        "seat-with-a-workload-left-is-not-filled": _queued()
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted()),
        "foreign-workload-of-that-name-keeps-the-seat-and-is-not-read": _queued()
        .having(pod("server", 0), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).admitted().of_somebody_else()),
        "lost-member-keeps-the-groups-reservation": _queued(1, size=2)
        .having(pod("server", 0, 1))
        .with_workloads(workload("server", 0).admitted()),
        "turnover-waits-for-quota-and-names-who-holds-the-gate": _queued()
        .having(pod("server", 0).outdated(), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).pending(UNUSED)),
        "gated-outdated-replica-is-corrected-at-once": _queued()
        .having(pod("server", 0), pod("server", 1).gated().outdated())
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).pending(UNUSED)),
        "pod-that-kueue-never-saw-is-reported-loudly": _queued(1).having(pod("server", 0)),
        "preempted-replica-whose-pods-went-at-once-is-remembered": _queued()
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).preempted().whose_pods_are_gone()),
        "parked-replica-whose-pods-went-at-once-is-remembered": _queued()
        .having(pod("server", 0))
        .with_workloads(
            workload("server", 0).admitted(), workload("server", 1).admitted().parked().whose_pods_are_gone()
        ),
        "resumed-replica-is-not-parked-again-by-what-is-left-of-it": _queued()
        .with_spec(resumedAt="now")
        .with_status(
            parked=_parked({"role": "server", "seats": "1"}), interruptions=[_interruption("server", "Parked", "1", 60)]
        )
        .having(pod("server", 0))
        .with_workloads(
            workload("server", 0).admitted(), workload("server", 1).admitted().parked().whose_pods_are_gone()
        ),
        "parked-workload-of-somebody-else-parks-no-seat": _queued()
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).parked().of_somebody_else()),
        "parked-seat-stays-empty": _queued()
        .with_status(parked=_parked({"role": "server", "seats": "1"}))
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted()),
        "parked-seat-is-filled-once-resumed": _queued()
        .with_spec(resumedAt="2026-11-29")
        .with_status(parked=_parked({"role": "server", "seats": "1"}))
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted()),
        "same-manifest-again-does-not-resume": _queued()
        .with_spec(resumedAt="monday")
        .with_status(parked=_parked({"role": "server", "seats": "1"}, resumed_at="monday"))
        .having(pod("server", 0))
        .with_workloads(workload("server", 0).admitted()),
        "resuming-remakes-what-kueue-keeps-inactive": _queued()
        .with_spec(resumedAt="2026-11-29")
        .with_status(
            parked=_parked({"role": "server", "seats": "1"}),
            interruptions=[{**_interruption("server", "Parked", "1", 60), "message": "The workload is deactivated"}],
        )
        .having(pod("server", 0), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).parked()),
        "activated-again-in-kueue-is-parked-no-more": _queued()
        .with_status(
            parked=_parked({"role": "server", "seats": "1"}),
            interruptions=[_interruption("server", "Parked", "1", 60)],
        )
        .having(pod("server", 0), *_gated("server", 1))
        .with_workloads(workload("server", 0).admitted(), workload("server", 1).pending(UNUSED)),
        "set-that-does-not-assemble-is-parked-first": _pair()
        .with_spec(assembly={"timeoutSeconds": 600})
        .with_status(assembly={"waitingSince": ago(720)}, roles=[{"name": "decode", "quotaReserved": 2}])
        .having(*_gated("prefill", 0), pod("decode", 0), pod("decode", 1))
        .with_workloads(
            workload("prefill", 0).pending(UNUSED), workload("decode", 0).admitted(), workload("decode", 1).admitted()
        ),
        "set-that-does-not-assemble-has-its-time": _pair()
        .with_spec(assembly={"timeoutSeconds": 600})
        .with_status(assembly={"waitingSince": ago(599)}, roles=[{"name": "decode", "quotaReserved": 2}])
        .having(*_gated("prefill", 0), pod("decode", 0), pod("decode", 1))
        .with_workloads(
            workload("prefill", 0).pending(UNUSED), workload("decode", 0).admitted(), workload("decode", 1).admitted()
        ),
        "assembly-timer-starts-anew-when-the-count-changes": _pair()
        .with_spec(assembly={"timeoutSeconds": 600})
        .with_status(assembly={"waitingSince": ago(720)}, roles=[{"name": "decode", "quotaReserved": 1}])
        .having(*_gated("prefill", 0), pod("decode", 0), pod("decode", 1))
        .with_workloads(
            workload("prefill", 0).pending(UNUSED), workload("decode", 0).admitted(), workload("decode", 1).admitted()
        ),
        "set-that-was-ready-once-is-never-parked": _pair()
        .with_spec(assembly={"timeoutSeconds": 600})
        .with_status(assembly={"completedAt": ago(9000)}, roles=[{"name": "decode", "quotaReserved": 2}])
        .having(*_gated("prefill", 0), pod("decode", 0), pod("decode", 1))
        .with_workloads(
            workload("prefill", 0).pending(UNUSED), workload("decode", 0).admitted(), workload("decode", 1).admitted()
        ),
        "parked-set-gives-its-quota-back": _pair()
        .with_status(parked=_parked())
        .having(*_gated("prefill", 0), pod("decode", 0), pod("decode", 1))
        .with_workloads(
            workload("prefill", 0).pending(UNUSED), workload("decode", 0).admitted(), workload("decode", 1).admitted()
        ),
        "parked-set-is-made-again-once-resumed": _pair().with_spec(resumedAt="now").with_status(parked=_parked()),
        "flavors-that-differ-are-all-named": _queued()
        .having(pod("server", 0), pod("server", 1))
        .with_workloads(workload("server", 0).admitted("h200"), workload("server", 1).admitted("h100")),
    }


def _waits() -> dict[str, DeploymentBuilder]:
    """Admission's words for what Kueue says."""

    def one(reason: str, message: str) -> DeploymentBuilder:
        return _queued(1).having(*_gated("server", 0)).with_workloads(workload("server", 0).pending(message, reason))

    return {
        "wait-for-a-queue-that-does-not-exist": one("Inadmissible", "LocalQueue team-a doesn't exist"),
        "wait-for-a-queue-that-is-stopped": one("Inadmissible", "LocalQueue team-a is inactive"),
        "wait-for-quota-that-never-comes": one("Pending", NEVER),
        "wait-for-a-topology": one("TopologyPlacementFailed", "topology doesn't allow to fit any of 2 pod(s)"),
        "wait-for-an-admission-check": _queued(1)
        .having(*_gated("server", 0))
        .with_workloads(workload("server", 0).checking("provision", "waiting for 2 nodes")),
        "wait-for-kueue-to-take-its-gates-off": _queued(1)
        .having(*_gated("server", 0))
        .with_workloads(workload("server", 0).admitted()),
        "wait-in-the-newer-vocabulary": one("WaitingForQuota", UNUSED),
    }


def quota_cases() -> dict[str, JSON]:
    """All of them by name."""
    found = _rows() | _precedence() | _seats() | _waits()
    return {name: builder.request() for name, builder in found.items()}
