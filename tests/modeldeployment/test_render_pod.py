"""The Pod around the engine: names, labels, resources, volumes, environment, and what is never in it."""

from typing import Any

import orjson
import pytest

from app.kube import names
from app.kube.hook import JSON
from app.kube.shape import merge_key
from app.modeldeployment.render import Identity, RenderedRole
from app.settings import ControllerSettings
from tests.modeldeployment.rendering import CPU_TYPE, GPU, SHM, decode, instance_type, main, render

REALISTIC: dict[str, Any] = {
    "name": "decode",
    "accelerator": 8,
    "spec": {"serving": {"contextLength": 131072, "quantization": "fp8"}},
    "parallelism": {"tensor": 8},
    "extraArgs": [
        "--gpu-memory-utilization=0.92",
        "--max-num-seqs=256",
        "--enable-prefix-caching",
        "--enable-auto-tool-choice",
        "--tool-call-parser=hermes",
        "--reasoning-parser=qwen3",
    ],
    "env": [
        {"name": "HF_HUB_OFFLINE", "value": "1"},
        {"name": "VLLM_LOGGING_LEVEL", "value": "INFO"},
        {"name": "NCCL_DEBUG", "value": "WARN"},
    ],
    "additionalVolumes": [{"mountPath": "/root/.cache/huggingface", "persistentVolumeClaim": {"claimName": "models"}}],
}
EVERYTHING: dict[str, Any] = REALISTIC | {
    "size": 2,
    "kind": "Prefill",
    "accelerator": 4,
    "privileged": True,
    "imagePullPolicy": "Always",
    "imagePullSecrets": [{"name": "registry"}],
    "ports": [{"port": 9000}, {"port": 9001, "protocol": "UDP"}],
    "env": [{"name": "EMPTY"}, {"name": "SET", "value": "1"}],
    "affinity": {"podAntiAffinity": {"x": []}},
    "priorityClassName": "high",
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "spot", "operator": "Equal", "value": "", "tolerationSeconds": 0}],
    "settings": ControllerSettings(allow_privileged=True, allow_host_path=True),
    "additionalVolumes": [
        {"mountPath": "/a", "configMap": {"name": "a", "optional": False}, "readOnly": True, "subPath": "x"},
        {"mountPath": "/b", "secret": {"secretName": "b", "optional": True}},
        {"mountPath": "/c", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
        {"mountPath": "/d", "hostPath": {"path": "/srv"}},
    ],
}
SHAPES: list[dict[str, Any]] = [
    {},
    REALISTIC,
    EVERYTHING,
    {"command": ["serve"], "size": 2},
    {"image": "x", "instanceType": None},
    {"engine": "SGLang", "kind": "Prefill"},
]


def spec(role: RenderedRole) -> JSON:
    found: JSON = role.pod(0, 0)["spec"]
    return found


# 3.5 KB is for the ordinary case, one Pod per replica. Members of several also carry the way to their leader, thrice.
@pytest.mark.parametrize(("size", "limit"), [(1, 3500), (2, 4000)])
@pytest.mark.parametrize("kind", ["Server", "Prefill", "Decode"])
@pytest.mark.parametrize("engine", ["vLLM", "SGLang"])
def test_a_thousand_pods_fit_into_an_answer(engine: str, kind: str, size: int, limit: int) -> None:
    others = {"Server": [], "Prefill": [decode(name="other")], "Decode": [decode(name="other", kind="Prefill")]}
    role = render(*others[kind], **REALISTIC | {"engine": engine, "kind": kind, "size": size, "accelerator": 8 // size})
    assert max(len(orjson.dumps(role.pod(1000 // size - 1, member))) for member in range(size)) < limit


@pytest.mark.parametrize(("size", "limit"), [(1, 3600), (64, 4400)])
def test_the_longest_names_make_no_pod_much_larger(size: int, limit: int) -> None:
    own: JSON = {"name": "r" * 22, "engine": "SGLang", "kind": "Prefill", "size": size, "parallelism": None}
    role = render(decode(), identity=Identity("d" * 40, "n" * 63), **REALISTIC | own)
    assert len(orjson.dumps(role.pod(1000 // size - 1, 0))) < limit


def test_labels_say_whose_pod_this_is_and_leave_argos_label_alone() -> None:
    metadata = render(decode(), kind="Prefill", size=2).pod(7, 1)["metadata"]
    assert metadata["name"] == names.pod("qwen", "main", 7, 1, 2)
    assert metadata["namespace"] == "team-a"
    assert metadata["labels"] == {
        "app.kubernetes.io/name": "modeldeployment",
        "app.kubernetes.io/component": "main",
        "app.kubernetes.io/managed-by": "hangar",
        "hangar.dev/deployment": "qwen",
        "hangar.dev/role": "main",
        "hangar.dev/role-kind": "prefill",
        "hangar.dev/replica": "7",
        "hangar.dev/member": "1",
    }
    assert set(metadata) == {"name", "namespace", "labels", "annotations"}


def test_metrics_are_announced_where_they_are_and_only_by_who_has_them() -> None:
    role = render(size=2, extraArgs=["--ssl-keyfile=/k"], ports=[{"port": 9000}])
    announced = role.pod(0, 0)["metadata"]["annotations"]
    assert announced == {
        "prometheus.io/scrape": "true",
        "prometheus.io/path": "/metrics",
        "prometheus.io/port": "9000",
        "prometheus.io/scheme": "https",
        "hangar.dev/pod-hash": role.pod_hash,
    }
    for pod in (role.pod(0, 1), render(command=["x"]).pod(0, 0)):
        assert set(pod["metadata"]["annotations"]) == {"hangar.dev/pod-hash"}


def test_a_decode_half_is_told_where_its_prefill_waits() -> None:
    role = render(decode(), engine="SGLang", kind="Prefill", ports=[{"port": 9000}])
    assert main(role)["ports"][1] == {"name": "bootstrap", "containerPort": 8998, "protocol": "TCP"}
    assert role.pod(0, 0)["metadata"]["annotations"]["sglang.ai/bootstrap-port"] == "8998"


@pytest.mark.parametrize("role", SHAPES)
def test_nothing_is_sent_that_the_api_server_drops(role: dict[str, Any]) -> None:
    rendered = render(*([decode(name="other")] if role.get("kind") else []), **role)

    def walk(value: Any, path: str) -> None:
        assert value not in (None, "", [], {}), path
        if isinstance(value, dict):
            for key, part in value.items():
                walk(part, f"{path}.{key}")
        if isinstance(value, list):
            for index, part in enumerate(value):
                walk(part, f"{path}[{index}]")

    for member in range(rendered.size):
        pod = rendered.pod(0, member)
        pod["spec"].pop("affinity", None)  # passed on as it is
        walk(pod, "pod")


@pytest.mark.parametrize("role", SHAPES)
def test_no_item_of_a_list_is_lost_when_metacontroller_merges_it(role: dict[str, Any]) -> None:
    rendered = render(**role)

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for part in value.values():
                walk(part)
        if isinstance(value, list):
            key = merge_key(value)
            assert key is None or len({item[key] for item in value}) == len(value)
            for part in value:
                walk(part)

    walk(rendered.pod(0, rendered.size - 1))


def test_an_engine_has_no_more_rights_than_it_needs() -> None:
    role = render()
    found = spec(role)
    assert found["automountServiceAccountToken"] is False
    assert found["enableServiceLinks"] is False
    assert found["restartPolicy"] == "Always"
    assert found["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert main(role)["securityContext"] == {"allowPrivilegeEscalation": False}


def test_privileges_that_were_granted_are_given() -> None:
    role = render(privileged=True, settings=ControllerSettings(allow_privileged=True))
    assert main(role)["securityContext"] == {"privileged": True}


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ({}, {"cpu": "12", "memory": "200Gi", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "1"}),
        (
            {"accelerator": 8},
            {"cpu": "96", "memory": "1600Gi", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "8"},
        ),
        ({"accelerator": 0}, {"cpu": "12", "memory": "200Gi", "ephemeral-storage": "100Gi"}),
        ({"shape": CPU_TYPE, "image": "x"}, {"cpu": "4", "memory": "16Gi"}),
        ({"shape": instance_type(perAccelerator=None, ephemeralStorage=None)}, {"nvidia.com/gpu": "1"}),
    ],
)
def test_a_pod_asks_for_its_cards_and_what_goes_with_them(role: dict[str, Any], expected: JSON) -> None:
    assert main(render(**role))["resources"] == {"requests": expected, "limits": expected}


def test_resources_stated_on_the_role_are_taken_as_they_are() -> None:
    stated = {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": 2, "memory": "1.5Gi"}}
    role = render(resources=stated, instanceType="h100")
    limits = {"nvidia.com/gpu": "2", "memory": "1.5Gi"}
    assert main(role)["resources"] == {"requests": {"cpu": "500m"}, "limits": limits}
    assert spec(role)["nodeSelector"] == {"cloud.example/pool": "h100"}


def test_a_toy_on_cpu_needs_neither_type_nor_resources() -> None:
    assert "resources" not in main(render(instanceType=None, image="x"))


@pytest.mark.parametrize(
    ("declared", "image"),
    [
        ({"image": "registry.example/own:1"}, "registry.example/own:1"),
        ({}, "vllm/vllm-openai:v0.12.0"),
        ({"version": "v0.12.0"}, "vllm/vllm-openai:v0.12.0"),
        ({"version": "nightly"}, "vllm/vllm-openai:vnightly"),
        ({"version": "v"}, "vllm/vllm-openai:vv"),
        (
            {"version": "v0.12.0", "shape": instance_type(images={"vLLM": "mirror/vllm:{version}"})},
            "mirror/vllm:v0.12.0",
        ),
        ({"version": "v1", "shape": instance_type(images={"vLLM": "a-v{version}/b:dev{version}"})}, "a-v1/b:devv1"),
        ({"engine": "SGLang", "version": "0.5.6"}, "lmsysorg/sglang:v0.5.6"),
        ({"shape": instance_type(images={"vLLM": "mirror/vllm:{version}-cu129"})}, "mirror/vllm:0.12.0-cu129"),
        ({"shape": instance_type(images={"SGLang": "x"})}, "vllm/vllm-openai:v0.12.0"),
        (
            {"shape": instance_type(accelerator=GPU | {"manufacturer": "AMD"}, images={"vLLM": "rocm:{version}"})},
            "rocm:0.12.0",
        ),
        ({"shape": instance_type(images={"vLLM": "pinned"}), "version": None}, "pinned"),
        ({"resources": {"limits": {"nvidia.com/gpu": 1}}}, "vllm/vllm-openai:v0.12.0"),
        ({"settings": ControllerSettings(images={"vLLM": "own/{version}"})}, "own/0.12.0"),
    ],
)
def test_the_image_is_the_nearest_that_somebody_stated(declared: dict[str, Any], image: str) -> None:
    assert main(render(**declared))["image"] == image


def test_the_users_variables_keep_their_order_and_the_later_of_two_counts() -> None:
    role = render(env=[{"name": "B", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B", "value": "3"}])
    assert main(role)["env"] == [{"name": "B", "value": "3"}, {"name": "A", "value": "2"}]
    assert main(render(env=[{"name": "A"}]))["env"] == [{"name": "A"}]


@pytest.mark.parametrize("own", [{}, {"command": ["torchrun"]}])
def test_every_member_of_a_replica_knows_its_place_also_where_the_role_took_over(own: dict[str, Any]) -> None:
    role = render(size=2, env=[{"name": "A", "value": "1"}], **own)
    leader = role.pod(3, 0)["metadata"]["name"]
    field = {"fieldRef": {"fieldPath": "metadata.labels['hangar.dev/member']"}}
    for member in (0, 1):
        pod = role.pod(3, member)
        address = f"{leader}.{pod['spec']['subdomain']}.team-a.svc"
        assert pod["spec"]["containers"][0]["env"] == [
            {"name": "A", "value": "1"},
            {"name": "HANGAR_LEADER_ADDRESS", "value": address},
            {"name": "HANGAR_REPLICA_SIZE", "value": "2"},
            {"name": "HANGAR_MEMBER_INDEX", "valueFrom": field},
        ]
    assert "env" not in main(render())
    assert {"hostname", "subdomain"}.isdisjoint(spec(render()))


def test_the_users_volumes_come_first_and_the_engines_processes_share_memory() -> None:
    role = render(**EVERYTHING, shmSize="64Gi")
    assert spec(role)["volumes"] == [
        {"name": "volume-0", "configMap": {"name": "a"}},
        {"name": "volume-1", "secret": {"secretName": "b", "optional": True}},
        {"name": "volume-2", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
        {"name": "volume-3", "hostPath": {"path": "/srv"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
    ]
    assert main(role)["volumeMounts"] == [
        {"name": "volume-0", "mountPath": "/a", "readOnly": True, "subPath": "x"},
        {"name": "volume-1", "mountPath": "/b"},
        {"name": "volume-2", "mountPath": "/c"},
        {"name": "volume-3", "mountPath": "/d"},
        {"name": "shm", "mountPath": SHM},
    ]
    assert spec(render())["volumes"][0]["emptyDir"]["sizeLimit"] == "16Gi"


def test_placement_is_the_types_and_the_roles_together() -> None:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, {"key": "spot"}]
    role = render(
        shape=instance_type(runtimeClassName="nvidia"),
        nodeSelector={"zone": "a", "cloud.example/pool": "h100"},
        tolerations=tolerations,
        affinity={"nodeAffinity": {"x": [""]}},
        priorityClassName="high",
        imagePullSecrets=[{"name": "registry"}],
        imagePullPolicy="IfNotPresent",
    )
    found = spec(role)
    assert found["nodeSelector"] == {"cloud.example/pool": "h100", "zone": "a"}
    assert found["tolerations"] == tolerations
    assert found["runtimeClassName"] == "nvidia"
    assert found["affinity"] == {"nodeAffinity": {"x": [""]}}
    assert found["priorityClassName"] == "high"
    assert found["imagePullSecrets"] == [{"name": "registry"}]
    assert main(role)["imagePullPolicy"] == "IfNotPresent"


def test_a_toleration_for_no_time_at_all_is_not_one_for_ever() -> None:
    role = render(**EVERYTHING)
    assert spec(role)["tolerations"][1] == {"key": "spot", "operator": "Equal", "tolerationSeconds": 0}


@pytest.mark.parametrize(
    ("role", "seconds"),
    [
        ({}, 30),
        ({"terminationGracePeriodSeconds": 600}, 600),
        ({"command": ["x"]}, None),
        ({"command": ["x"], "terminationGracePeriodSeconds": 15}, 15),
    ],
)
def test_a_replica_gets_the_time_it_asks_for_to_leave(role: dict[str, Any], seconds: int | None) -> None:
    assert spec(render(**role)).get("terminationGracePeriodSeconds") == seconds


def test_filling_one_seat_leaves_the_others_as_they_were() -> None:
    role = render(**EVERYTHING)
    before = orjson.dumps(role.pod(0, 1))
    role.pod(5, 0)["metadata"]["labels"]["x"] = "y"
    assert orjson.dumps(role.pod(0, 1)) == before


def test_declared_ports_are_named_after_what_they_carry() -> None:
    assert main(render(ports=[{"port": 9000}, {"port": 53, "protocol": "UDP"}]))["ports"] == [
        {"name": "tcp-9000", "containerPort": 9000, "protocol": "TCP"},
        {"name": "udp-53", "containerPort": 53, "protocol": "UDP"},
    ]
    assert main(render())["ports"] == [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
