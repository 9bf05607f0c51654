"""Observed Pods at the size in which a hook really receives them: about 15 KB each, most of it book-keeping."""

from typing import Any

from app.kube.hook import JSON
from tests.support.builders import DeploymentBuilder, a_deployment, ago, pod

_DEFAULTS: JSON = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
}
_IMAGE_ID = "docker.io/vllm/vllm-openai@sha256:3bfa6a3b1f4f1a6e21d8c7d1d9e3a1f0b0d6a3f4c2e5b7a8901234567890abcd"
_ENVIRONMENT = [
    {"name": name, "value": value}
    for name, value in (
        ("HF_HOME", "/var/cache/huggingface"),
        ("HF_HUB_ENABLE_HF_TRANSFER", "1"),
        ("NCCL_DEBUG", "WARN"),
        ("NCCL_IB_DISABLE", "0"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("OMP_NUM_THREADS", "8"),
        ("VLLM_LOGGING_LEVEL", "INFO"),
        ("VLLM_USE_V1", "1"),
        ("TORCHINDUCTOR_CACHE_DIR", "/var/cache/inductor"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
    )
]


def _fields(value: Any) -> Any:
    """`value` as the API server's FieldsV1."""
    if isinstance(value, dict):
        return {f"f:{key}": _fields(item) for key, item in value.items()} | {".": {}}
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return {f'k:{{"name":"{item.get("name", i)}"}}': _fields(item) for i, item in enumerate(value)}
    return {}


def _managed(pod_object: JSON) -> list[JSON]:
    def entry(manager: str, fields: JSON, **more: str) -> JSON:
        return {
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": _fields(fields),
            "manager": manager,
            "operation": "Update",
            "time": ago(900),
            **more,
        }

    own = {"metadata": {k: pod_object["metadata"][k] for k in ("labels", "annotations")}, "spec": pod_object["spec"]}
    return [
        entry("metacontroller", own),
        entry("kube-scheduler", {"status": {"conditions": pod_object["status"]["conditions"][:1]}}),
        entry("kubelet", {"status": pod_object["status"]}, subresource="status"),
    ]


def _as_received(pod_object: JSON) -> None:
    spec, status = pod_object["spec"], pod_object["status"]
    spec |= _DEFAULTS
    spec["tolerations"] = [
        *spec.get("tolerations", []),
        *(
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ),
    ]
    for container in spec["containers"]:
        container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
        container.setdefault("imagePullPolicy", "IfNotPresent")
    status |= {
        "hostIP": "10.0.3.17",
        "hostIPs": [{"ip": "10.0.3.17"}],
        "podIPs": [{"ip": status["podIP"]}],
        "qosClass": "Burstable",
        "observedGeneration": 1,
    }
    for found in status["conditions"]:
        found |= {"lastProbeTime": None, "observedGeneration": 1}
    main = status["containerStatuses"][0]
    main |= {
        "containerID": "containerd://" + "9f" * 32,
        "imageID": _IMAGE_ID,
        "lastState": {},
        "resources": spec["containers"][0].get("resources", {}),
        "volumeMounts": spec["containers"][0].get("volumeMounts", []),
    }
    pod_object["metadata"]["managedFields"] = _managed(pod_object)


def a_busy_deployment(replicas: int) -> DeploymentBuilder:
    """A steady deployment of `replicas` ready Pods of one role, each as large as recorded ones are."""
    return (
        a_deployment()
        .with_role(
            "server",
            replicas=replicas,
            accelerator=8,
            parallelism={"tensor": 8},
            env=_ENVIRONMENT,
            extraArgs=["--gpu-memory-utilization", "0.92", "--max-num-seqs", "256", "--enable-prefix-caching"],
        )
        .with_spec(serving={"contextLength": 32768, "quantization": "fp8"})
        .having(*(pod("server", ordinal).but(_as_received) for ordinal in range(replicas)))
        .with_services()
    )
