"""Kubeconfig files: merged as kubectl merges them, and a sentence for each that cannot be used."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cluster import ConfigError
from app.cluster import kubeconfig as module
from app.cluster.kubeconfig import Access, access
from tests.support.kubeapi import kubeconfig

SERVER = "https://10.0.0.1:6443"


def written(file: Path, document: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return file


def of(document: Any, folder: Path, context: str | None = None) -> Access:
    return access({}, str(written(folder / "config", document)), context)


def test_the_current_context_gives_server_user_and_namespace(tmp_path: Path) -> None:
    found = of(kubeconfig(SERVER, user={"token": "t"}, namespace="team-a"), tmp_path)
    assert (found.cluster.server, found.user.token, found.user_name, found.namespace) == (SERVER, "t", "ada", "team-a")


def test_a_context_may_be_chosen_and_has_the_namespace_default(tmp_path: Path) -> None:
    document = kubeconfig(SERVER)
    document["contexts"].append({"name": "other", "context": {"cluster": "cluster"}})
    found = of(document, tmp_path, "other")
    assert (found.title, found.user_name, found.namespace) == ("context other", "", "default")


def test_the_file_in_the_home_folder_is_read_where_no_other_is_named(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config", kubeconfig(SERVER))
    assert access({"HOME": str(tmp_path)}).cluster.server == SERVER


def test_of_several_files_the_first_that_states_something_wins(tmp_path: Path) -> None:
    first = written(tmp_path / "a" / "config", {**kubeconfig("https://first"), "current-context": "", "contexts": []})
    second = written(tmp_path / "b" / "config", kubeconfig("https://second", user={"token": "two"}, namespace="two"))
    listed = f"{first}::{tmp_path / 'missing'}:{second}"
    found = access({"KUBECONFIG": listed})
    assert (found.cluster.server, found.user.token, found.namespace) == ("https://first", "", "two")


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    user = {"client-certificate": "me.crt", "client-key": "/keys/me.key", "tokenFile": "../token"}
    document = kubeconfig(SERVER, cluster={"certificate-authority": "ca.crt"}, user=user)
    found = of(document, tmp_path)
    assert found.cluster.certificate_authority == str(tmp_path / "ca.crt")
    assert found.user.client_certificate == str(tmp_path / "me.crt")
    assert found.user.client_key == "/keys/me.key"
    assert found.user.token_file == str(tmp_path / ".." / "token")


@pytest.mark.parametrize(("command", "where"), [("get-token", None), ("bin/get-token", "bin/get-token")])
def test_a_plugin_is_found_beside_its_file_or_on_the_path(command: str, where: str | None, tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": command}
    found = of(kubeconfig(SERVER, user={"exec": plugin}), tmp_path).user.exec
    assert found is not None
    assert found.command == (str(tmp_path / where) if where else command)


def test_nulls_are_how_kubectl_writes_empty_lists(tmp_path: Path) -> None:
    document = {**kubeconfig(SERVER), "users": None, "preferences": {}}
    document["contexts"][0]["context"]["user"] = ""
    assert of(document, tmp_path).user_name == ""


BROKEN: dict[str, tuple[Any, str]] = {
    "no context": ({**kubeconfig(SERVER), "current-context": ""}, "current-context is not set; name a context with"),
    "another context": ({**kubeconfig(SERVER), "current-context": "gone"}, "there is no context gone; there is test"),
    "no such cluster": ({**kubeconfig(SERVER), "clusters": []}, "context test names the cluster cluster, which is not"),
    "no such user": ({**kubeconfig(SERVER), "users": []}, "context test names the user ada, which is not there"),
    "no YAML": ("a: [", "is no YAML"),
    "a list": ([], "must be an object"),
    "no server": (
        {**kubeconfig(SERVER), "clusters": [{"name": "cluster", "cluster": {}}]},
        "clusters[0].cluster.server is",
    ),
    "a number as token": (kubeconfig(SERVER, user={"token": 4711}), "users[0].user.token must be a string"),
}


@pytest.mark.parametrize(("document", "words"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_used_is_named_with_its_entry(document: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        of(document, tmp_path)
    assert str(tmp_path / "config") in str(caught.value)
    assert words in str(caught.value)
    assert "4711" not in str(caught.value), "a secret stays where it is"


@pytest.mark.parametrize(
    ("environment", "option", "words"),
    [
        ({"KUBECONFIG": "/nowhere/config"}, None, "/nowhere/config: there is no such file; KUBECONFIG names it"),
        ({}, "/nowhere/config", "/nowhere/config: there is no such file; --kubeconfig names it"),
        ({"HOME": "/nowhere"}, None, "no cluster to talk to: there is no /nowhere/.kube/config; name a file with"),
    ],
)
def test_without_a_file_it_is_said_where_one_was_looked_for(
    environment: dict[str, str], option: str | None, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        access(environment, option)
    assert words in str(caught.value)


@pytest.mark.parametrize(("host", "shown"), [("10.96.0.1", "10.96.0.1"), ("fd00::1", "[fd00::1]")])
def test_in_a_pod_its_account_is_used(host: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ACCOUNT", tmp_path)
    for name in ("token", "ca.crt", "namespace"):
        (tmp_path / name).write_text("team-a\n")
    found = access({"HOME": "/nowhere", "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"})
    assert found.cluster.server == f"https://{shown}:443"
    assert found.cluster.certificate_authority == str(tmp_path / "ca.crt")
    assert (found.user.token_file, found.namespace) == (str(tmp_path / "token"), "team-a")
