"""The service's own objects: it needs no permission, survives a drained node, and runs under restricted security."""

from typing import Any
from urllib.parse import urlsplit

from app.install.service import BASE_URL, NAMESPACE, TOKEN, service_objects
from app.settings import ServerSettings, known_variables

JSON = dict[str, Any]
OBJECTS: dict[str, JSON] = {document["kind"]: document for document in service_objects()}
POD: JSON = OBJECTS["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
DEFAULTS = ServerSettings()


def test_the_service_has_no_way_into_the_cluster() -> None:
    assert OBJECTS["ServiceAccount"]["automountServiceAccountToken"] is False
    assert POD["automountServiceAccountToken"] is False
    assert not {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} & OBJECTS.keys()


def test_the_pod_passes_restricted_pod_security() -> None:
    labels = OBJECTS["Namespace"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["runAsUser"] > 0
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_service_finds_its_token_where_it_is_mounted() -> None:
    (path,) = (e["value"] for e in CONTAINER["env"] if e["name"] == "HANGAR_TOKEN_FILE")
    (mount,) = (m for m in CONTAINER["volumeMounts"] if m["name"] == "token")
    (volume,) = (v for v in POD["volumes"] if v["name"] == "token")
    assert path == f"{mount['mountPath']}/{TOKEN.key}"
    assert mount["readOnly"] is True
    assert volume["secret"]["secretName"] == TOKEN.name
    assert TOKEN.namespace == NAMESPACE
    assert {e["name"] for e in CONTAINER["env"]} <= known_variables()


def test_metacontroller_reaches_the_port_that_the_service_listens_on() -> None:
    address = urlsplit(BASE_URL)
    service = OBJECTS["Service"]
    (port,) = service["spec"]["ports"]
    ports = {p["name"]: p["containerPort"] for p in CONTAINER["ports"]}
    assert address.hostname == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert address.port == port["port"] == ports[port["targetPort"]] == DEFAULTS.port
    assert (
        service["spec"]["selector"].items() <= OBJECTS["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    )


def test_probes_ask_the_operations_port() -> None:
    ports = {p["name"]: p["containerPort"] for p in CONTAINER["ports"]}
    probes = {CONTAINER[kind]["httpGet"]["path"]: CONTAINER[kind] for kind in ("readinessProbe", "livenessProbe")}
    assert set(probes) == {"/readyz", "/healthz"}
    assert {ports[probe["httpGet"]["port"]] for probe in probes.values()} == {DEFAULTS.operations_port}


def test_a_drained_node_never_takes_the_last_replica() -> None:
    deployment, budget = OBJECTS["Deployment"], OBJECTS["PodDisruptionBudget"]
    assert deployment["spec"]["replicas"] > budget["spec"]["minAvailable"] == 1
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]


def test_calls_in_flight_are_finished_before_the_pod_is_killed() -> None:
    assert POD["terminationGracePeriodSeconds"] > DEFAULTS.drain_seconds + DEFAULTS.shutdown_seconds
