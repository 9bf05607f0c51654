"""The layer itself: what it would hide if it were wrong."""

import base64
import json
from pathlib import Path

import pytest
import yaml

from app.kube.hook import JSON
from app.local.resources import Resource
from app.local.store import Store
from app.local.table import Change, Table
from tests.e2e import builds, drivers, kubeconfig
from tests.e2e.audit import AuditLog, Write
from tests.e2e.cluster import ADMIN
from tests.e2e.remotestore import Mirror, RemoteStore

PODS = Resource("v1", "pods", "Pod")


def _public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_loop_never_reads_or_writes_a_store_that_is_empty() -> None:
    assert _public(Store) | _public(Table) <= _public(RemoteStore)


def _pod(version: int, uid: str = "u", name: str = "a") -> JSON:
    return {"metadata": {"namespace": "t", "name": name, "uid": uid, "resourceVersion": str(version)}}


def test_a_mirror_tells_what_was_missed_while_the_watch_was_away() -> None:
    told: list[Change] = []
    mirror = Mirror(PODS, told.append)
    mirror.changed("ADDED", _pod(1))
    mirror.changed("ADDED", _pod(1))
    mirror.listed([_pod(7, uid="another")])
    mirror.listed([])
    mirror.changed("DELETED", _pod(9))
    assert [(change.type, change.new["metadata"]["uid"]) for change in told] == [
        ("ADDED", "u"),
        ("DELETED", "u"),
        ("ADDED", "another"),
        ("DELETED", "another"),
    ]


def test_without_go_nothing_is_built_and_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(builds.NoGo, match="the Go toolchain is not installed"):
        builds.built(builds.KUBERNETES, print)
    folder = tmp_path / "hangar-e2e" / builds.KUBERNETES.key
    folder.mkdir(parents=True)
    (folder / "complete").touch()
    assert builds.built(builds.KUBERNETES, print) == folder


@pytest.mark.parametrize("tools", [builds.KUBERNETES, builds.KUEUE], ids=lambda tools: str(tools.folder))
def test_the_cache_is_keyed_by_version(tools: builds.Toolset) -> None:
    assert tools.key.startswith(f"{tools.folder}-v")
    assert tools.version in tools.key


def test_a_metacontroller_without_its_definitions_is_told(tmp_path: Path) -> None:
    binary = tmp_path / "bin" / "metacontroller"
    binary.parent.mkdir()
    binary.touch(mode=0o755)
    with pytest.raises(drivers.Lacking, match="set METACONTROLLER_CRDS"):
        drivers.metacontroller_crds({"METACONTROLLER_BIN": str(binary)})
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    beside = tmp_path / "crds" / "all.yaml"
    beside.parent.mkdir()
    beside.write_text(yaml.safe_dump(definition))
    assert drivers.metacontroller_crds({"METACONTROLLER_BIN": str(binary)}) == [definition]
    given = {"METACONTROLLER_BIN": str(binary), "METACONTROLLER_CRDS": str(beside)}
    assert drivers.metacontroller_crds(given) == [definition]


def test_a_kubeconfig_is_read_with_a_token_a_file_or_a_plugin(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "from-plugin"}}
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    plugin.chmod(0o755)
    (tmp_path / "token").write_text("from-file\n")
    assert _token(tmp_path, {"token": "plain"}) == "plain"
    assert _token(tmp_path, {"tokenFile": "token"}) == "from-file"
    assert _token(tmp_path, {"exec": {"command": str(plugin)}}) == "from-plugin"


def _token(folder: Path, user: JSON) -> str:
    config = kubeconfig.document("https://cluster.example:6443", folder / "ca.crt", "")
    config["clusters"][0]["cluster"] = {
        "server": "https://cluster.example:6443/",
        "certificate-authority-data": base64.b64encode(AUTHORITY.read_bytes()).decode(),
    }
    config["users"][0]["user"] = user
    path = folder / "config"
    path.write_text(yaml.safe_dump(config))
    access = kubeconfig.persons_cluster(path).account(ADMIN).access
    assert access.url == "https://cluster.example:6443"
    return access.token


AUTHORITY = Path(__file__).parents[1] / "modeldeployment" / "self_signed_for_tests.pem"


def test_a_kubeconfig_without_its_context_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("current-context: gone\n")
    with pytest.raises(kubeconfig.Unusable, match="it has no context 'gone'"):
        kubeconfig.persons_cluster(path)


def test_the_audit_log_is_read_from_a_place_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    line = {
        "verb": "update",
        "user": {"username": "somebody"},
        "objectRef": {"resource": "pods", "subresource": "status", "namespace": "t", "name": "a"},
        "responseStatus": {"code": 200},
    }
    path.write_text(json.dumps(line) + "\n")
    log = AuditLog(path)
    place = log.here()
    with path.open("a") as more:
        more.write(json.dumps({**line, "verb": "delete"}) + "\n")
    assert log.since(place, lambda _: True) == [Write("somebody", "delete", "pods/status", "t", "a", 200)]
    assert len(log.since(0, lambda write: write.namespace == "t")) == 2
