"""Defaults and refusals: structural schemas, Pods, Services, Secrets."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.builtin import BUILTIN, admit_service
from app.local.clock import Clock
from app.local.errors import Invalid
from app.local.pods import admit_pod, qos_class
from app.local.resources import Discovery
from app.local.schema import apply_defaults, problems, prune
from app.local.store import Store
from tests.local.scripted import an_object, pod

SCHEMA: JSON = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "default": 1, "minimum": 0, "maximum": 9},
        "roles": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "object", "properties": {"size": {"type": "integer", "default": 2}}},
        },
        "nested": {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}},
        "filled": {"type": "object", "default": {}, "properties": {"deep": {"type": "string", "default": "x"}}},
        "name": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$"},
        "kind": {"type": "string", "enum": ["A", "B"]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
        "amount": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"type": "string", "nullable": True, "default": "d"},
        "ratio": {"type": "number"},
    },
}


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ({}, {"count": 1, "filled": {"deep": "x"}, "maybe": "d"}),
        ({"count": 0}, {"count": 0, "filled": {"deep": "x"}, "maybe": "d"}),
        ({"count": None, "maybe": None}, {"count": 1, "maybe": None, "filled": {"deep": "x"}}),
        ({"roles": [{}, {"size": 5}]}, {"roles": [{"size": 2}, {"size": 5}]}),
        ({"nested": {}}, {"nested": {"on": True}}),
        ({"filled": {}}, {"filled": {"deep": "x"}}),
    ],
)
def test_defaults_are_filled_at_every_depth_that_is_present(value: JSON, filled: JSON) -> None:
    assert filled.items() <= apply_defaults(SCHEMA, value).items()


def test_a_default_is_not_shared_between_objects() -> None:
    first = apply_defaults(SCHEMA, {})
    first["filled"]["deep"] = "changed"
    assert apply_defaults(SCHEMA, {})["filled"] == {"deep": "x"}


def test_a_level_that_is_absent_stays_absent() -> None:
    assert "nested" not in apply_defaults(SCHEMA, {})


def test_unknown_fields_are_pruned_except_where_the_schema_keeps_them() -> None:
    value = {"typo": 1, "free": {"any": 1}, "map": {"a": "b"}, "roles": [{"typo": 1, "size": 1}]}
    assert prune(SCHEMA, value) == {"free": {"any": 1}, "map": {"a": "b"}, "roles": [{"size": 1}]}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"count": -1}, ("count", "Invalid value: -1 should be at least 0")),
        ({"count": 10}, ("count", "Invalid value: 10 should be at most 9")),
        ({"count": True}, ("count", "Invalid value: must be of type integer, not boolean")),
        ({"count": None}, ("count", "Invalid value: must be of type integer, not null")),
        ({"ratio": "1"}, ("ratio", "Invalid value: must be of type number, not string")),
        ({"name": "a"}, ("name", "Invalid value: has 1 characters, at least 2 are needed")),
        ({"name": "abcd"}, ("name", "Too long: has 4 characters, at most 3 are allowed")),
        ({"name": "A1"}, ("name", "Invalid value: \"A1\" should match '^[a-z]+$'")),
        ({"kind": "C"}, ("kind", 'Unsupported value: "C": supported values: "A", "B"')),
        ({"roles": []}, ("roles", "Invalid value: has 0 items, at least 1 are needed")),
        ({"roles": [{}, {}, {}]}, ("roles", "Too long: has 3 items, at most 2 are allowed")),
        ({"roles": [{"size": "x"}]}, ("roles[0].size", "Invalid value: must be of type integer, not string")),
        ({"map": {"a": "1", "b": "2"}}, ("map", "Too long: has 2 entries, at most 1 are allowed")),
        ({"map": {"a": 1}}, ("map.a", "Invalid value: must be of type string, not integer")),
        ({"amount": 1.5}, ("amount", "Invalid value: must be an integer or a string, not number")),
    ],
)
def test_what_breaks_the_schema_is_named_with_its_path(value: JSON, found: tuple[str, str]) -> None:
    assert list(problems(SCHEMA, value)) == [found]


@pytest.mark.parametrize("value", [{}, {"maybe": None}, {"amount": 4}, {"amount": "4Gi"}, {"ratio": 1}, {"ratio": 0.5}])
def test_what_fits_the_schema_is_accepted(value: JSON) -> None:
    assert list(problems(SCHEMA, value)) == []


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
    with pytest.raises(Invalid, match="field is immutable"):
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
