"""Credential plugins of a kubeconfig: a command that prints an ExecCredential.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.cluster.errors import ConfigError
from app.cluster.kubeconfig import Access, Exec
from app.kube.pods import mapping, text

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Credential:
    """What a plugin gives: a bearer token, or a client certificate with its key (PEM), or both."""

    token: str = ""
    certificate: str = ""
    key: str = ""


def run_plugin(access: Access, plugin: Exec, environment: Mapping[str, str]) -> Credential:
    """Runs the plugin; what it says on standard error is the caller's to see. Raises `ConfigError`."""
    where = f"the plugin {plugin.command} of user {access.user_name}"
    if plugin.api_version not in _VERSIONS:
        known = " and ".join(_VERSIONS)
        raise ConfigError(f"{where} speaks {plugin.api_version}, which Kubernetes has dropped; {known} are understood")
    interactive = plugin.interactive_mode != "Never" and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not interactive:
        raise ConfigError(f"{where} wants to ask you something: run this on a terminal")
    told = {"KUBERNETES_EXEC_INFO": orjson.dumps(_info(access, plugin, interactive)).decode()}
    try:
        ended = subprocess.run(  # noqa: S603 - the command is the caller's own, named in the caller's kubeconfig
            [plugin.command, *plugin.args],
            env={**environment, **{one.name: one.value for one in plugin.env}, **told},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )
    except OSError as problem:
        hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise ConfigError(f"{where} cannot be run: {os.strerror(problem.errno or 0)}{hint}") from None
    if ended.returncode:
        raise ConfigError(f"{where} ended with exit code {ended.returncode}; what it said stands above")
    return _credential(where, plugin, ended.stdout)


def _info(access: Access, plugin: Exec, interactive: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        stated = access.cluster.model_dump(by_alias=True, exclude={"extensions", "certificate_authority"})
        spec["cluster"] = {key: value for key, value in stated.items() if value}
        extension = next((one for one in access.cluster.extensions if one.get("name") == _EXTENSION), {})
        if "extension" in extension:
            spec["cluster"]["config"] = extension["extension"]
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _credential(where: str, plugin: Exec, printed: bytes) -> Credential:
    """Reads what the plugin printed. None of it is ever quoted: it is a secret."""
    try:
        document = mapping(orjson.loads(printed))
    except orjson.JSONDecodeError:
        raise ConfigError(f"{where} printed no JSON") from None
    if (document.get("apiVersion"), document.get("kind")) != (plugin.api_version, "ExecCredential"):
        raise ConfigError(f"{where} printed no ExecCredential of {plugin.api_version}")
    status = mapping(document.get("status"))
    found = Credential(*(text(status.get(key)) for key in ("token", "clientCertificateData", "clientKeyData")))
    if not (found.token or (found.certificate and found.key)):
        raise ConfigError(f"{where} printed neither a token nor a certificate with its key")
    return found
