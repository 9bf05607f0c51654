"""The command line: what the engine is told, in which order, and what is left to the user."""

import pytest

from tests.modeldeployment.rendering import MODEL, command, decode, main, render

ADDRESS = ["--host", "0.0.0.0", "--port", "8000"]
LEADER = "qwen-main-{}-0-0.qwen-main-{}-pods.team-a.svc"


def test_vllm_serves_the_model_on_every_interface_at_the_service_port() -> None:
    assert command(render()) == ["vllm", "serve", MODEL, *ADDRESS]


def test_sglang_serves_the_model_with_metrics_where_others_reach_it() -> None:
    base = ["python3", "-m", "sglang.launch_server", "--model-path", MODEL, "--enable-metrics"]
    assert command(render(engine="SGLang")) == [*base, *ADDRESS]


def test_typed_settings_reach_vllm_before_the_users_own_flags() -> None:
    role = render(
        spec={"serving": {"contextLength": 32768, "quantization": "fp8", "kvCacheDtype": "auto"}},
        parallelism={"tensor": 4, "pipeline": 1, "data": 2, "expert": 8},
        accelerator=8,
        extraArgs=["--max-num-seqs", "64"],
    )
    typed = "--max-model-len 32768 --quantization fp8 --kv-cache-dtype auto --tensor-parallel-size 4 "
    typed += "--pipeline-parallel-size 1 --data-parallel-size 2 --enable-expert-parallel"
    assert command(role) == ["vllm", "serve", MODEL, *typed.split(), "--max-num-seqs", "64", *ADDRESS]


def test_typed_settings_reach_sglang_under_its_own_names() -> None:
    role = render(
        engine="SGLang",
        spec={"serving": {"contextLength": 32768, "quantization": "fp8", "kvCacheDtype": "auto"}},
        parallelism={"tensor": 4, "pipeline": 2, "data": 2, "expert": 4},
        accelerator=8,
    )
    typed = "--context-length 32768 --quantization fp8 --kv-cache-dtype auto --tp-size 4 --pp-size 2 --dp-size 2 "
    assert command(role)[6:-4] == (typed + "--ep-size 4").split()


def test_an_expert_degree_of_one_leaves_expert_parallelism_off_in_vllm() -> None:
    assert "--enable-expert-parallel" not in command(render(parallelism={"expert": 1}))


@pytest.mark.parametrize(
    ("own", "filled"),
    [
        (["--host", "::"], ["--port", "8000"]),
        (["--host=::"], ["--port", "8000"]),
        (["--port", "9000"], ["--host", "0.0.0.0"]),
        (["--por=9000"], ["--host", "0.0.0.0"]),
        (["--host", "::", "--port", "9000"], []),
        (["--reasoning-parser", "host"], ADDRESS),
    ],
)
def test_a_users_own_address_is_kept_and_only_the_missing_half_is_filled(own: list[str], filled: list[str]) -> None:
    assert command(render(extraArgs=own)) == ["vllm", "serve", MODEL, *own, *filled]


def test_the_first_declared_port_is_where_the_engine_listens() -> None:
    assert command(render(ports=[{"port": 9000}, {"port": 9001}]))[-2:] == ["--port", "9000"]


def test_members_of_a_vllm_replica_find_each_other_and_only_the_first_serves() -> None:
    role = render(size=2, parallelism={"tensor": 2}, extraArgs=["--seed", "1"])
    digest = role.pod(0, 0)["metadata"]["name"].split("-")[2]
    leader = LEADER.format(digest, digest)
    head = ["vllm", "serve", MODEL, "--tensor-parallel-size", "2", "--nnodes", "2", "--node-rank"]
    tail = ["--seed", "1", *ADDRESS]
    assert command(role, 0) == [*head, "0", "--master-addr", leader, *tail]
    assert command(role, 1) == [*head, "1", "--master-addr", leader, "--headless", *tail]


def test_members_of_an_sglang_replica_meet_at_their_leader() -> None:
    role = render(engine="SGLang", size=3)
    digest = role.pod(0, 0)["metadata"]["name"].split("-")[2]
    place = ["--dist-init-addr", f"{LEADER.format(digest, digest)}:20000", "--nnodes", "3", "--node-rank", "2"]
    assert command(role, 2)[6:-4] == place


def test_every_replica_meets_at_its_own_leader_and_not_at_the_first_ones() -> None:
    role = render(size=2)
    first, second = (role.pod(ordinal, 1)["spec"]["containers"][0]["command"] for ordinal in (0, 1))
    assert first != second
    assert [argument for argument in second if "-1-0." in argument]


def test_an_sglang_pair_is_split_without_the_user_saying_so() -> None:
    prefill = render(decode(), engine="SGLang", kind="Prefill", extraArgs=["--log-level", "info"])
    mode = ["--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "8998"]
    assert command(prefill)[6:] == [*mode, "--log-level", "info", *ADDRESS]
    other = render(decode(name="prefill", kind="Prefill"), engine="SGLang", kind="Decode")
    assert command(other)[6:] == ["--disaggregation-mode", "decode", *ADDRESS]


def test_an_sglang_half_without_its_other_half_serves_whole() -> None:
    assert "--disaggregation-mode" not in command(render(engine="SGLang", kind="Prefill"))
    assert [port["name"] for port in main(render(engine="SGLang", kind="Prefill"))["ports"]] == ["http"]


def test_a_server_beside_a_pair_is_no_half_of_it() -> None:
    role = render(decode(), decode(name="prefill", kind="Prefill"), engine="SGLang")
    assert command(role)[6:] == ADDRESS


def test_a_vllm_pair_gets_no_flags_that_vllm_does_not_know() -> None:
    assert command(render(decode(), kind="Prefill")) == ["vllm", "serve", MODEL, *ADDRESS]


def test_a_role_with_a_command_of_its_own_runs_that_and_nothing_else() -> None:
    own = ["/entry.sh", "--model", "x"]
    for member in (0, 1):
        assert command(render(command=own, size=2, spec={"serving": {"contextLength": 1}}), member) == own


def test_what_a_command_of_the_users_own_says_of_owned_flags_is_the_users_to_say() -> None:
    own = ["vllm", "serve", MODEL, "--kv-transfer-config", "{}", "--served-model-name", "other", "--ssl-cert", "x"]
    assert command(render(command=own)) == own
