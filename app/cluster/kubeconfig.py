"""Kubeconfig files, merged and read as kubectl does, and the account of a Pod where there is no such file.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from app.api.problems import sentence
from app.cluster.errors import ConfigError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NAMESPACE = "default"


def _kebab(name: str) -> str:
    return name.strip("_").replace("_", "-")


class _Part(BaseModel):
    """A part of a kubeconfig. What other clients have in there is passed over."""

    model_config = ConfigDict(alias_generator=_kebab, extra="ignore", frozen=True, strict=True)


class ClusterEntry(_Part):
    """Where a cluster is, and what its certificate is checked against."""

    server: str
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[dict[str, Any]] = Field(default_factory=list)


class Variable(_Part):
    """A variable of a plugin's environment."""

    name: str
    value: str


class Exec(BaseModel):
    """A credential plugin, run by `execplugin`."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True, strict=True)

    api_version: str
    command: str
    args: list[str] = Field(default_factory=list)
    env: list[Variable] = Field(default_factory=list)
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class User(_Part):
    """Who asks."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = Field(default="", alias="tokenFile")
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str = Field(default="", alias="as")
    impersonate_uid: str = Field(default="", alias="as-uid")
    impersonate_groups: list[str] = Field(default_factory=list, alias="as-groups")
    impersonate_extra: dict[str, list[str]] = Field(default_factory=dict, alias="as-user-extra")


class Context(_Part):
    """A cluster, a user and a namespace under one name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Part):
    name: str
    cluster: ClusterEntry


class _NamedUser(_Part):
    name: str
    user: User = User()


class _NamedContext(_Part):
    name: str
    context: Context


class _File(_Part):
    clusters: list[_NamedCluster] = Field(default_factory=list)
    users: list[_NamedUser] = Field(default_factory=list)
    contexts: list[_NamedContext] = Field(default_factory=list)
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """How one cluster is reached. Paths in `cluster` and `user` are absolute; `title` is how messages name it."""

    title: str
    cluster: ClusterEntry
    user: User = field(default_factory=User)
    user_name: str = ""
    namespace: str = _NAMESPACE


def access(environment: Mapping[str, str], kubeconfig: str | None = None, context: str | None = None) -> Access:
    """The access of a context (the current one where none is named). Raises `ConfigError`.

    Files are `kubeconfig`, else those that KUBECONFIG lists, else `~/.kube/config`; the first that states something
    wins. Without any file it is the account of the Pod in which this runs.
    """
    stated = kubeconfig or environment.get("KUBECONFIG", "")
    paths = [Path(part).expanduser() for part in (stated.split(os.pathsep) if not kubeconfig else [stated]) if part]
    paths = paths or [Path(environment.get("HOME", "~"), ".kube", "config").expanduser()]
    files = [path for path in paths if path.is_file()]
    if files:
        return _select([(path.absolute(), _read(path)) for path in files], context)
    if stated:
        raise ConfigError(
            f"{paths[0]}: there is no such file; {'--kubeconfig' if kubeconfig else 'KUBECONFIG'} names it"
        )
    if environment.get("KUBERNETES_SERVICE_HOST") and (ACCOUNT / "token").is_file():
        return _of_the_pod(environment)
    raise ConfigError(f"no cluster to talk to: there is no {paths[0]}; name a file with --kubeconfig or KUBECONFIG")


def _read(path: Path) -> _File:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError):
        raise ConfigError(f"{path} is no YAML") from None
    try:
        found = _File.model_validate(_stated(document) if document is not None else {})
    except ValidationError as error:
        raise ConfigError(f"{path}: {sentence(error, '')}") from None
    return found


def _stated(value: Any) -> Any:
    """`value` without its nulls: `users: null` is how kubectl writes an empty list."""
    if isinstance(value, dict):
        return {key: _stated(item) for key, item in value.items() if item is not None}
    return [_stated(item) for item in value] if isinstance(value, list) else value


def _select(files: Sequence[tuple[Path, _File]], wanted: str | None) -> Access:
    """The access of one context of merged files; paths in an entry are relative to the file that it stands in."""
    shown = ", ".join(str(path) for path, _ in files)
    name = wanted or next((file.current_context for _, file in files if file.current_context), "")
    if not name:
        raise ConfigError(f"{shown}: current-context is not set; name a context with --context")
    contexts = {one.name: one.context for _, file in reversed(files) for one in reversed(file.contexts)}
    if name not in contexts:
        known = ", ".join(sorted(contexts)) or "none"
        raise ConfigError(f"{shown}: there is no context {name}; there is {known}")
    chosen = contexts[name]
    clusters = {one.name: (path, one.cluster) for path, file in reversed(files) for one in reversed(file.clusters)}
    users = {one.name: (path, one.user) for path, file in reversed(files) for one in reversed(file.users)}
    if chosen.cluster not in clusters:
        raise ConfigError(f"{shown}: context {name} names the cluster {chosen.cluster or '(none)'}, which is not there")
    if chosen.user and chosen.user not in users:
        raise ConfigError(f"{shown}: context {name} names the user {chosen.user}, which is not there")
    (cluster_file, cluster), (user_file, user) = clusters[chosen.cluster], users.get(chosen.user, (files[0][0], User()))
    return Access(
        title=f"context {name}",
        cluster=cluster.model_copy(
            update={"certificate_authority": _beside(cluster_file, cluster.certificate_authority)}
        ),
        user=_placed(user, user_file),
        user_name=chosen.user,
        namespace=chosen.namespace or _NAMESPACE,
    )


def _placed(user: User, file: Path) -> User:
    paths = ("client_certificate", "client_key", "token_file")
    placed: dict[str, object] = {path: _beside(file, getattr(user, path)) for path in paths}
    if user.exec is not None and os.sep in user.exec.command:
        placed["exec"] = user.exec.model_copy(update={"command": _beside(file, user.exec.command)})
    return user.model_copy(update=placed)


def _beside(file: Path, path: str) -> str:
    """A path of a kubeconfig, made absolute; the empty one stays empty."""
    return str(file.parent / path) if path else ""


def _of_the_pod(environment: Mapping[str, str]) -> Access:
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT", "443")
    shown = f"[{host}]" if ":" in host else host
    namespace = ACCOUNT / "namespace"
    return Access(
        title="the cluster of this Pod",
        cluster=ClusterEntry.model_validate(
            {"server": f"https://{shown}:{port}", "certificate-authority": str(ACCOUNT / "ca.crt")}
        ),
        user=User.model_validate({"tokenFile": str(ACCOUNT / "token")}),
        user_name="the Pod's account",
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else _NAMESPACE,
    )
