"""What every object's metadata is refused for, in the words of kube-apiserver 1.35."""

import pytest

from app.kube.hook import JSON
from app.local.builtin import BUILTIN
from app.local.clock import Clock
from app.local.errors import BadRequest, Invalid
from app.local.resources import Discovery
from app.local.store import Store
from tests.local.scripted import config, pod, service


@pytest.fixture
def store() -> Store:
    store = Store(Clock(), Discovery(BUILTIN))
    store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}})
    return store


def _with(obj: JSON, **metadata: object) -> JSON:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1", "controller": True}


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (config("A_b"), 'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of'),
        (config("a" * 254), "must be no more than 253 characters"),
        ({**config("c"), "data": {"x y": "1"}}, 'data[x y]: Invalid value: "x y": a valid config key must consist of'),
        (
            _with(config("c"), finalizers=["x"]),
            'metadata.finalizers[0]: Invalid value: "x": name is neither',
        ),
        (service("1s"), 'metadata.name: Invalid value: "1s": a DNS-1035 label must consist of'),
        (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}},
            'metadata.name: Invalid value: "a.b": must not contain dots',
        ),
        (_with(pod("p"), labels={"a": "b c"}), 'metadata.labels: Invalid value: "b c": a valid label must be'),
        (_with(pod("p"), labels={"a": "b" * 64}), "must be no more than 63 bytes"),
        (_with(pod("p"), labels={"a b": "c"}), 'metadata.labels: Invalid value: "a b": name part must consist of'),
        (_with(pod("p"), labels={"A_/b": "c"}), "prefix part a lowercase RFC 1123 subdomain must consist of"),
        (_with(pod("p"), annotations={"a b": "c"}), 'metadata.annotations: Invalid value: "a b": name part must'),
        (
            _with(config("c"), annotations={"a": "x" * 262_144}),
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        (
            _with(config("c"), ownerReferences=[{**OWNER, "uid": ""}]),
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        ),
        (
            _with(config("c"), ownerReferences=[OWNER, {**OWNER, "name": "y", "uid": "2"}]),
            'Found "true" in references for Pod/x and Pod/y',
        ),
    ],
)
def test_metadata_that_breaks_a_rule_is_named(store: Store, obj: JSON, words: str) -> None:
    with pytest.raises(Invalid) as refusal:
        store.create(obj)
    assert words in str(refusal.value)
    assert refusal.value.code == 422


@pytest.mark.parametrize(
    "obj",
    [
        config("a.b-c.1"),
        _with(config("c"), labels={"example.com/a-b": "", "x": "A.b_c-1"}),
        _with(config("c"), annotations={"a": "x" * 262_130, "Example.COM/A": ""}),
        _with(config("c"), ownerReferences=[OWNER, {**OWNER, "controller": False, "uid": "2"}]),
    ],
    ids=["name", "labels", "annotations", "owners"],
)
def test_metadata_within_the_rules_is_taken(store: Store, obj: JSON) -> None:
    assert store.create(obj)["metadata"]["uid"]


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            _with(pod("p"), labels={"a": 1}),
            'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field '
            "ObjectMeta.metadata.labels of type string",
        ),
        (
            _with(pod("p"), annotations=["a"]),
            "cannot unmarshal array into Go struct field ObjectMeta.metadata.ann",
        ),
        (
            {**config("c"), "data": {"a": True}},
            "unmarshal bool into Go struct field ConfigMap.data of type string",
        ),
        ({**config("c"), "kind": "Secret", "data": {"a": "?"}}, "cannot be handled as a Secret: illegal base64 data"),
        (
            pod("p", args="x"),
            "string into Go struct field Container.spec.containers.args of type []string",
        ),
        (
            pod("p", args=[1]),
            "number into Go struct field Container.spec.containers.args of type string",
        ),
        (pod("p", env=[{"name": "A", "value": 1}]), "Go struct field EnvVar.spec.containers.env.value of type string"),
        (pod("p", resources={"limits": {"cpu": "lots"}}), "quantities must match the regular expression"),
    ],
)
def test_a_value_of_a_wrong_type_is_a_bad_request(store: Store, obj: JSON, words: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        store.create(obj)
    assert words in str(refusal.value)
    assert refusal.value.code == 400


def test_a_generated_name_is_legal_and_another_one_each_time(store: Store) -> None:
    names = {
        store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "t", "generateName": "x-"}})[
            "metadata"
        ]["name"]
        for _ in range(3)
    }
    assert len(names) == 3
    assert all(name.startswith("x-") and len(name) == 7 for name in names)
