"""Services: an address leads to engines that answer, and members find each other before they do."""

import pytest

from app.kube import names
from app.kube.hook import JSON
from app.modeldeployment.render import render_services
from tests.modeldeployment.rendering import IDENTITY, render


def ports(service: JSON) -> list[JSON]:
    found: list[JSON] = service["spec"]["ports"]
    return found


def test_the_deployments_address_leads_to_the_leaders_of_its_first_role() -> None:
    services = render_services(IDENTITY, [render(name="prefill"), render(name="decode", ports=[{"port": 9000}])])
    assert set(services) == {"qwen", "qwen-prefill", "qwen-decode"}
    for name, role in (("qwen", "prefill"), ("qwen-prefill", "prefill"), ("qwen-decode", "decode")):
        assert services[name]["metadata"]["name"] == name
        assert services[name]["metadata"]["namespace"] == "team-a"
        selector = {names.DEPLOYMENT: "qwen", names.ROLE: role, names.MEMBER: "0"}
        assert services[name]["spec"]["selector"] == selector
    assert ports(services["qwen"]) == [{"name": "http", "port": 8000, "protocol": "TCP", "targetPort": 8000}]
    assert ports(services["qwen-decode"])[0]["name"] == "tcp-9000"


def test_a_selector_finds_exactly_the_pods_that_it_means() -> None:
    role = render(size=2)
    services = render_services(IDENTITY, [role])
    labels = [role.pod(ordinal, member)["metadata"]["labels"] for ordinal in (0, 1) for member in (0, 1)]

    def selected(name: str) -> list[bool]:
        selector = services[name]["spec"]["selector"]
        return [selector.items() <= found.items() for found in labels]

    assert selected("qwen") == selected("qwen-main") == [True, False, True, False]
    assert selected(names.headless_service("qwen", "main")) == [True] * 4


def test_members_of_a_replica_have_names_in_dns_before_they_are_ready() -> None:
    role = render(size=2)
    headless = names.headless_service("qwen", "main")
    service = render_services(IDENTITY, [role])[headless]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    spec = role.pod(3, 1)["spec"]
    assert spec["subdomain"] == headless
    assert spec["hostname"] == role.pod(3, 1)["metadata"]["name"]


def test_a_role_of_single_pods_has_no_headless_service() -> None:
    assert set(render_services(IDENTITY, [render()])) == {"qwen", "qwen-main"}


@pytest.mark.parametrize(
    ("role", "published", "target"),
    [
        ({"extraArgs": ["--port", "9000"]}, 8000, 9000),
        ({"command": ["serve", "--port=9000"]}, 8000, 9000),
        ({"extraArgs": ["--port", "$(PORT)"]}, 8000, 8000),
        ({"extraArgs": ["--port", "70000"]}, 8000, 8000),
        ({"ports": [{"port": 9000}], "extraArgs": ["--port", "9000"]}, 9000, 9000),
    ],
)
def test_an_engine_that_moved_its_port_is_still_behind_its_service(role: JSON, published: int, target: int) -> None:
    rendered = render(**role)
    service = render_services(IDENTITY, [rendered])["qwen"]
    assert rendered.port == published
    assert (ports(service)[0]["port"], ports(service)[0]["targetPort"]) == (published, target)
    assert rendered.pod(0, 0)["spec"]["containers"][0]["ports"][0]["containerPort"] == target


def test_a_port_that_is_not_tcp_is_forwarded_as_what_it_is() -> None:
    service = render_services(IDENTITY, [render(ports=[{"port": 5000, "protocol": "UDP"}])])["qwen"]
    assert ports(service) == [{"name": "udp-5000", "port": 5000, "protocol": "UDP", "targetPort": 5000}]


def test_no_roles_means_no_services() -> None:
    assert render_services(IDENTITY, []) == {}
