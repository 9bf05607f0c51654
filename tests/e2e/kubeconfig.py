"""Kubeconfig files: written for the programs that we start, read where a person names a cluster."""

import base64
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from app.kube.hook import JSON
from app.local.values import listed, mapping
from tests.e2e.api import Access
from tests.e2e.cluster import ADMIN, Account, ControlPlane


class Unusable(Exception):
    """A kubeconfig that cannot be used; the message says why."""


def document(url: str, authority: Path, token: str) -> JSON:
    """A kubeconfig with one cluster and one account."""
    cluster = {"server": url, "certificate-authority": str(authority)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }


def persons_cluster(path: Path) -> ControlPlane:
    """The cluster of a kubeconfig's current context. Raises Unusable."""
    return ControlPlane({ADMIN: Account(_access(path), path)})


def _access(path: Path) -> Access:
    try:
        config = mapping(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise Unusable(f"KUBECONFIG {path}: {error}") from error
    context = _named(config, "context", str(config.get("current-context", "")), path)
    cluster = _named(config, "cluster", str(context.get("cluster", "")), path)
    user = _named(config, "user", str(context.get("user", "")), path)
    if "exec" in user:
        user = {**user, **_ask(mapping(user["exec"]))}
    tls = _trust(cluster, path)
    _present(tls, user, path)
    return Access(str(cluster["server"]).rstrip("/"), tls, _token(user, path))


def _named(config: JSON, what: str, name: str, path: Path) -> JSON:
    for one in listed(config.get(f"{what}s")):
        if one.get("name") == name:
            return mapping(one.get(what))
    raise Unusable(f"KUBECONFIG {path}: it has no {what} {name!r}; select a context with `kubectl config use-context`")


def _ask(command: JSON) -> JSON:
    """The credentials that a plugin gives, under the names of the file."""
    environment = os.environ | {str(one["name"]): str(one["value"]) for one in listed(command.get("env"))}
    wanted = {"apiVersion": command.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(wanted)
    done = subprocess.run(  # noqa: S603 - what the person's own kubeconfig names
        [str(command["command"]), *map(str, listed(command.get("args")))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unusable(f"{command['command']}, which the kubeconfig asks for credentials, failed: {done.stderr}")
    given = mapping(json.loads(done.stdout).get("status"))
    found = {"token": str(given.get("token", ""))}
    for theirs, ours in (("clientCertificateData", "client-certificate-data"), ("clientKeyData", "client-key-data")):
        if theirs in given:
            found[ours] = base64.b64encode(str(given[theirs]).encode()).decode()
    return found


def _trust(cluster: JSON, path: Path) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        raise Unusable(f"KUBECONFIG {path}: insecure-skip-tls-verify is set; name the cluster's certificate authority")
    with _file(cluster, "certificate-authority", path) as authority:
        return ssl.create_default_context(cafile=authority)


def _present(tls: ssl.SSLContext, user: JSON, path: Path) -> None:
    with _file(user, "client-certificate", path) as certificate, _file(user, "client-key", path) as key:
        if certificate and key:
            tls.load_cert_chain(certificate, key)


def _token(user: JSON, path: Path) -> str:
    if user.get("tokenFile"):
        return (path.parent / str(user["tokenFile"])).read_text(encoding="utf-8").strip()
    return str(user.get("token", ""))


@contextmanager
def _file(holder: JSON, name: str, path: Path) -> Iterator[str | None]:
    """The path of what is stated as a file or as base64 data, or None."""
    data: Any = holder.get(f"{name}-data")
    if data:
        with tempfile.NamedTemporaryFile() as held:
            held.write(base64.b64decode(data))
            held.flush()
            yield held.name
    else:
        yield str(path.parent / str(holder[name])) if holder.get(name) else None
