"""Gates: a replica counts as ready when its engine answers, and is never restarted for an address we do not know."""

import pytest

from app.kube.hook import JSON
from tests.modeldeployment.rendering import main, render

TLS = ["--ssl-certfile", "/tls/tls.crt"]
PROBES = {"startupProbe", "readinessProbe", "livenessProbe"}


def probes(container: JSON) -> set[str]:
    return PROBES & set(container)


def test_a_replica_is_ready_when_its_engine_answers_and_has_half_an_hour_to_load() -> None:
    container = main(render())
    get = {"path": "/health", "port": 8000, "scheme": "HTTP"}
    assert {gate: container[gate]["failureThreshold"] for gate in PROBES} == {
        "startupProbe": 180,
        "readinessProbe": 3,
        "livenessProbe": 6,
    }
    for gate in PROBES:
        assert container[gate] == {
            "httpGet": get,
            "periodSeconds": 10,
            "timeoutSeconds": 3,
            "failureThreshold": container[gate]["failureThreshold"],
        }


def test_the_gates_ask_at_the_port_that_the_service_targets() -> None:
    assert main(render(ports=[{"port": 9000}]))["readinessProbe"]["httpGet"]["port"] == 9000


@pytest.mark.parametrize(
    "flags", [TLS, ["--ssl-keyfile", "/k"], ["--ssl-keyfile=/k"], ["--ssl_certfile", "/c"], ["--ssl-certf=/c"]]
)
def test_a_certificate_or_a_key_alone_moves_the_gates_to_https(flags: list[str]) -> None:
    role = render(extraArgs=flags)
    assert (role.scheme, role.gated) == ("https", True)
    assert main(role)["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"


@pytest.mark.parametrize(
    "flags",
    [["--ssl-ca-certs", "/ca"], ["--ssl-cert-reqs", "2"], ["--ssl-keyfile-password", "x"], ["--enable-ssl-refresh"]],
)
def test_no_other_tls_flag_turns_an_http_engine_into_https(flags: list[str]) -> None:
    role = render(extraArgs=flags)
    assert (role.scheme, role.gated) == ("http", True)


@pytest.mark.parametrize("engine", ["vLLM", "SGLang"])
@pytest.mark.parametrize(
    ("flags", "gated"),
    [
        (["--ssl-cert-reqs", "0"], True),
        (["--ssl-cert-reqs=1"], True),
        (["--ssl-cert-reqs", " 1 "], True),
        (["--ssl-cert-reqs", "2"], False),
        (["--ssl-cert-reqs", "02"], False),
        (["--ssl-cert-reqs", "-1"], False),
        (["--ssl-cert-reqs", "3"], False),
        (["--ssl-cert-reqs", "1.0"], False),
        (["--ssl-cert-reqs", "none"], False),
        (["--ssl-cert-reqs="], False),
        (["--ssl-cert-reqs"], False),
        (["--ssl-cert-reqs", "2", "--ssl-cert-reqs", "0"], True),
        (["--ssl-cert-reqs", "0", "--ssl-cert-reqs", "2"], False),
    ],
)
def test_an_engine_that_demands_a_client_certificate_is_not_restarted_for_want_of_one(
    engine: str, flags: list[str], gated: bool
) -> None:
    for line in ([*TLS, *flags], [*flags, *TLS]):
        role = render(engine=engine, extraArgs=line)
        assert role.gated is gated
        assert probes(main(role)) == (PROBES if gated else set())


@pytest.mark.parametrize(
    "role",
    [
        {"command": ["vllm", "serve", "x"]},
        {"extraArgs": ["--host", "0.0.0.0"]},
        {"extraArgs": ["--port=8000"]},
        {"ports": [{"port": 8000}], "extraArgs": ["--port=8000"]},
        {"ports": [{"port": 8000, "protocol": "UDP"}]},
        {"ports": [{"port": 8000, "protocol": "SCTP"}, {"port": 8001}]},
    ],
)
def test_the_three_shapes_whose_address_is_not_ours_carry_no_gates(role: JSON) -> None:
    rendered = render(**role)
    assert not rendered.gated
    assert not probes(main(rendered))


def test_a_second_port_that_is_not_tcp_costs_no_gate() -> None:
    assert render(ports=[{"port": 8000}, {"port": 8001, "protocol": "UDP"}]).gated


def test_only_the_leader_of_a_replica_is_asked_because_only_it_serves() -> None:
    role = render(size=2)
    assert probes(main(role, 0)) == PROBES
    assert not probes(main(role, 1))


def test_a_role_that_took_over_says_so_and_says_how_it_is_spoken_to() -> None:
    role = render(command=["vllm", "serve", "x", "--ssl-keyfile=/k"])
    assert (role.unmanaged, role.scheme, role.gated) == (True, "https", False)
    assert not render().unmanaged
