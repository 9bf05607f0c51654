"""Pods, Services, Deployments and StatefulSets: what the API server refuses and fills, as kube-apiserver 1.35 does."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.builtin import BUILTIN
from app.local.clock import Clock
from app.local.errors import Invalid
from app.local.resources import Discovery
from app.local.store import Store
from tests.local.scripted import an_object, deployment, pod, service


@pytest.fixture
def store() -> Store:
    store = Store(Clock(), Discovery(BUILTIN))
    store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    return store


def _refusal(store: Store, obj: JSON) -> str:
    with pytest.raises(Invalid) as refusal:
        store.create(obj)
    return str(refusal.value)


def _pod(**spec: Any) -> JSON:
    found = pod("p")
    found["spec"] |= spec
    return found


def _two(**more: Any) -> JSON:
    return _pod(containers=[{"name": "m", "image": "x:1"}, {"name": "m", "image": "x:1", **more}])


VOLUME = {"name": "v", "emptyDir": {}}
CARDS = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ({**pod("p"), "spec": {}}, "spec.containers: Required value"),
        (_pod(containers=[{"name": "m"}]), "spec.containers[0].image: Required value"),
        (_pod(containers=[{"image": "x"}]), "spec.containers[0].name: Required value"),
        (_pod(containers=[{"name": "M_", "image": "x"}]), 'spec.containers[0].name: Invalid value: "M_": a lowercase'),
        (_two(), 'spec.containers[1].name: Duplicate value: "m"'),
        (pod("p", ports=[{"name": "x"}]), "spec.containers[0].ports[0].containerPort: Required value"),
        (pod("p", ports=[{"containerPort": 70000}]), "Invalid value: 70000: must be between 1 and 65535, inclusive"),
        (
            pod("p", ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
            'spec.containers[0].ports[1].name: Duplicate value: "a"',
        ),
        (pod("p", ports=[{"containerPort": 1, "name": "a" * 16}]), "must be no more than 15 characters"),
        (pod("p", ports=[{"containerPort": 1, "name": "1"}]), "must contain at least one letter (a-z)"),
        (pod("p", ports=[{"containerPort": 1, "name": "a--b"}]), "must not contain consecutive hyphens"),
        (pod("p", ports=[{"containerPort": 1, "name": "a-"}]), "must not begin or end with a hyphen"),
        (pod("p", ports=[{"containerPort": 1, "name": "A"}]), "must contain only alpha-numeric characters (a-z, 0-9)"),
        (_pod(subdomain="A."), 'spec.subdomain: Invalid value: "A.": a lowercase RFC 1123 label must consist of'),
        (_pod(nodeSelector={"a b": "c"}), 'spec.nodeSelector: Invalid value: "a b": name part must consist of'),
        (
            _pod(tolerations=[{"key": "a", "operator": "Near"}]),
            'spec.tolerations[0].operator: Unsupported value: "Near": supported values: "Equal", "Exists"',
        ),
        (_pod(schedulingGates=[{"name": "a b"}]), 'spec.schedulingGates[0]: Invalid value: "a b": name part must'),
        (
            pod("p", livenessProbe={"tcpSocket": {"port": 0}}),
            "livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            pod("p", livenessProbe={"tcpSocket": {"port": 1}, "successThreshold": 2}),
            "livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (pod("p", lifecycle={"preStop": {}}), "lifecycle.preStop: Required value: must specify a handler type"),
        (
            _pod(restartPolicy="Sometimes"),
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            pod("p", imagePullPolicy="x"),
            'spec.containers[0].imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent"',
        ),
        (
            pod("p", volumeMounts=[{"name": "v", "mountPath": "/x"}]),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (_pod(volumes=[VOLUME, VOLUME]), 'spec.volumes[1].name: Duplicate value: "v"'),
        (
            _pod(volumes=[{**VOLUME, "secret": {"secretName": "x"}}]),
            "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
        ),
        (pod("p", env=[{"value": "a"}]), "spec.containers[0].env[0].name: Required value"),
        (pod("p", env=[{"name": "a=b"}]), 'spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment'),
        (
            pod("p", resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            pod("p", resources={"limits": {CARDS: 2}, "requests": {CARDS: 1}}),
            f'resources.requests: Invalid value: "1": must be equal to {CARDS} limit of 2',
        ),
        (
            pod("p", resources={"requests": {CARDS: 1}}),
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            pod("p", resources={"limits": {CARDS: "500m"}}),
            f'limits[{CARDS}]: Invalid value: "500m": must be an integer',
        ),
        (
            pod("p", resources={"limits": {"cpu": -1}}),
            'limits[cpu]: Invalid value: "-1": must be greater than or equal',
        ),
        (pod("p", startupProbe={"periodSeconds": 1}), "startupProbe: Required value: must specify a handler type"),
        (
            pod("p", startupProbe={"httpGet": {"port": 1}, "exec": {"command": ["a"]}}),
            "spec.containers[0].startupProbe.httpGet: Forbidden: may not specify more than 1 handler type",
        ),
        (
            pod("p", readinessProbe={"httpGet": {"port": 1}, "periodSeconds": -1}),
            "readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (_pod(schedulingGates=[{"name": "a"}, {"name": "a"}]), 'spec.schedulingGates[1]: Duplicate value: "a"'),
    ],
)
def test_a_pod_that_breaks_a_rule_is_refused(store: Store, obj: JSON, words: str) -> None:
    assert words in _refusal(store, obj)


def test_mounts_of_one_container_have_paths_of_their_own(store: Store) -> None:
    mounts = [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}, {"name": "v"}]
    found = _refusal(store, _pod(volumes=[VOLUME], containers=[{"name": "m", "image": "x:1", "volumeMounts": mounts}]))
    assert 'volumeMounts[1].mountPath: Invalid value: "/x": must be unique' in found
    assert "volumeMounts[2].mountPath: Required value" in found


def test_a_pod_keeps_what_kubernetes_adds_to_volumes_and_spells_quantities_its_way(store: Store) -> None:
    container = {"name": "m", "image": "x:1", "resources": {"limits": {"cpu": "0.5", "memory": "2048Mi"}}}
    volumes = [{"name": "v"}, {"name": "s", "secret": {"secretName": "x"}}]
    spec = store.create(_pod(containers=[container], volumes=volumes))["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "2Gi"}
    assert spec["volumes"][0] == {"name": "v", "emptyDir": {}}
    assert spec["volumes"][1] == {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}}


def test_of_a_pods_gates_and_tolerations_none_may_be_added_and_none_taken_away(store: Store) -> None:
    obj = store.create(_pod(tolerations=[{"key": "a", "operator": "Exists"}]))
    with pytest.raises(Invalid, match="only deletion is allowed, but found new scheduling gate 'x/new'"):
        store.update({**obj, "spec": {**obj["spec"], "schedulingGates": [{"name": "x/new"}]}})
    with pytest.raises(Invalid, match="existing toleration can not be modified"):
        store.update({**obj, "spec": {**obj["spec"], "tolerations": obj["spec"]["tolerations"][1:]}})


def test_a_written_status_keeps_its_nulls_when_the_rest_is_edited(store: Store) -> None:
    obj = store.create(pod("p"))
    conditions = [{"type": "Ready", "status": "True", "lastProbeTime": None}]
    obj = store.update_status({**obj, "status": {**obj["status"], "conditions": conditions}})
    obj["metadata"]["labels"] = {"a": "b"}
    assert store.update(obj)["status"]["conditions"] == conditions


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"ports": []}, "spec.ports: Required value"),
        ({"ports": [{"name": "x"}]}, "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        (
            {"ports": [{"port": 1}, {"port": 2}]},
            "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]",
        ),
        ({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]}, 'spec.ports[1].name: Duplicate value: "a"'),
        ({"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}, "spec.ports[1]: Duplicate value: "),
        (
            {"ports": [{"port": 1, "protocol": "HTTP"}]},
            'spec.ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
        ),
        ({"type": "Foo"}, 'spec.type: Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName"'),
        ({"selector": {"a": "b c"}}, 'spec.selector: Invalid value: "b c": a valid label must be'),
    ],
)
def test_a_service_that_breaks_a_rule_is_refused(store: Store, spec: JSON, words: str) -> None:
    assert words in _refusal(store, service("s", **spec))


# Deployments and StatefulSets


def test_a_deployment_gets_the_api_servers_defaults(store: Store) -> None:
    found = store.create(deployment())
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {
            "containers": [
                {
                    "name": "m",
                    "image": "engine:1",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        },
    }
    assert found["spec"] == {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "d"}},
        "template": template,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    assert (found["status"], found["metadata"]["generation"]) == ({}, 1)


def test_a_stateful_set_gets_the_api_servers_defaults(store: Store) -> None:
    found = store.create(deployment() | {"kind": "StatefulSet"})
    assert {key: value for key, value in found["spec"].items() if key not in {"template", "selector"}} == {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_partial_workload_is_refused_with_everything_that_it_lacks(store: Store, kind: str) -> None:
    partial = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "orph", "namespace": "t"}}
    assert _refusal(store, partial) == (
        f'{kind}.apps "orph" is invalid: [spec.selector: Required value, spec.template.metadata.labels: '
        "Invalid value: null: `selector` does not match template `labels`, "
        "spec.template.spec.containers: Required value]"
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"selector": {"matchLabels": {"app": "y"}}},
            'spec.template.metadata.labels: Invalid value: {"app":"d"}: `selector` does not match template `labels`',
        ),
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"strategy": {"type": "x"}},
            'spec.strategy: Unsupported value: "x": supported values: "Recreate", "RollingUpd',
        ),
    ],
)
def test_a_deployment_that_breaks_a_rule_is_refused(store: Store, spec: JSON, words: str) -> None:
    assert words in _refusal(store, deployment(**spec))


def test_a_deployments_pods_always_restart(store: Store) -> None:
    once = deployment()
    once["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    words = 'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    assert words in _refusal(store, once)


def test_a_selector_is_never_changed(store: Store) -> None:
    obj = store.create(deployment())
    obj["spec"]["selector"]["matchLabels"] = {"other": "x"}
    obj["spec"]["template"]["metadata"]["labels"] = {"other": "x"}
    with pytest.raises(Invalid, match=r'spec\.selector: Invalid value: .*"other":"x".*: field is immutable'):
        store.update(obj)


def test_of_a_stateful_set_only_some_fields_change(store: Store) -> None:
    obj = store.create(deployment() | {"kind": "StatefulSet"})
    obj["spec"]["replicas"] = 3
    obj = store.update(obj)
    obj["spec"]["serviceName"] = "other"
    with pytest.raises(Invalid, match="updates to statefulset spec for fields other than 'replicas', 'ordinals'"):
        store.update(obj)


def test_a_deployments_generation_counts_its_annotations_and_not_its_labels(store: Store) -> None:
    obj = store.create(deployment())
    obj["metadata"]["labels"] = {"a": "b"}
    obj = store.update(obj)
    assert obj["metadata"]["generation"] == 1
    obj["metadata"]["annotations"] = {"a": "b"}
    obj = store.update(obj)
    assert obj["metadata"]["generation"] == 2
    obj["spec"]["replicas"] = 2
    assert store.update(obj)["metadata"]["generation"] == 3


def test_an_immutable_config_map_stays_what_it_is(store: Store) -> None:
    obj = store.create(an_object("v1", "ConfigMap", "c", data={"a": "1"}, immutable=True))
    with pytest.raises(Invalid, match="field is immutable when `immutable` is set"):
        store.update({**obj, "data": {"a": "2"}})
