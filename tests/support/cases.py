"""The fixture cases that are built, not recorded: name -> request. `pytest --rewrite-fixtures` writes them to disk.

A case's name says what it shows. Cases that somebody recorded live in their folders alone.
"""

from dataclasses import dataclass, field
from typing import Any

from app.kube.hook import JSON
from tests.support.builders import NOW, DeploymentBuilder, PodBuilder, a_deployment, ago, pod
from tests.support.quota_cases import quota_cases

EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Case:
    """A request and the context it is answered in."""

    request: JSON
    settings: JSON = field(default_factory=lambda: {"cluster_id": "local"})

    @property
    def context(self) -> JSON:
        return {"now": NOW.isoformat().replace("+00:00", "Z"), "settings": self.settings}


def _pair() -> DeploymentBuilder:
    """Two prefill replicas of one Pod, and one decode replica of two Pods."""
    return (
        a_deployment()
        .with_role("prefill", kind="Prefill", replicas=2)
        .with_role("decode", kind="Decode", replicas=1, size=2, accelerator=8, parallelism={"tensor": 16})
    )


def _server(replicas: int = 2, **role: Any) -> DeploymentBuilder:
    return a_deployment().with_role("server", replicas=replicas, **role)


def _ready(count: int, role: str = "server") -> list[PodBuilder]:
    return [pod(role, ordinal) for ordinal in range(count)]


def _stored(condition: str, status: str, reason: str) -> JSON:
    return {
        "type": condition,
        "status": status,
        "reason": reason,
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": ago(300),
    }


def _interruption(role: str, reason: str, seats: str, seconds_ago: float, **more: Any) -> JSON:
    return {"role": role, "reason": reason, "seats": seats, "at": ago(seconds_ago), **more}


def _evicted() -> DeploymentBuilder:
    """Replica 1 of two was evicted by the kubelet."""
    lost = pod("server", 1).ended("Evicted", "The node was low on resource: memory.")
    return _server(2).having(pod("server", 0), lost).with_services()


def _wrong(deployment: DeploymentBuilder, **role: Any) -> JSON:
    """A request whose spec has a field that this version does not know, or the given ones in its first role."""
    request = deployment.request()
    request["parent"]["spec"]["roles"][0] |= role or {"router": "later"}
    return request


def _nested(levels: int) -> JSON:
    value: JSON = {}
    for _ in range(levels):
        value = {"deeper": value}
    return value


def _starting() -> dict[str, JSON]:
    server = _server()
    return {
        "first-sync-creates-every-pod-and-service": _pair().request(),
        "all-ready-changes-nothing": _pair()
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0), pod("decode", 0, 1))
        .with_services()
        .request(),
        "one-of-two-ready-is-degraded": server.having(pod("server", 0), pod("server", 1).loading())
        .with_services()
        .request(),
        "half-a-replica-of-two-pods-is-not-ready": _pair()
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0), pod("decode", 0, 1).loading())
        .with_services()
        .request(),
        "loading-model-is-starting": server.having(pod("server", 0).loading(), pod("server", 1).loading())
        .with_services()
        .request(),
        "no-node-with-room-names-the-scheduler": server.having(
            pod("server", 0).unbound("0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
            pod("server", 1).unbound("0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
        )
        .with_services()
        .request(),
        "image-pull-failure-is-quoted": server.having(
            pod("server", 0).waiting("ImagePullBackOff", 'Back-off pulling image "vllm/vllm-openai:v0.12.0"'),
            pod("server", 1),
        )
        .with_services()
        .request(),
        "crash-loop-names-the-exit": server.having(pod("server", 0).crash_looping(), pod("server", 1))
        .with_services()
        .request(),
        "missing-secret-is-quoted": server.having(
            pod("server", 0).waiting("CreateContainerConfigError", 'secret "hf" not found'), pod("server", 1)
        )
        .with_services()
        .request(),
        "containers-being-created-claims-no-reason": server.having(
            pod("server", 0).waiting("ContainerCreating"), pod("server", 1).waiting("ContainerCreating")
        )
        .with_services()
        .request(),
        "second-member-not-in-the-cache-yet-is-asked-for-again": _pair()
        .having(pod("prefill", 0).born(2).unbound(), pod("prefill", 1).born(2).unbound(), pod("decode", 0).born(2))
        .with_services()
        .request(),
        "sglang-pair-gets-its-disaggregation-flags": a_deployment()
        .with_spec(engine={"name": "SGLang", "version": "0.5.23"})
        .with_role("prefill", kind="Prefill")
        .with_role("decode", kind="Decode")
        .request(),
        "default-conditions-are-dated-by-the-first-verdict": _server(0)
        .with_status(conditions=[{**_stored("ReplicasUpToDate", "Unknown", "Pending"), "lastTransitionTime": EPOCH}])
        .request(),
        "cluster-and-workload-are-named": _server(1).with_labels(workload="chat").having(pod("server", 0)).request(),
    }


def _converging() -> dict[str, JSON]:
    return {
        "edit-turns-over-the-highest-seat": _server(3)
        .having(*(pod("server", i).outdated() for i in range(3)))
        .with_services()
        .request(),
        "edit-takes-one-replica-of-each-role": _pair()
        .having(
            *(p.outdated() for p in (pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0), pod("decode", 0, 1)))
        )
        .with_services()
        .request(),
        "gate-waits-while-another-replica-loads": _server(3)
        .having(pod("server", 0).outdated(), pod("server", 1).outdated(), pod("server", 2).loading())
        .with_services()
        .request(),
        "gate-admitted-does-not-wait-for-loading": _server(3)
        .with_spec(rollout={"gate": "Admitted"})
        .having(pod("server", 0).outdated(), pod("server", 1).outdated(), pod("server", 2).loading())
        .with_services()
        .request(),
        "broken-image-is-corrected-at-once": _server(3)
        .having(
            pod("server", 0), pod("server", 1), pod("server", 2).outdated().waiting("ImagePullBackOff", "no such tag")
        )
        .with_services()
        .request(),
        "turned-over-seat-is-filled-once-empty": _server(3)
        .with_status(conditions=[_stored("ReplicasUpToDate", "False", "RolloutInProgress")])
        .having(pod("server", 0).outdated(), pod("server", 1).outdated())
        .with_services()
        .request(),
        "terminating-pod-keeps-its-seat": _server(2)
        .having(pod("server", 0), pod("server", 1).terminating())
        .with_services()
        .request(),
        "rollout-stays-named-while-the-seat-empties": _server(2)
        .with_status(conditions=[_stored("ReplicasUpToDate", "False", "RolloutInProgress")])
        .having(pod("server", 0), pod("server", 1).terminating())
        .with_services()
        .request(),
        "only-replica-on-its-way-out-is-not-observed": _server(1)
        .having(pod("server", 0).terminating())
        .with_services()
        .request(),
        "lost-replica-is-made-again": _server(2).having(pod("server", 0)).with_services().request(),
        "lost-member-is-made-again-in-its-seat": _pair()
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 1))
        .with_services()
        .request(),
        "lost-member-waits-for-its-old-pod": _pair()
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0).terminating(), pod("decode", 0, 1))
        .with_services()
        .request(),
        "lost-member-of-another-render-condemns-its-replica": _pair()
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 1).outdated())
        .with_services()
        .request(),
        "replica-that-does-not-come-back-in-thirty-minutes-is-condemned": _pair()
        .with_status(interruptions=[_interruption("decode", "MemberLost", "0", 1800)])
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0).loading(), pod("decode", 0, 1))
        .with_services()
        .request(),
        "replica-that-serves-again-forgets-its-lost-member": _pair()
        .with_status(interruptions=[_interruption("decode", "MemberLost", "0", 900)])
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0), pod("decode", 0, 1))
        .with_services()
        .request(),
        "evicted-pod-is-remembered-before-it-leaves": _evicted().request(),
        "evicted-pod-leaves-once-it-is-remembered": _evicted()
        .with_status(interruptions=[_interruption("server", "Evicted", "1", 1, attempts=1)])
        .request(),
        "failed-replica-waits-before-it-is-made-again": _server(2)
        .with_status(interruptions=[_interruption("server", "Evicted", "1", 5, attempts=3)])
        .having(pod("server", 0))
        .with_services()
        .request(),
        "failed-replica-is-made-again-when-it-is-due": _server(2)
        .with_status(interruptions=[_interruption("server", "Evicted", "1", 40, attempts=3)])
        .having(pod("server", 0))
        .with_services()
        .request(),
        "failures-in-a-row-are-counted": _evicted()
        .with_status(interruptions=[_interruption("server", "Evicted", "1", 2000, attempts=2)])
        .request(),
        "failures-are-forgotten-after-ten-ready-minutes": _server(2)
        .with_status(interruptions=[_interruption("server", "Failed", "0-1", 2000, attempts=2)])
        .having(pod("server", 0), pod("server", 1).ready_for(590))
        .with_services()
        .request(),
        "drained-pod-is-remembered-with-the-words-of-who-drains": _server(2)
        .having(
            pod("server", 0),
            pod("server", 1).terminating().disrupted("EvictionByEvictionAPI", "Eviction API"),
        )
        .with_services()
        .request(),
        "preemption-by-the-scheduler-is-remembered": _server(2)
        .having(pod("server", 0), pod("server", 1).terminating().disrupted("PreemptionByScheduler", "priority"))
        .with_services()
        .request(),
        "off-remembers-but-acts-on-no-clock": _evicted()
        .off()
        .with_status(interruptions=[_interruption("server", "Evicted", "1", 1, attempts=1)])
        .request(),
        "object-that-does-not-come-is-named-after-a-minute": _server(2)
        .with_status(conditions=[{**_stored("Reconciling", "True", "ChildNotObserved"), "lastTransitionTime": ago(60)}])
        .having(pod("server", 0))
        .with_services()
        .request(),
        "object-that-does-not-come-has-its-minute": _server(2)
        .with_status(conditions=[{**_stored("Reconciling", "True", "ChildNotObserved"), "lastTransitionTime": ago(59)}])
        .having(pod("server", 0))
        .with_services()
        .request(),
        "node-without-its-devices-is-named": _server(1)
        .having(pod("server", 0).ended("UnexpectedAdmissionError", "Allocate failed: requested devices unavailable"))
        .with_services()
        .request(),
        "scale-in-sheds-the-highest-seats": _server(1)
        .having(*(pod("server", i) for i in range(3)))
        .with_services()
        .request(),
        "scale-in-turns-nothing-over": _server(2)
        .having(*(pod("server", i).outdated() for i in range(3)))
        .with_services()
        .request(),
        "scale-out-keeps-what-runs": _server(3).having(pod("server", 0)).with_services().request(),
        "scale-to-zero-lets-all-go": _server(0).having(*(pod("server", i) for i in range(2))).with_services().request(),
        "at-zero-is-ready-and-serves-nothing": _server(0).with_services().request(),
        "back-from-zero-creates-again": _server(2).with_services().request(),
        "duplicate-of-a-seat-leaves": _server(1)
        .having(pod("server", 0), pod("server", 0).named("copy-of-server-0"))
        .with_services()
        .request(),
        "pod-of-no-declared-role-leaves": _server(1)
        .having(pod("server", 0), pod("server", 1).named("stray").labelled(role="gone"))
        .with_services()
        .request(),
        "pod-whose-labels-were-edited-is-turned-over": _server(2)
        .having(pod("server", 0), pod("server", 1).labelled(replica="one"))
        .with_services()
        .request(),
        "labels-edited-on-all-pods-take-one-of-them": _server(2)
        .having(pod("server", 0).labelled(replica="1"), pod("server", 1).labelled(replica="0"))
        .with_services()
        .request(),
        "pod-that-lost-its-role-label-waits-for-the-gate": _server(2)
        .having(pod("server", 0).labelled(role="other"), pod("server", 1).loading())
        .with_services()
        .request(),
        "engine-that-went-quiet-is-not-loading": _server(2)
        .having(pod("server", 0), pod("server", 1).quiet())
        .with_services()
        .request(),
        "deleted-service-is-made-again": _pair()
        .having(pod("prefill", 0), pod("prefill", 1), pod("decode", 0, 0), pod("decode", 0, 1))
        .with_services("qwen")
        .request(),
        "service-of-another-owner-is-left-alone": _server(1).having(pod("server", 0)).beside("qwen").request(),
        "role-service-taken-keeps-the-endpoint": _server(1)
        .having(pod("server", 0))
        .with_services("qwen")
        .beside("qwen-server")
        .request(),
        "service-we-no-longer-render-leaves": _server(1)
        .having(pod("server", 0))
        .with_services("qwen", "qwen-server", "qwen-old")
        .request(),
        "child-of-an-unknown-kind-is-kept": _server(1)
        .having(pod("server", 0))
        .with_services()
        .with_child(
            "ConfigMap.v1",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later", "namespace": "team-a"}, "data": {}},
        )
        .request(),
        "sixty-five-replicas-are-listed-in-part": _server(65).having(*_ready(65)).with_services().request(),
    }


def _holds() -> dict[str, JSON]:
    two = _server(2).having(pod("server", 0), pod("server", 1).outdated())
    stored = {"endpoint": "http://qwen.team-a.svc:8000", "phase": "Ready"}
    return {
        "off-keeps-everything-as-it-is": _server(1)
        .off()
        .with_status(**stored)
        .having(pod("server", 0).outdated(), pod("server", 1), pod("server", 2).ended("Evicted", "disk"))
        .with_services()
        .drifting("qwen", lambda s: s["spec"]["ports"][0].update(targetPort=9999))
        .request(),
        "off-still-reports-a-loss": _server(3).off().having(pod("server", 0)).with_services().request(),
        "missing-instance-type-keeps-what-runs": two.without_types().with_services().request(),
        "refused-render-still-sheds-beyond-replicas": _server(1)
        .without_types()
        .having(pod("server", 0).ended("Evicted", "disk"), pod("server", 1), pod("server", 2))
        .with_services()
        .request(),
        "refused-render-keeps-duplicates": _server(1)
        .without_types()
        .having(pod("server", 0), pod("server", 0).named("copy"))
        .with_services()
        .request(),
        "instance-type-that-does-not-validate-is-named": _server(1, instanceType="odd")
        .with_type("odd", {"perAccelerator": {"cpu": []}})
        .saying(
            {
                "model": {"name": "m"},
                "engine": {"name": "vLLM", "version": "0.12.0"},
                "roles": [{"name": "server", "instanceType": "odd"}],
            }
        )
        .request(),
        "owned-argument-is-refused-with-the-way-out": _server(1)
        .saying(
            {
                "model": {"name": "m"},
                "engine": {"name": "vLLM", "version": "0.12.0"},
                "roles": [{"name": "server", "instanceType": "h100-80g", "extraArgs": ["--kv-transfer-conf", "{}"]}],
            }
        )
        .request(),
        "no-image-to-derive-is-refused": a_deployment()
        .with_type("mi300x", {"accelerator": {"resource": "amd.com/gpu", "manufacturer": "AMD"}})
        .saying(
            {
                "model": {"name": "m"},
                "engine": {"name": "vLLM", "version": "0.12.0"},
                "roles": [{"name": "server", "instanceType": "mi300x"}],
            }
        )
        .request(),
        "spec-with-a-wrong-field-is-still-counted": _wrong(_server(2).having(pod("server", 0)).with_services()),
        "affinity-nested-without-end-is-refused": _wrong(
            _server(1).having(pod("server", 0)).with_services(), affinity=_nested(60)
        ),
        "spec-of-which-nothing-can-be-read-claims-nothing": a_deployment()
        .saying({"model": {"name": "m"}, "engine": {"name": "vLLM"}, "roles": [{"name": "server", "replicas": "two"}]})
        .with_status(
            phase="Ready",
            ready="1/1",
            conditions=[_stored("Ready", "True", "AllReplicasReady")],
            endpoint="http://q",
        )
        .request(),
        "new-deployment-with-a-wrong-spec-says-so": a_deployment().saying({"roles": []}).request(),
    }


def _ending() -> dict[str, JSON]:
    running = _server(2).having(pod("server", 0), pod("server", 1)).with_services().deleting()
    return {
        "finalize-lets-all-go-and-waits": running.request(finalizing=True),
        "finalize-waits-for-a-terminating-pod": _server(1)
        .having(pod("server", 0).terminating())
        .deleting()
        .request(finalizing=True),
        "finalize-is-final-without-pods": _server(2).deleting().request(finalizing=True),
        "finalize-deletes-though-reconciling-is-off": running.off().request(finalizing=True),
        "finalize-deletes-though-the-spec-is-wrong": a_deployment().saying("x").deleting().request(finalizing=True),
        "sync-of-a-deployment-in-foreground-deletion-keeps-all": running.request(),
    }


def _shapes() -> dict[str, JSON]:
    return {
        "own-command-is-unmanaged-and-ungated": _server(
            1, command=["python3", "-m", "my.server"], image="registry.example/me:1"
        ).request(),
        "tls-moves-the-endpoint-to-https": _server(
            1, extraArgs=["--ssl-certfile=/tls/tls.crt", "--ssl-keyfile=/tls/tls.key"]
        )
        .having(pod("server", 0))
        .request(),
        "customize-names-its-objects": _pair().customize(),
        "customize-of-a-wrong-spec-still-answers": a_deployment().saying({"roles": "none"}).customize(),
    }


def cases() -> dict[str, Case]:
    """All built cases by name."""
    found = _starting() | _converging() | _holds() | _ending() | _shapes()
    built = {name: Case(request) for name, request in found.items()}
    return built | {name: Case(request, _kueue(name)) for name, request in quota_cases().items()}


def _kueue(name: str) -> JSON:
    """Settings with Kueue switched on; the cases of reserved namespaces reserve this one."""
    reserved = ["team-a"] if "reserved-namespace" in name else ["kube-system"]
    return {"cluster_id": "local", "kueue": True, "reserved_namespaces": reserved}
