"""Kubernetes' own kinds: the defaults that admission fills, as on Kubernetes 1.35."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.builtin import BUILTIN
from app.local.clock import Clock
from app.local.errors import Invalid
from app.local.pods import admit_pod, qos_class
from app.local.resources import Discovery
from app.local.services import admit_service
from app.local.store import Store
from tests.local.scripted import an_object, pod


def _admitted(obj: JSON) -> JSON:
    found, wrong = admit_pod(obj, None)
    assert wrong == []
    return found


def test_a_pod_gets_the_api_servers_defaults() -> None:
    probe = {"httpGet": {"port": 8000}}
    found = _admitted(pod("p", "x:1", ports=[{"containerPort": 1}], startupProbe=probe, env=[]))
    container = found["spec"]["containers"][0]
    assert container == {
        "name": "main",
        "image": "x:1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        "ports": [{"containerPort": 1, "protocol": "TCP"}],
        "startupProbe": {
            "httpGet": {"port": 8000, "path": "/", "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
    }
    assert found["spec"]["dnsPolicy"] == "ClusterFirst"
    assert found["spec"]["terminationGracePeriodSeconds"] == 30
    assert {one["key"] for one in found["spec"]["tolerations"]} == {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    }
    assert found["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_second_admission_changes_nothing() -> None:
    once = _admitted(pod("p", resources={"limits": {"nvidia.com/gpu": 1}}, env=[{"name": "A", "value": ""}]))
    assert _admitted(once) == once


def test_what_a_pod_states_itself_stays() -> None:
    stated = pod("p", imagePullPolicy="Never")
    stated["spec"] |= {
        "dnsPolicy": "None",
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
    }
    spec = _admitted(stated)["spec"]
    assert (spec["dnsPolicy"], spec["containers"][0]["imagePullPolicy"]) == ("None", "Never")
    assert [one.get("tolerationSeconds") for one in spec["tolerations"]] == [None, 300]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("x", "Always"),
        ("x:latest", "Always"),
        ("host:5000/x", "Always"),
        ("host:5000/x:1", "IfNotPresent"),
        ("x@sha256:0", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert _admitted(pod("p", image))["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_quantities_are_strings_and_limits_are_requests_too() -> None:
    found = _admitted(pod("p", resources={"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": 4}}))
    assert found["spec"]["containers"][0]["resources"] == {
        "limits": {"nvidia.com/gpu": "8"},
        "requests": {"cpu": "4", "nvidia.com/gpu": "8"},
    }


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_class(resources: JSON, expected: str) -> None:
    assert qos_class({"containers": [{"resources": resources}]}) == expected


def _service(**spec: Any) -> JSON:
    return an_object("v1", "Service", "s", spec=spec)


def test_a_service_gets_an_address_that_later_updates_keep() -> None:
    store = Store(Clock(), Discovery(BUILTIN))
    store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    found = store.create(_service(ports=[{"port": 80}]))
    address = found["spec"]["clusterIP"]
    assert address.startswith("10.96.")
    assert found["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    updated = store.update(_service(ports=[{"port": 81}]))
    assert updated["spec"]["clusterIP"] == address
    with pytest.raises(Invalid, match="may not change once set"):
        store.update(_service(ports=[{"port": 81}], clusterIP="10.96.9.9"))


def test_a_headless_service_has_no_address() -> None:
    found, wrong = admit_service(_service(clusterIP="None", ports=[{"port": 80}]), None)
    assert wrong == []
    assert (found["spec"]["clusterIP"], found["spec"]["clusterIPs"]) == ("None", ["None"])


def test_a_service_without_ports_is_refused() -> None:
    assert admit_service(_service(), None)[1] == [("spec.ports", "Required value")]


def test_a_secret_never_keeps_its_plain_text() -> None:
    store = Store(Clock(), Discovery(BUILTIN))
    store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    found = store.create(an_object("v1", "Secret", "s", stringData={"token": "abc"}))
    assert "stringData" not in found
    assert (found["type"], found["data"]) == ("Opaque", {"token": "YWJj"})
