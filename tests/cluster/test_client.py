"""The calls, over HTTP: what is asked of the API server, and what each of its refusals reads as."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cluster import Cluster, ClusterError, ConfigError, Conflict, connect, transport
from app.cluster.errors import Unauthorized
from app.kube.reader import Forbidden, NotFound, NotServed, ObjectKind
from tests.support.kubeapi import KubeApi, kubeconfig, serving
from tests.support.shelf import KUEUE, Shelf, a_model_deployment, cluster_queue, event, local_queue

DEPLOYMENT = ObjectKind("hangar.dev/v1alpha1", "ModelDeployment")
QUEUE = ObjectKind(KUEUE, "ClusterQueue")
EVENT = ObjectKind("v1", "Event")


def to(api: KubeApi, folder: Path, **more: Any) -> Cluster:
    file = folder / "config"
    file.write_text(yaml.safe_dump(kubeconfig(api.url, **more)))
    return connect(str(file), environment={})


def a_shelf() -> Shelf:
    deployments = [a_model_deployment(name, space, 1) for name, space in (("a", "one"), ("b", "one"), ("c", "two"))]
    for item in deployments:
        item["metadata"] |= {"resourceVersion": "7", "labels": {"tier": item["metadata"]["name"]}}
    return Shelf([*deployments, cluster_queue(), local_queue(), event(deployments[0], "SyncError", "no")])


def test_objects_are_read_by_kind_name_and_namespace(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        assert cluster.get(DEPLOYMENT, "a", "one")["metadata"]["uid"] == "a-uid"
        assert cluster.get(QUEUE, "research")["kind"] == "ClusterQueue"
        paths = [call.path for call in api.calls]
    assert paths == [
        "/apis/hangar.dev/v1alpha1",
        "/apis/hangar.dev/v1alpha1/namespaces/one/modeldeployments/a",
        "/apis/kueue.x-k8s.io/v1beta2",
        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/research",
    ]


def test_lists_are_of_one_namespace_or_of_all_and_know_their_kind(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        assert [item["metadata"]["name"] for item in cluster.list(DEPLOYMENT, "one")] == ["a", "b"]
        everywhere = cluster.list(DEPLOYMENT)
    assert [item["metadata"]["name"] for item in everywhere] == ["a", "b", "c"]
    assert {(item["apiVersion"], item["kind"]) for item in everywhere} == {("hangar.dev/v1alpha1", "ModelDeployment")}


def test_a_long_list_is_read_to_its_last_page(tmp_path: Path) -> None:
    with serving(a_shelf(), page=1) as api, to(api, tmp_path) as cluster:
        assert [item["metadata"]["name"] for item in cluster.list(DEPLOYMENT)] == ["a", "b", "c"]


def test_labels_and_fields_are_the_servers_to_choose_by(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        assert [item["metadata"]["name"] for item in cluster.list(DEPLOYMENT, labels={"tier": "c"})] == ["c"]
        assert len(cluster.list(EVENT, "one", fields={"involvedObject.uid": "a-uid"})) == 1
        assert cluster.list(EVENT, "one", fields={"involvedObject.uid": "b-uid"}) == []
        assert api.calls[-1].query["fieldSelector"] == "involvedObject.uid=b-uid"


def test_a_patch_merges_and_says_who_wrote(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        changes = {"metadata": {"resourceVersion": "7"}, "spec": {"resumedAt": "now"}}
        assert cluster.patch(DEPLOYMENT, "a", changes, "one")["spec"]["resumedAt"] == "now"
        call = api.calls[-1]
    assert (call.method, call.headers["Content-Type"]) == ("PATCH", "application/merge-patch+json")
    assert (call.query, call.body) == ({"fieldManager": "hangar"}, changes)


def test_a_patch_of_what_somebody_changed_is_a_conflict(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster, pytest.raises(Conflict, match="has been modified"):
        cluster.patch(DEPLOYMENT, "a", {"metadata": {"resourceVersion": "6"}}, "one")


def test_a_name_never_leaves_its_place_in_the_path(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        with pytest.raises(NotFound):
            cluster.get(DEPLOYMENT, "../../../namespaces/two/modeldeployments/c", "one")
        assert api.calls[-1].path.startswith("/apis/hangar.dev/v1alpha1/namespaces/one/modeldeployments/..%2F")


REFUSALS = {
    403: (Forbidden, "modeldeployments is forbidden"),
    404: (NotFound, "not found"),
    409: (Conflict, "has been modified"),
    500: (ClusterError, "etcdserver: request timed out"),
}


@pytest.mark.parametrize(("code", "expected"), REFUSALS.items(), ids=map(str, REFUSALS))
def test_a_refusal_keeps_the_servers_words(code: int, expected: tuple[type[Exception], str], tmp_path: Path) -> None:
    kind, words = expected
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        cluster.list(DEPLOYMENT)
        api.answers.append((code, b'{"kind": "Status", "message": "%s"}' % words.encode()))
        with pytest.raises(kind, match=words) as caught:
            cluster.get(DEPLOYMENT, "a", "one")
    assert str(caught.value) == f"{api.url} (context test): {words}"


def test_a_refusal_without_words_still_says_something(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        api.answers.append((503, b"<html>"))
        with pytest.raises(ClusterError, match="answers with the HTTP status 503 and no word of why"):
            cluster.list(DEPLOYMENT)


def test_a_server_that_is_none_is_told_from_a_cluster(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        api.answers.append((200, b"<html>log in</html>"))
        with pytest.raises(ClusterError, match="does not answer as a Kubernetes API does"):
            cluster.list(DEPLOYMENT)


def test_a_kind_or_version_that_is_not_served_is_named(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        with pytest.raises(NotServed, match=r"serves no Workload of kueue.x-k8s.io/v1beta1"):
            cluster.list(ObjectKind("kueue.x-k8s.io/v1beta1", "Workload"))
        with pytest.raises(NotServed, match=r"serves no Widget of v1"):
            cluster.list(ObjectKind("v1", "Widget"))


def test_a_cluster_that_is_not_there_is_named_with_its_context(tmp_path: Path) -> None:
    with serving(a_shelf()) as api:
        cluster = to(api, tmp_path)
    with cluster, pytest.raises(ClusterError, match=rf"{api.url} \(context test\) cannot be reached: .*refused"):
        cluster.list(DEPLOYMENT)


def test_a_token_is_sent_and_one_that_is_not_taken_is_no_secret_leak(tmp_path: Path) -> None:
    with serving(a_shelf(), tokens={"right"}) as api:
        with to(api, tmp_path, user={"token": "right"}) as cluster:
            assert cluster.list(DEPLOYMENT)
        with to(api, tmp_path, user={"token": "wrong-token"}) as cluster, pytest.raises(Unauthorized) as caught:
            cluster.list(DEPLOYMENT)
    assert "does not accept the credentials of ada: log in again" in str(caught.value)
    assert "wrong-token" not in str(caught.value)


def test_a_token_file_is_read_again_when_its_token_has_run_out(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    with serving(a_shelf(), tokens={"first"}) as api, to(api, tmp_path, user={"tokenFile": "token"}) as cluster:
        cluster.list(DEPLOYMENT)
        api.tokens = {"second"}
        file.write_text("second\n")
        assert cluster.list(DEPLOYMENT)
        file.unlink()
        api.tokens = {"third"}
        with pytest.raises(ConfigError, match="the tokenFile of user ada"):
            cluster.list(DEPLOYMENT)


def test_a_server_behind_a_path_keeps_it(tmp_path: Path) -> None:
    with serving(a_shelf()) as api:
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(kubeconfig(f"{api.url}/k8s/clusters/c-1")))
        with connect(str(file), environment={}) as cluster:
            api.answers += [
                (200, b'{"resources": [{"name": "pods", "kind": "Pod", "namespaced": true}]}'),
                (200, b"{}"),
            ]
            cluster.get(ObjectKind("v1", "Pod"), "x", "one")
    assert [call.path for call in api.calls] == [
        "/k8s/clusters/c-1/api/v1",
        "/k8s/clusters/c-1/api/v1/namespaces/one/pods/x",
    ]


def test_a_server_that_does_not_answer_in_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_TIMEOUT", 0.05)
    with serving(a_shelf()) as api, to(api, tmp_path) as cluster:
        api.delay = 0.5
        with pytest.raises(ClusterError, match="did not answer in time"):
            cluster.list(DEPLOYMENT)


def test_a_name_and_password_are_sent_as_such(tmp_path: Path) -> None:
    with serving(a_shelf()) as api, to(api, tmp_path, user={"username": "ada", "password": "lovelace"}) as cluster:
        cluster.list(DEPLOYMENT)
    assert api.calls[0].headers["Authorization"] == "Basic YWRhOmxvdmVsYWNl"


def test_whom_a_kubeconfig_acts_as_is_told_to_the_server(tmp_path: Path) -> None:
    user = {
        "token": "t",
        "as": "bob",
        "as-uid": "42",
        "as-groups": ["dev"],
        "as-user-extra": {"example.com/reason": ["test"]},
    }
    with serving(a_shelf()) as api, to(api, tmp_path, user=user) as cluster:
        cluster.list(DEPLOYMENT)
    sent = {name: value for name, value in api.calls[0].headers.items() if name.lower().startswith("impersonate")}
    assert {name.lower(): value for name, value in sent.items()} == {
        "impersonate-user": "bob",
        "impersonate-uid": "42",
        "impersonate-group": "dev",
        "impersonate-extra-example.com%2freason": "test",
    }


UNUSABLE: dict[str, tuple[str, dict[str, Any], str]] = {
    "a provider that Kubernetes dropped": (
        "https://10.0.0.1",
        {"user": {"auth-provider": {"name": "gcp"}}},
        "user ada has an auth-provider, which Kubernetes has dropped: use an exec plugin",
    ),
    "a secret over plain HTTP": (
        "http://10.0.0.1:8080",
        {"user": {"token": "t"}},
        "http://10.0.0.1:8080 is plain HTTP, and your credentials would go there unencrypted",
    ),
    "no URL": ("10.0.0.1:6443", {}, "the server '10.0.0.1:6443' is no URL"),
    "a proxy of an unknown kind": ("https://10.0.0.1", {"cluster": {"proxy-url": "gopher://x"}}, "proxy-url"),
    "no base64": (
        "https://10.0.0.1",
        {"cluster": {"certificate-authority-data": "%%%"}},
        "a …-data field of its kubeconfig is no base64 of a PEM file",
    ),
    "an authority that is not there": (
        "https://10.0.0.1",
        {"cluster": {"certificate-authority": "/nowhere/ca.crt"}},
        "the certificate-authority cannot be used: No such file or directory",
    ),
    "a certificate without its key": (
        "https://10.0.0.1",
        {"user": {"client-certificate": "/nowhere/me.crt"}},
        "user ada has a client certificate or a key, and not both",
    ),
    "a certificate that is not there": (
        "https://10.0.0.1",
        {"user": {"client-certificate": "/nowhere/me.crt", "client-key": "/nowhere/me.key"}},
        "the client certificate of user ada cannot be used: No such file or directory: /nowhere/me.crt",
    ),
    "a certificate that is none": (
        "https://10.0.0.1",
        {"user": {"client-certificate-data": "bm9uZQ==", "client-key-data": "bm9uZQ=="}},
        "the key does not fit, is encrypted, or one of the two is no PEM",
    ),
}


@pytest.mark.parametrize(("server", "parts", "words"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used_is_refused_before_anything_is_sent(
    server: str, parts: dict[str, Any], words: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(kubeconfig(server, **parts)))
    with pytest.raises(ConfigError) as caught:
        connect(str(file), environment={})
    assert words in str(caught.value)
