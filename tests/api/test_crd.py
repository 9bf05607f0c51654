"""The generated definitions: what the API server demands of them, and what `kubectl` users see."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from app.api.base import KubeModel
from app.api.crd import crd, object_schema
from app.api.kinds import INSTANCE_TYPE, KINDS, MODEL_DEPLOYMENT, Kind
from app.api.schema import structural
from app.api.status import ModelDeploymentStatus
from app.kube import names
from tests.support.apiserver import defaulted, refusals

JSON = dict[str, Any]
MAX_BYTES = 200 * 1024

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)


def _nodes(schema: JSON, path: str = "") -> Iterator[tuple[str, JSON]]:
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from _nodes(part, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from _nodes(schema[name], f"{path}[]")


def _at(schema: JSON, path: str) -> JSON:
    for name in path.strip(".").split("."):
        schema = schema["properties"][name]
    return schema


@every_kind
def test_every_field_says_what_it_is(kind: Kind) -> None:
    silent = [
        path
        for path, node in _nodes(object_schema(kind))
        if path and not path.endswith("[]") and not path.startswith(".metadata") and not node.get("description")
    ]
    assert silent == []


@every_kind
def test_the_schema_is_structural(kind: Kind) -> None:
    for path, node in _nodes(object_schema(kind)):
        assert not {"$ref", "$defs", "title", "oneOf", "allOf", "nullable", "const"} & node.keys(), path
        assert node.get("additionalProperties") not in (True, False), path
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert node.get("default", "") is not None, path
        if node.get("type") == "array":
            assert node["x-kubernetes-list-type"] in ("map", "atomic"), path


@every_kind
def test_keys_of_list_maps_are_always_there(kind: Kind) -> None:
    for path, node in _nodes(object_schema(kind)):
        for key in node.get("x-kubernetes-list-map-keys", ()):
            items = node["items"]
            assert key in items["required"] or "default" in items["properties"][key], f"{path}: {key}"


@every_kind
def test_a_definition_stays_small_enough_to_be_applied(kind: Kind) -> None:
    assert len(yaml.safe_dump(crd(kind))) < MAX_BYTES


@every_kind
def test_columns_show_fields_that_exist(kind: Kind) -> None:
    schema = object_schema(kind)
    for column in kind.columns:
        if not column.path.startswith(".metadata."):
            assert _at(schema, column.path)["type"] == column.type


def test_kubectl_get_tells_a_deployment_in_one_line() -> None:
    (version,) = crd(MODEL_DEPLOYMENT)["spec"]["versions"]
    columns = version["additionalPrinterColumns"]
    assert [c["name"].upper() for c in columns if "priority" not in c] == ["ENGINE", "ROLES", "PHASE", "READY", "AGE"]
    assert [c["name"].upper() for c in columns if c.get("priority") == 1] == ["ENDPOINT", "ADMISSION", "MODEL"]
    (version,) = crd(INSTANCE_TYPE)["spec"]["versions"]
    assert [c["name"].upper() for c in version["additionalPrinterColumns"]] == ["ACCELERATOR", "AGE"]


def test_names_never_collide_with_other_kinds_short_names() -> None:
    definitions = [crd(kind)["spec"] for kind in KINDS]
    assert [d["names"]["shortNames"] for d in definitions] == [["mdep"], ["itype"]]
    assert {d["group"] for d in definitions} == {names.GROUP} == {"hangar.dev"}
    assert {c for d in definitions for c in d["names"]["categories"]} == {"serving"}
    assert [d["scope"] for d in definitions] == ["Namespaced", "Cluster"]


def test_metacontroller_gets_the_status_subresource_and_its_observed_generation() -> None:
    (version,) = crd(MODEL_DEPLOYMENT)["spec"]["versions"]
    assert version["subresources"] == {"status": {}}
    assert _at(object_schema(MODEL_DEPLOYMENT), "status.observedGeneration")["type"] == "integer"


def test_kubectl_wait_has_a_condition_before_the_first_sync() -> None:
    status = defaulted(object_schema(MODEL_DEPLOYMENT), {"spec": {}})["status"]
    ModelDeploymentStatus.model_validate(status)
    assert {(c["status"], c["reason"]) for c in status["conditions"]} == {("Unknown", "Pending")}
    assert [c["type"] for c in status["conditions"]] == [
        "Ready",
        "QuotaReserved",
        "ReplicasUpToDate",
        "RoleKindsReady",
        "DomainRegistered",
        "CacheAttached",
        "WeightsReady",
        "KVEventsPublishing",
        "RouterReady",
    ]


def test_a_union_that_kubernetes_cannot_state_is_an_error_of_ours() -> None:
    class Impossible(KubeModel):
        either: int | str

    with pytest.raises(ValueError, match="structural schema"):
        structural(Impossible)


def _edited(document: JSON, **role: Any) -> JSON:
    spec = document["spec"]
    return document | {"spec": spec | {"roles": [spec["roles"][0] | role, *spec["roles"][1:]]}}


@pytest.mark.parametrize(
    "edit",
    [
        {"replicas": 0},
        {"image": "example.com/vllm:2"},
        {"extraArgs": ["--max-num-seqs", "64", "--nnodes-of-mine"]},
        {"env": [{"name": "HF_TOKEN", "value": "x"}]},
        {"parallelism": {"tensor": 2}},
        {"ports": [{"port": 9000}, {"port": 9001, "protocol": "UDP"}]},
        {"shmSize": "500m"},
        {"additionalVolumes": [{"mountPath": "/a..b", "subPath": "..c", "hostPath": {"path": "/"}}]},
        {"terminationGracePeriodSeconds": 3600},
        {"nodeSelector": {"zone": "a"}, "affinity": {"podAffinity": {}}},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_an_editable_field_can_be_edited(edit: JSON) -> None:
    roles = [{"name": "prefill", "kind": "Prefill"}, {"name": "decode", "kind": "Decode", "size": 2}]
    spec = {"model": {"name": "m"}, "engine": {"name": "vLLM", "version": "0.11.0"}, "roles": roles}
    old = {"apiVersion": names.API_VERSION, "kind": "ModelDeployment", "metadata": {"name": "chat"}, "spec": spec}
    assert refusals(_edited(old, **edit), old) == []
    assert refusals(old, _edited(old, **edit)) == []


def test_the_order_of_roles_is_free() -> None:
    roles = [{"name": "a", "accelerator": 1}, {"name": "b", "accelerator": 2}]
    spec = {"model": {"name": "m"}, "engine": {"name": "SGLang", "version": "0.5.4"}, "roles": roles}
    old = {"apiVersion": names.API_VERSION, "kind": "ModelDeployment", "metadata": {"name": "chat"}, "spec": spec}
    assert refusals(old | {"spec": spec | {"roles": roles[::-1]}}, old) == []
