"""Refused renders: each says which field and what to do, and nothing that runs is touched meanwhile."""

from typing import Any

import pytest

from app.api.instancetype import InstanceTypeSpec
from app.api.owned import OWNED_ENVIRONMENT, RANK_ENVIRONMENT
from app.api.reasons import Reason
from app.kube.hook import JSON
from app.settings import ControllerSettings
from tests.modeldeployment.rendering import CPU_TYPE, GPU, SHM, decode, instance_type, refused, render

OWNED, CONFLICT = Reason.ARGUMENT_OWNED, Reason.ARGUMENT_CONFLICT
VOLUME: JSON = {"mountPath": "/data", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("engine", "flags", "shown"),
    [
        ("vLLM", ["--kv-transfer-config", "{}"], "--kv-transfer-config is"),
        ("vLLM", ["--kv_transfer_config={}"], "--kv_transfer_config (that is --kv-transfer-config)"),
        ("vLLM", ["--kv-transfer-config.kv_role", "x"], "(that is --kv-transfer-config)"),
        ("vLLM", ["--kv-ev={}"], "--kv-ev (that is --kv-events-config)"),
        ("SGLang", ["--disaggregation-mode", "null"], "--disaggregation-mode is"),
        ("SGLang", ["--disaggregation-b=1"], "(that is --disaggregation-bootstrap-port)"),
        ("SGLang", ["--hicache-storage-backend", "file"], "--hicache-storage-backend is"),
        ("SGLang", ["--hicache-storage-backend-e={}"], "(that is --hicache-storage-backend-extra-config)"),
        ("SGLang", ["--disagg", "x"], "--disagg (that is --disaggregation-"),
    ],
)
def test_an_owned_flag_is_refused_in_every_spelling_that_the_engine_takes(
    engine: str, flags: list[str], shown: str
) -> None:
    message = refused(OWNED, engine=engine, extraArgs=["--seed", "1", *flags])
    assert message.startswith("roles[main].extraArgs: ")
    assert shown in message
    assert "remove it" in message


@pytest.mark.parametrize(
    ("engine", "flag"),
    [
        ("vLLM", "--nnodes=2"),
        ("vLLM", "-n2"),
        ("vLLM", "-r"),
        ("vLLM", "--master-a"),
        ("vLLM", "--headless"),
        ("SGLang", "--nccl-init-addr=x"),
        ("SGLang", "--dist-init=x"),
        ("SGLang", "--node-rank"),
    ],
)
def test_a_members_place_is_ours_to_say_only_where_a_replica_has_several_pods(engine: str, flag: str) -> None:
    assert "extraArgs" in refused(OWNED, engine=engine, size=2, extraArgs=[flag])
    assert flag in render(engine=engine, extraArgs=[flag]).pod(0, 0)["spec"]["containers"][0]["command"]


@pytest.mark.parametrize("engine", OWNED_ENVIRONMENT)
@pytest.mark.parametrize("taken_over", [False, True])
def test_an_owned_variable_is_refused_also_where_the_role_took_over(engine: str, taken_over: bool) -> None:
    for name in OWNED_ENVIRONMENT[engine] | RANK_ENVIRONMENT:
        own: JSON = {"command": ["x"]} if taken_over else {}
        message = refused(OWNED, engine=engine, env=[{"name": "A", "value": "1"}, {"name": name}], **own)
        assert message == f"roles[main].env: {name} is set by Hangar: remove it"


def test_a_variable_that_another_engine_owns_is_the_users() -> None:
    render(engine="vLLM", env=[{"name": "MOONCAKE_MASTER", "value": "x"}])


@pytest.mark.parametrize(
    ("engine", "declared", "flag", "field"),
    [
        ("vLLM", {"spec": {"serving": {"contextLength": 1}}}, "--max_model_len=1", "serving.contextLength"),
        ("vLLM", {"spec": {"serving": {"quantization": "fp8"}}}, "-q=fp8", "serving.quantization"),
        ("vLLM", {"spec": {"serving": {"kvCacheDtype": "auto"}}}, "--kv-cache-d=fp8", "serving.kvCacheDtype"),
        ("vLLM", {"parallelism": {"tensor": 1}}, "-tp=1", "parallelism.tensor"),
        ("vLLM", {"parallelism": {"pipeline": 1}}, "--pipeline=1", "parallelism.pipeline"),
        ("vLLM", {"parallelism": {"data": 1}}, "-dp=1", "parallelism.data"),
        ("vLLM", {"parallelism": {"expert": 1}}, "--no-enable-expert-parallel", "parallelism.expert"),
        ("SGLang", {"spec": {"serving": {"contextLength": 1}}}, "--context-length=1", "serving.contextLength"),
        ("SGLang", {"parallelism": {"tensor": 1}}, "--tp=1", "parallelism.tensor"),
        ("SGLang", {"parallelism": {"data": 1}}, "--data-parallel-size=1", "parallelism.data"),
        ("SGLang", {"parallelism": {"expert": 1}}, "--ep=1", "parallelism.expert"),
    ],
)
def test_a_setting_stated_as_field_and_as_flag_is_not_left_to_chance(
    engine: str, declared: JSON, flag: str, field: str
) -> None:
    message = refused(CONFLICT, engine=engine, extraArgs=[flag], **declared)
    assert field in message
    assert flag.partition("=")[0] in message
    assert flag in render(engine=engine, extraArgs=[flag]).pod(0, 0)["spec"]["containers"][0]["command"]


@pytest.mark.parametrize(
    ("engine", "degrees", "cards", "size", "fits"),
    [
        ("vLLM", {"tensor": 4}, 4, 1, True),
        ("vLLM", {"tensor": 4}, 8, 1, False),
        ("vLLM", {"tensor": 4, "pipeline": 2}, 4, 2, True),
        ("vLLM", {"tensor": 2, "data": 4}, 8, 1, True),
        ("vLLM", {"data": 4}, 8, 1, False),
        ("vLLM", {"expert": 8}, 8, 1, False),
        ("vLLM", {"tensor": 4}, 0, 1, True),
        ("SGLang", {"tensor": 8, "data": 8}, 8, 1, True),
        ("SGLang", {"tensor": 2, "data": 4}, 8, 1, False),
        ("SGLang", {"tensor": 8, "pipeline": 2, "expert": 8}, 8, 2, True),
    ],
)
def test_no_card_idles_and_none_is_missing_where_degrees_and_cards_are_stated(
    engine: str, degrees: JSON, cards: int, size: int, fits: bool
) -> None:
    declared: dict[str, Any] = {"engine": engine, "parallelism": degrees, "accelerator": cards, "size": size}
    if fits:
        render(**declared)
    else:
        message = refused(CONFLICT, **declared)
        assert message.startswith("roles[main].parallelism: tensor × pipeline")
        assert f"{cards * size} cards" in message


def test_degrees_given_as_flags_count_beside_those_given_as_fields() -> None:
    render(parallelism={"expert": 8}, accelerator=8, extraArgs=["-tp", "8"])
    refused(CONFLICT, parallelism={"expert": 8}, accelerator=8, extraArgs=["-tp", "4"])


@pytest.mark.parametrize(
    ("engine", "flags", "shown", "field"),
    [
        ("vLLM", ["--tensor-parallel-size"], "--tensor-parallel-size has no value", "tensor"),
        ("vLLM", ["-tp", "--seed", "1"], "-tp has no value", "tensor"),
        ("vLLM", ["--tensor_parallel_size=eight"], "--tensor_parallel_size is 'eight'", "tensor"),
        ("vLLM", ["--pipeline", "0"], "--pipeline is '0'", "pipeline"),
        ("vLLM", ["-pp=-2"], "-pp is '-2'", "pipeline"),
        ("vLLM", ["--data-parallel-size", "1.5"], "--data-parallel-size is '1.5'", "data"),
        ("vLLM", ["-dp", "4097"], "-dp is '4097'", "data"),
        ("SGLang", ["--tp", ""], "--tp is ''", "tensor"),
        ("SGLang", ["--tensor-parallel-size=2x"], "--tensor-parallel-size is '2x'", "tensor"),
        ("SGLang", ["--pp-size"], "--pp-size has no value", "pipeline"),
        ("SGLang", ["--dp=0"], "--dp is '0'", "data"),
        ("SGLang", ["--expert-parallel-size", "all"], "--expert-parallel-size is 'all'", "expert"),
    ],
)
def test_a_degree_that_the_engine_cannot_read_is_refused_before_it_crash_loops(
    engine: str, flags: list[str], shown: str, field: str
) -> None:
    message = refused(Reason.SPEC_INVALID, engine=engine, extraArgs=["--seed", "1", *flags])
    assert message.startswith(f"roles[main].extraArgs: {shown}")
    assert message.endswith(f"write a whole number from 1 to 4096, or state parallelism.{field} instead")
    render(engine=engine, command=["serve", *flags])


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.0"])
def test_a_number_of_ranks_that_vllm_cannot_read_is_refused(value: str) -> None:
    env = [{"name": "VLLM_DP_SIZE", "value": value}]
    message = refused(Reason.SPEC_INVALID, env=env)
    assert message.startswith(f"roles[main].env: VLLM_DP_SIZE is {value!r}")
    assert message.endswith("write a whole number above 0, or remove it")
    render(env=env, command=["serve"])
    render(env=env, engine="SGLang")


def test_a_degree_is_read_as_leniently_as_the_engine_reads_it() -> None:
    render(accelerator=8, extraArgs=["-tp", "08", "--pipeline-parallel-size= 1", "-dp", "+1"])
    render(env=[{"name": "VLLM_DP_SIZE", "value": "2"}])


def test_a_degree_that_a_variable_holds_is_taken_on_trust() -> None:
    render(
        accelerator=1, extraArgs=["-tp", "$(CARDS)", "-pp", "2"], env=[{"name": "VLLM_DP_SIZE", "value": "$(RANKS)"}]
    )
    render(accelerator=8, parallelism={"expert": 8}, extraArgs=["-tp=$(CARDS)"])


@pytest.mark.parametrize(
    ("engine", "flags", "cards", "size", "fits"),
    [
        ("vLLM", ["-tp", "8"], 8, 1, True),
        ("vLLM", ["-tp", "8"], 4, 1, False),
        ("vLLM", ["-tp=4", "-pp=2"], 4, 2, True),
        ("vLLM", ["-tp=4", "-pp=2", "-dp=2"], 4, 2, False),
        ("vLLM", ["-tp", "2"], 8, 1, True),
        ("vLLM", ["-tp", "8"], 0, 1, True),
        ("vLLM", ["-tp=4", "-dp=4", "-dpl=2"], 8, 1, True),
        ("vLLM", ["-tp=4", "-dp=4", "-dpl=2"], 4, 1, False),
        ("vLLM", ["-tp=4", "-dp=2", "--data-parallel-rank", "1"], 4, 1, True),
        ("vLLM", ["-tp=16", "--nnodes=2", "--node-rank=0"], 8, 1, True),
        ("SGLang", ["--tp=4", "--dp=4"], 4, 1, True),
        ("SGLang", ["--tp=4", "--pp-size=2"], 4, 1, False),
        ("SGLang", ["--tp=16"], 8, 2, True),
        ("SGLang", ["--tp=16", "--nnodes=2"], 8, 1, True),
    ],
)
def test_flags_that_want_more_cards_than_a_replica_has_are_refused(
    engine: str, flags: list[str], cards: int, size: int, fits: bool
) -> None:
    inline: JSON = {"resources": {"limits": {"nvidia.com/gpu": cards}}, "image": "x"}
    for way in ({"accelerator": cards}, inline, inline | {"accelerator": cards}):
        declared: dict[str, Any] = {"engine": engine, "extraArgs": flags, "size": size} | way
        if fits:
            render(**declared)
        else:
            message = refused(CONFLICT, **declared)
            assert message.startswith("roles[main].extraArgs: tensor × pipeline")
            assert f"but a replica has {cards * size} cards ({cards} per Pod, size {size}): lower" in message


def test_a_role_that_took_over_may_use_cards_as_it_likes() -> None:
    render(command=["vllm", "serve", "m", "-tp", "8"], accelerator=1)


@pytest.mark.parametrize("cards", ["4", 4, "4000m"])
def test_cards_in_inline_resources_count_too(cards: int | str) -> None:
    declared: dict[str, Any] = {"resources": {"limits": {"nvidia.com/gpu": cards}}}
    render(parallelism={"tensor": 4}, **declared)
    refused(CONFLICT, parallelism={"tensor": 2}, **declared)
    refused(CONFLICT, accelerator=2, **declared)
    render(accelerator=4, **declared)


def test_degrees_without_cards_to_compare_them_with_are_the_users_own_affair() -> None:
    render(image="x", resources={"requests": {"cpu": "4"}}, parallelism={"tensor": 4})


def test_cards_that_nothing_gives_are_not_silently_missing() -> None:
    assert "no accelerator" in refused(CONFLICT, image="x", accelerator=1, shape=CPU_TYPE)
    message = refused(CONFLICT, image="x", accelerator=1, instanceType=None)
    assert "with an instanceType or resources" in message
    render(image="x", accelerator=0, shape=CPU_TYPE)
    inline = {"requests": {"cpu": "4"}}
    assert "resources asks for 0" in refused(CONFLICT, accelerator=4, instanceType="h100", resources=inline)
    render(accelerator=4, image="x", resources={"limits": {"huawei.com/Ascend910": 4}})


@pytest.mark.parametrize("cards", ["500m", "1e1.5"])
def test_a_part_of_a_card_is_refused_before_a_node_is_looked_for(cards: str) -> None:
    resources = {"limits": {"nvidia.com/gpu": cards}}
    assert "resources: nvidia.com/gpu: " in refused(Reason.SPEC_INVALID, accelerator=1, resources=resources, image="x")


@pytest.mark.parametrize("names", [["other"], [], ["other", "Qwen/Qwen3-32B"]])
def test_the_model_is_served_under_the_name_that_the_spec_promises(names: list[str]) -> None:
    assert "Qwen/Qwen3-32B" in refused(CONFLICT, extraArgs=["--served-model-name", *names])


def test_aliases_beside_the_promised_name_are_fine() -> None:
    render(extraArgs=["--served-model-name", "Qwen/Qwen3-32B", "qwen", "--seed", "1"])
    render(extraArgs=["--served-model-name=Qwen/Qwen3-32B"])


@pytest.mark.parametrize(("engine", "flag"), [("vLLM", "--model"), ("SGLang", "--model-path"), ("SGLang", "--model")])
def test_a_model_named_twice_is_refused_before_the_wrong_one_is_loaded(engine: str, flag: str) -> None:
    assert "spec.model.name" in refused(CONFLICT, engine=engine, extraArgs=[f"{flag}=other"])


@pytest.mark.parametrize(
    ("own", "field", "shown"),
    [
        ({"extraArgs": ["--port", "9001"]}, "extraArgs", "--port 9001 is not 9000"),
        ({"extraArgs": ["--port=x"]}, "extraArgs", "--port x is not 9000"),
        ({"extraArgs": ["--port"]}, "extraArgs", "--port is not 9000"),
        ({"command": ["serve", "--port=9001"]}, "command", "--port 9001 is not 9000"),
    ],
)
def test_an_own_port_that_the_service_would_not_reach_is_refused(own: JSON, field: str, shown: str) -> None:
    message = refused(CONFLICT, ports=[{"port": 9000}], **own)
    assert message.startswith(f"roles[main].{field}: {shown}")


def test_an_own_port_that_a_variable_holds_is_taken_on_trust() -> None:
    render(ports=[{"port": 9000}], extraArgs=["--port", "$(PORT)"])


@pytest.mark.parametrize(
    "own", [{"ports": [{"port": 8998}]}, {"ports": [{"port": 8000}, {"port": 8998}]}, {"extraArgs": ["--port=8998"]}]
)
def test_the_port_under_which_decode_finds_prefill_is_not_taken_by_another_use(own: JSON) -> None:
    assert "8998" in refused(CONFLICT, decode(), engine="SGLang", kind="Prefill", **own)
    render(engine="SGLang", kind="Prefill", **own)
    render(decode(), engine="vLLM", kind="Prefill", **own)


def test_a_port_number_stated_twice_is_refused_because_one_would_be_lost() -> None:
    assert "9000 is declared twice" in refused(CONFLICT, ports=[{"port": 9000}, {"port": 9000, "protocol": "UDP"}])


@pytest.mark.parametrize("version", ["0.10.2", "v0.11.0", "0.11", "0.11.0.post1", "0.9.1-custom"])
def test_a_vllm_that_cannot_spread_a_replica_is_refused_with_the_first_that_can(version: str) -> None:
    message = refused(Reason.ENGINE_UNSUPPORTED, version=version, size=2)
    assert "0.11.1" in message
    assert "engine.version" in message
    render(version=version)
    render(version=version, size=2, command=["ray", "start"])
    render(engine="SGLang", version=version, size=2)


@pytest.mark.parametrize("version", ["0.11.1", "0.11.1rc1", "v0.12", "1.0.0", "nightly", "nightly-0.1.0"])
def test_a_version_that_can_or_that_says_nothing_is_not_refused(version: str) -> None:
    render(version=version, size=2)


def test_an_own_image_without_a_version_is_taken_on_trust() -> None:
    render(version=None, image="registry.example/vllm@sha256:00", size=2)


@pytest.mark.parametrize(
    ("declared", "way_out"),
    [
        ({"shape": CPU_TYPE}, "spec.images.vLLM on the InstanceType"),
        ({"shape": instance_type(accelerator=GPU | {"manufacturer": "AMD"})}, "InstanceType h100"),
        ({"instanceType": None}, "state one"),
        ({"resources": {"requests": {"cpu": 1}}}, "state one"),
        ({"settings": ControllerSettings(images={"vLLM": ""})}, "state one"),
        ({"version": None}, "engine.version is missing"),
        ({"version": None, "shape": instance_type(images={"vLLM": "x:{version}"})}, "engine.version is missing"),
    ],
)
def test_an_image_that_would_be_a_guess_is_asked_for_instead(declared: JSON, way_out: str) -> None:
    message = refused(Reason.IMAGE_NOT_DERIVABLE, **declared)
    assert message.startswith("roles[main].image: ")
    assert way_out in message


@pytest.mark.parametrize("field", [{"extraArgs": ["--seed", "1"]}, {"parallelism": {"tensor": 1}}])
def test_what_a_command_would_silently_drop_is_refused(field: JSON) -> None:
    assert "no effect: remove it" in refused(CONFLICT, command=["x"], **field)


def test_privileges_need_the_platforms_leave() -> None:
    assert "HANGAR_ALLOW_PRIVILEGED" in refused(Reason.NOT_ALLOWED, privileged=True)
    assert "HANGAR_ALLOW_PRIVILEGED" in refused(Reason.NOT_ALLOWED, privileged=True, command=["x"])
    render(privileged=True, settings=ControllerSettings(allow_privileged=True))


def test_the_nodes_own_files_need_the_platforms_leave() -> None:
    volumes = [{"mountPath": "/models", "hostPath": {"path": "/srv/models"}}]
    assert "HANGAR_ALLOW_HOST_PATH" in refused(Reason.NOT_ALLOWED, additionalVolumes=volumes)
    render(additionalVolumes=volumes, settings=ControllerSettings(allow_host_path=True))


@pytest.mark.parametrize(
    ("reason", "volumes", "shown"),
    [
        (Reason.SPEC_INVALID, [VOLUME | {"mountPath": "/a/../b"}], "/a/../b has a `..` segment"),
        (Reason.SPEC_INVALID, [VOLUME | {"subPath": "a/.."}], "a/.. has a `..` segment"),
        (Reason.SPEC_INVALID, [{"mountPath": "/a", "hostPath": {"path": "/a/.."}}], "/a/.. has a `..` segment"),
        (Reason.SPEC_INVALID, [{"mountPath": "/data"}], "/data needs exactly one source"),
        (Reason.SPEC_INVALID, [VOLUME | {"secret": {"secretName": "x"}}], "/data needs exactly one source"),
        (CONFLICT, [VOLUME, VOLUME], "/data is mounted twice"),
        (CONFLICT, [VOLUME | {"mountPath": SHM}], f"{SHM} is Hangar's own mount: state its size as shmSize"),
    ],
)
def test_a_volume_that_no_pod_could_have_is_refused_with_its_path(reason: Reason, volumes: JSON, shown: str) -> None:
    settings = ControllerSettings(allow_host_path=True)
    message = refused(reason, additionalVolumes=volumes, settings=settings)
    assert message.startswith(f"roles[main].additionalVolumes: {shown}")


def test_dots_inside_a_name_are_only_a_name() -> None:
    render(additionalVolumes=[VOLUME | {"mountPath": "/a..b"}])


def test_a_role_cannot_leave_the_nodes_of_its_type_unnoticed() -> None:
    message = refused(CONFLICT, nodeSelector={"cloud.example/pool": "a100"})
    assert "'a100', but InstanceType h100 says 'h100'" in message


def test_a_flag_cut_so_short_that_it_means_two_is_refused_with_both() -> None:
    message = refused(CONFLICT, extraArgs=["--ssl-cert", "/c"])
    assert "--ssl-certfile, --ssl-cert-reqs" in message


def test_an_instance_type_whose_share_is_no_quantity_names_the_type_and_the_field() -> None:
    shape: InstanceTypeSpec = instance_type(perAccelerator={"cpu": "1e1.5"})
    message = refused(Reason.INSTANCE_TYPE_INVALID, shape=shape)
    assert message.startswith("InstanceType h100: spec.perAccelerator.cpu: '1e1.5'")


def test_a_refusal_stays_a_sentence_whatever_was_written() -> None:
    long = "9" * 30_000
    assert "make the two equal" in refused(CONFLICT, ports=[{"port": 9000}], extraArgs=[f"--port={long}"])
    assert "remove it" in refused(OWNED, extraArgs=[f"--kv-transfer-config.{long}=1"])
