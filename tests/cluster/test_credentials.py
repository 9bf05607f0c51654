"""Certificates and credential plugins: they work, or it is said in a sentence why not."""

import base64
import shutil
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cluster import Cluster, ClusterError, ConfigError, connect
from app.cluster.errors import Unauthorized
from app.kube.hook import JSON
from app.kube.reader import ObjectKind
from tests.support.kubeapi import KubeApi, kubeconfig, serving
from tests.support.shelf import KUEUE, Shelf, cluster_queue

QUEUE = ObjectKind(KUEUE, "ClusterQueue")
NAME = "kubernetes.example"
V1, BETA, ALPHA = (f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="no openssl command to make certificates with")


@dataclass(frozen=True)
class Papers:
    """Certificates of one authority: a server's for NAME, and a client's."""

    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def data(self, name: str) -> str:
        return base64.b64encode((self.folder / name).read_bytes()).decode()

    def server(self, *, asks: bool) -> ssl.SSLContext:
        """The server's context; it may ask for a client certificate of the authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("server.crt"), self.path("server.key"))
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.crt"))
        return context


def _openssl(folder: Path, words: str) -> None:
    assert OPENSSL is not None
    subprocess.run([OPENSSL, *words.split()], cwd=folder, check=True, capture_output=True)  # noqa: S603


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    _openssl(
        folder,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=authority -keyout ca.key "
        "-out ca.crt",
    )
    for name, extension in (("server", f"subjectAltName=DNS:{NAME}"), ("client", "extendedKeyUsage=clientAuth")):
        (folder / "extension").write_text(extension)
        _openssl(
            folder,
            f"req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={name} -keyout {name}.key "
            "-out request",
        )
        _openssl(
            folder,
            f"x509 -req -in request -CA ca.crt -CAkey ca.key -days 1 -extfile extension -out {name}.crt",
        )
    return Papers(folder)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf([cluster_queue()])


def to(api: KubeApi, folder: Path, cluster: JSON | None = None, user: JSON | None = None) -> Cluster:
    file = folder / "config"
    file.write_text(yaml.safe_dump(kubeconfig(api.url, cluster=cluster, user=user)))
    return connect(str(file), environment={"PATH": "/usr/bin:/bin", "KEPT": "yes"})


def reads(api: KubeApi, folder: Path, cluster: JSON | None = None, user: JSON | None = None) -> bool:
    with to(api, folder, cluster, user) as found:
        return bool(found.get(QUEUE, "research")["kind"] == "ClusterQueue")


@needs_openssl
def test_a_server_is_trusted_by_its_authority_and_its_name(papers: Papers, shelf: Shelf, tmp_path: Path) -> None:
    with serving(shelf, papers.server(asks=False)) as api:
        named = {"tls-server-name": NAME}
        assert reads(api, tmp_path, {**named, "certificate-authority-data": papers.data("ca.crt")})
        assert reads(api, tmp_path, {**named, "certificate-authority": papers.path("ca.crt")})
        assert reads(api, tmp_path, {"insecure-skip-tls-verify": True})
        for untrusted in (named, {"certificate-authority": papers.path("ca.crt")}):
            with pytest.raises(ClusterError, match=r"cannot be reached: .*certificate verify failed"):
                reads(api, tmp_path, untrusted)


@needs_openssl
@pytest.mark.parametrize("form", ["files", "data"])
def test_a_client_certificate_opens_the_door(form: str, papers: Papers, shelf: Shelf, tmp_path: Path) -> None:
    trust = {"tls-server-name": NAME, "certificate-authority": papers.path("ca.crt")}
    user = {
        "files": {"client-certificate": papers.path("client.crt"), "client-key": papers.path("client.key")},
        "data": {"client-certificate-data": papers.data("client.crt"), "client-key-data": papers.data("client.key")},
    }[form]
    with serving(shelf, papers.server(asks=True)) as api:
        assert reads(api, tmp_path, trust, user)
        with pytest.raises(ClusterError):
            reads(api, tmp_path, trust, {})


@needs_openssl
def test_a_key_that_does_not_fit_is_told_from_a_missing_one(papers: Papers, tmp_path: Path) -> None:
    file = tmp_path / "config"
    user = {"client-certificate": papers.path("client.crt"), "client-key": papers.path("server.key")}
    file.write_text(yaml.safe_dump(kubeconfig("https://10.0.0.1", user=user)))
    with pytest.raises(ConfigError, match="the client certificate of user ada cannot be used: the key does not fit"):
        connect(str(file), environment={})


def plugin(folder: Path, script: str, **more: Any) -> JSON:
    """A user whose credentials come from a Python script. It finds the request in `info`."""
    file = folder / "plugin.py"
    start = "import json, os, sys\ninfo = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
    file.write_text(
        f"{start}def give(**status):\n"
        "    print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))\n"
        f"{script}\n"
    )
    return {"exec": {"apiVersion": V1, "command": sys.executable, "args": [str(file)], **more}}


@pytest.mark.parametrize("version", [V1, BETA])
def test_a_plugin_gives_the_token(version: str, shelf: Shelf, tmp_path: Path) -> None:
    with serving(shelf, tokens={"from-plugin"}) as api:
        assert reads(api, tmp_path, user=plugin(tmp_path, "give(token='from-plugin')", apiVersion=version))


def test_a_plugin_is_asked_again_when_its_token_has_run_out(shelf: Shelf, tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("")
    script = f"f = open({str(count)!r}, 'a'); f.write('x'); f.close()\ngive(token=open({str(count)!r}).read())"
    with serving(shelf, tokens={"x"}) as api, to(api, tmp_path, user=plugin(tmp_path, script)) as cluster:
        cluster.get(QUEUE, "research")
        api.tokens = {"xx"}
        assert cluster.get(QUEUE, "research")
        api.tokens = {"never"}
        with pytest.raises(Unauthorized):
            cluster.get(QUEUE, "research")
    assert count.read_text() == "xxx"


@needs_openssl
def test_a_plugin_may_give_a_client_certificate(papers: Papers, shelf: Shelf, tmp_path: Path) -> None:
    trust = {"tls-server-name": NAME, "certificate-authority": papers.path("ca.crt")}
    certificate, key = papers.path("client.crt"), papers.path("client.key")
    script = f"give(clientCertificateData=open({certificate!r}).read(), clientKeyData=open({key!r}).read())"
    with serving(shelf, papers.server(asks=True)) as api:
        assert reads(api, tmp_path, trust, plugin(tmp_path, script))


def test_a_plugin_gets_its_environment_and_the_cluster_where_it_asks_for_it(shelf: Shelf, tmp_path: Path) -> None:
    script = (
        "c = info['spec']['cluster']\ngive(token='-'.join([os.environ['KEPT'], os.environ['MORE'], c['config']['a']]))"
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"a": "configured"}}
    user = plugin(tmp_path, script, env=[{"name": "MORE", "value": "set"}], provideClusterInfo=True)
    with serving(shelf, tokens={"yes-set-configured"}) as api:
        assert reads(api, tmp_path, {"extensions": [extension]}, user)


def test_a_plugin_that_is_not_asked_about_the_cluster_is_not_told(shelf: Shelf, tmp_path: Path) -> None:
    user = plugin(tmp_path, "give(token=str('cluster' in info['spec']) + str(info['spec']['interactive']))")
    with serving(shelf, tokens={"FalseFalse"}) as api:
        assert reads(api, tmp_path, user=user)


FAILURES: dict[str, tuple[str, dict[str, Any], str]] = {
    "it fails": ("sys.exit(3)", {}, "ended with exit code 3; what it said stands above"),
    "no JSON": ("print('secret-token')", {}, "printed no JSON"),
    "another kind": ("print('{}')", {}, f"printed no ExecCredential of {V1}"),
    "nothing in it": ("give()", {}, "printed neither a token nor a certificate with its key"),
    "half a certificate": ("give(clientCertificateData='x')", {}, "printed neither a token nor a certificate"),
    "an old version": ("", {"apiVersion": ALPHA}, f"speaks {ALPHA}, which Kubernetes has dropped; {V1} and {BETA} are"),
    "it must ask": ("", {"interactiveMode": "Always"}, "wants to ask you something: run this on a terminal"),
    "not installed": (
        "",
        {"command": "no-such-plugin", "installHint": "Install it with brew.\n"},
        "the plugin no-such-plugin of user ada cannot be run: No such file or directory; Install it with brew.",
    ),
}


@pytest.mark.parametrize(("script", "options", "words"), FAILURES.values(), ids=FAILURES)
def test_a_plugin_that_fails_is_named_and_never_quoted(
    script: str, options: dict[str, Any], words: str, shelf: Shelf, tmp_path: Path
) -> None:
    with serving(shelf) as api, pytest.raises(ConfigError) as caught:
        to(api, tmp_path, user=plugin(tmp_path, script, **options))
    assert words in str(caught.value)
    assert "secret-token" not in str(caught.value)
    assert api.calls == []


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have none, whoever runs them."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
