"""What is taken out of a recorded call, and what must stay for the call to mean the same."""

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.credentials import key_field, key_like
from app.cli.redaction import Redactor
from app.kube.hook import JSON
from app.kube.shape import LAST_APPLIED, kept
from tests.support.recorded import FINALIZES, SYNCS, recorded

KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"


def redacted(*documents: Any) -> Any:
    """The documents without their secrets; the first alone where there is one."""
    redactor = Redactor()
    redactor.read(documents)
    found = [redactor.redacted(document) for document in documents]
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"env": [{"name": "A", "value": "x"}]}, {"env": [{"name": "A", "value": "redacted-1"}]}),
        ({"env": {"A": "x", "B": "y", "C": "x"}}, {"env": {"A": "redacted-1", "B": "redacted-2", "C": "redacted-1"}}),
        ({"annotations": {"example.com/note": "x"}}, {"annotations": {"example.com/note": "redacted-1"}}),
        ({"annotations": {"note": "x"}}, {"annotations": {"note": "redacted-1"}}),
        (
            {"args": ["--api-key", "a", "b", "--port", "1"]},
            {"args": ["--api-key", "redacted-1", "redacted-2", "--port", "1"]},
        ),
        ({"args": ["--hf-token=hf_1", "x"]}, {"args": ["--hf-token=redacted-1", "x"]}),
        ({"args": ["--api-key", "--port", "1"]}, {"args": ["--api-key", "--port", "1"]}),
        (
            {"args": ["HF_TOKEN=a serve --admin-api-key 'b' -p 1"]},
            {"args": ["HF_TOKEN=redacted-1 serve --admin-api-key 'redacted-2' -p 1"]},
        ),
        ({"url": "https://u:pass@host/x?token=abc&y=1"}, {"url": "https://u:redacted-1@host/x?token=redacted-2&y=1"}),
        ({"url": "https://token@host/"}, {"url": "https://redacted-1@host/"}),
        (
            {"httpHeaders": [{"name": "X-Api-Key", "value": "k"}]},
            {"httpHeaders": [{"name": "X-Api-Key", "value": "redacted-1"}]},
        ),
        ({"text": "Authorization: Bearer abcdefgh.ijk"}, {"text": "Authorization: Bearer redacted-1"}),
        ({"spec": {"apiKey": "k", "password": "p"}}, {"spec": {"apiKey": "redacted-1", "password": "redacted-2"}}),
        (
            {"tls.key": "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"},
            {"tls.key": "-----BEGIN PRIVATE KEY-----redacted-1-----END PRIVATE KEY-----\n"},
        ),
    ],
)
def test_a_secret_is_replaced(before: JSON, after: JSON) -> None:
    assert redacted(before) == after


@pytest.mark.parametrize(
    "kept_as_it_is",
    [
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}}, {"name": "B"}]},
        {"env": [{"name": "A", "value": "$(POD_IP)"}, {"name": "HANGAR_REPLICA_SIZE", "value": "2"}]},
        {"annotations": {"hangar.dev/pod-hash": "abc", "batch.kubernetes.io/x": "1", "prometheus.io/port": "80"}},
        {"args": ["--max-num-batched-tokens", "8192", "--tokenizer", "x", "--api-key", "$KEY", "--ssl-keyfile=/k"]},
        {"image": "registry.test/engine@sha256:0123", "topologyKey": "zone", "tolerations": [{"key": "gpu"}]},
        {"imagePullSecrets": [{"name": "regcred"}], "secretName": "s", "labels": {"example.com/token": "t"}},
        {"managedFields": [{"fieldsV1": {"f:env": {'k:{"name":"HF_TOKEN"}': {"f:value": {}}}}, "manager": "kubectl"}]},
        {"message": "3 Insufficient nvidia.com/gpu. See https://host/x@y", "n": [1, 2.5, None]},
    ],
)
def test_what_is_no_secret_stays(kept_as_it_is: JSON) -> None:
    assert redacted(kept_as_it_is) == kept_as_it_is


@pytest.mark.parametrize(
    "name", ["--api-key", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "apiKey", "DB_PASSWORD", "X-Api-Key"]
)
def test_names_of_credentials_are_known(name: str) -> None:
    assert key_like(name)


@pytest.mark.parametrize("name", ["--max-tokens", "TOKENIZERS_PARALLELISM", "key", "--keyfile", "", "--", "MONKEY"])
def test_names_that_only_look_like_credentials_are_not(name: str) -> None:
    assert not key_like(name)
    assert not key_field(name)


def test_a_credential_is_replaced_wherever_else_it_occurs() -> None:
    request = {"env": [{"name": "HF_TOKEN", "value": "hf_abcdefgh"}], "data": {"x": "login hf_abcdefgh now"}}
    response = {"status": {"message": "hf_abcdefgh is not valid"}, "children": [{"args": ["hf_abcdefgh"]}]}
    one, two = redacted(request, response)
    assert "hf_abcdefgh" not in orjson.dumps([one, two]).decode()
    assert one["data"]["x"] == "login redacted-1 now"
    assert two["children"][0]["args"] == ["redacted-1"]


def test_a_value_that_is_no_credential_leaves_other_texts_alone() -> None:
    assert redacted({"env": [{"name": "MODEL", "value": "production"}], "phase": "production"})["phase"] == "production"


def test_a_secret_objects_data_stays_base64() -> None:
    data = {"token": base64.b64encode(b"s3cr3t-value").decode(), "binary": base64.b64encode(b"\xff\xfe").decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "data": data, "stringData": {"x": "s3cr3t-value"}, "type": "Opaque"}
    found, text = redacted(secret, {"log": "s3cr3t-value leaked"})
    assert base64.b64decode(found["data"]["token"]) == b"redacted-1"
    assert base64.b64decode(found["data"]["binary"], validate=True) == b"redacted-2"
    assert (found["stringData"], found["type"]) == ({"x": "redacted-1"}, "Opaque")
    assert text == {"log": "redacted-1 leaked"}


@pytest.mark.parametrize("annotation", [KUBECTL, LAST_APPLIED])
def test_a_last_applied_configuration_is_redacted_like_the_object(annotation: str) -> None:
    spec: JSON = {
        "containers": [{"name": "main", "env": [{"name": "A", "value": "x"}], "args": ["--api-key", "k"]}],
        "ports": [{"name": "http", "port": 80}],
    }
    applied = {"spec": spec, "metadata": {"annotations": {"example.com/note": "n"}}}
    annotations = {annotation: orjson.dumps(applied).decode(), "example.com/note": "n"}
    found = redacted({"metadata": {"annotations": annotations}, "spec": spec})
    inside = orjson.loads(found["metadata"]["annotations"][annotation])
    assert inside["spec"] == found["spec"]
    assert inside["metadata"]["annotations"]["example.com/note"] == found["metadata"]["annotations"]["example.com/note"]
    assert found["spec"]["containers"][0]["env"] == [{"name": "A", "value": "redacted-1"}]
    assert found["spec"]["ports"] == spec["ports"]


def test_an_object_that_is_kept_as_applied_is_kept_after_redaction_too() -> None:
    env = [{"name": "A", "value": "x"}, {"name": "B", "value": "y"}]
    shape: JSON = {"metadata": {"name": "a"}, "spec": {"template": {"env": env, "replicas": 1}}}
    item: JSON = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "annotations": {LAST_APPLIED: orjson.dumps(shape).decode()}},
        "spec": {"template": {"env": [*env, {"name": "SIDECAR", "value": "z"}], "replicas": 3, "other": True}},
    }
    before, after = kept(item), kept(redacted(item))
    assert redacted(before) == after
    assert [variable["name"] for variable in after["spec"]["template"]["env"]] == ["A", "B"]
    assert after["spec"]["template"]["replicas"] == 3


def test_an_annotation_that_is_no_whole_json_is_searched_as_text() -> None:
    annotations = {KUBECTL: '{"spec": --api-key abc'}
    assert redacted({"annotations": annotations}) == {"annotations": {KUBECTL: '{"spec": --api-key redacted-1'}}


@pytest.mark.parametrize("name", [*SYNCS, *FINALIZES])
def test_a_real_request_keeps_everything_but_values(name: str) -> None:
    before = recorded(name)
    after = redacted(before)

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(item) for key, item in value.items()}
        return [shape(item) for item in value] if isinstance(value, list) else type(value)

    assert shape(after) == shape(before)
    for key, group in after["children"].items():
        for child, found in group.items():
            assert found["metadata"]["uid"] == before["children"][key][child]["metadata"]["uid"]
            assert found["metadata"]["managedFields"] == before["children"][key][child]["metadata"]["managedFields"]


SECRET = st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"]), min_size=12, max_size=30).map(
    lambda text: f"Zq9{text}"
)


@given(SECRET)
def test_no_secret_survives_anywhere(secret: str) -> None:
    document = {
        "env": [{"name": "API_KEY", "value": secret}],
        "command": ["serve", "--api-key", secret, f"--url=https://user:{secret}@host"],
        "metadata": {
            "annotations": {"note": secret, KUBECTL: orjson.dumps({"args": [secret, f"x={secret}"]}).decode()}
        },
        "status": {"message": f"the key {secret} was refused ({secret})"},
        "password": secret,
    }
    assert secret not in orjson.dumps(redacted(document)).decode()


@given(SECRET, SECRET)
def test_redacting_twice_changes_nothing_more(first: str, second: str) -> None:
    once = redacted({"env": [{"name": "A", "value": first}, {"name": "TOKEN", "value": second}], "x": [second]})
    assert redacted(once) == once
