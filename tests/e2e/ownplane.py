"""A control plane of our own: etcd, kube-apiserver and kube-controller-manager on free loopback ports."""

import secrets
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import yaml

from app.install.rbac import ACCOUNT
from app.kube.hook import JSON
from app.local.errors import ApiError
from tests.e2e import kubeconfig
from tests.e2e.api import Access, Api
from tests.e2e.audit import POLICY, AuditLog
from tests.e2e.cluster import (
    ADMIN,
    CONTROLLERS,
    KUEUE,
    METACONTROLLER,
    Account,
    Certificate,
    ControlPlane,
    install_crds,
)
from tests.e2e.processes import LOOPBACK, Processes, free_ports

# CustomResourceDefinitions, for a certificate that whoever converts their objects shows.
Definitions = Callable[[Certificate], list[JSON]]

_MASTERS = "system:masters"
_GROUPS: Mapping[str, tuple[str, ...]] = {
    ADMIN: (_MASTERS,),
    CONTROLLERS: (_MASTERS,),
    KUEUE: (_MASTERS,),
    METACONTROLLER: ("system:serviceaccounts", f"system:serviceaccounts:{ACCOUNT['namespace']}"),
}
# Controllers that ask for real nodes or for a cloud.
_NOT_RUN = (
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "node-ipam-controller",
    "node-route-controller",
    "cloud-node-lifecycle-controller",
    "service-lb-controller",
)


@contextmanager
def own_control_plane(programs: Path, processes: Processes, definitions: Definitions) -> Iterator[ControlPlane]:
    """Starts the three programs; `processes` ends them.

    The controllers come last, once `definitions` are served: the garbage collector learns of a kind that comes later
    only half a minute after it.
    """
    certificate = _certificate(programs, processes.folder)
    etcd_port, peer_port, port, controllers_port = free_ports(4)
    plane = ControlPlane(
        _accounts(processes.folder, f"https://{LOOPBACK}:{port}", certificate),
        AuditLog(processes.folder / "audit.log"),
        certificate,
    )
    api = Api(plane.account(ADMIN).access)
    try:
        _start_etcd(programs, processes, etcd_port, peer_port)
        _start_apiserver(programs, processes, certificate, etcd_port, port, api)
        install_crds(api, definitions(certificate))
        _start_controllers(programs, processes, plane, controllers_port)
        yield plane
    finally:
        api.close()


def _certificate(programs: Path, folder: Path) -> Certificate:
    """One for everything that serves here. Its key signs the account tokens of Pods, too."""
    command = [f"{programs}/certificate", "--ca", "--rsa-bits=2048", f"--host={LOOPBACK},localhost", "--duration=48h"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - a program that we built
    return Certificate(folder / "cert.pem", folder / "key.pem")


def _accounts(folder: Path, url: str, certificate: Certificate) -> dict[str, Account]:
    """An account for each name, with a token that the server reads from `tokens.csv`."""
    tls = ssl.create_default_context(cafile=certificate.file)
    tokens = {name: secrets.token_urlsafe(24) for name in _GROUPS}
    lines = [f'{tokens[name]},{name},{name},"{",".join(groups)}"\n' for name, groups in _GROUPS.items()]
    file = folder / "tokens.csv"
    file.touch(mode=0o600)
    file.write_text("".join(lines), encoding="utf-8")
    accounts = {}
    for number, (name, token) in enumerate(tokens.items()):
        path = folder / f"kubeconfig-{number}.yaml"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(kubeconfig.document(url, certificate.file, token)), encoding="utf-8")
        accounts[name] = Account(Access(url, tls, token), path)
    return accounts


def _start_etcd(programs: Path, processes: Processes, port: int, peer_port: int) -> None:
    url, peers = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peer_port}"
    data = processes.folder / "etcd"
    data.mkdir(mode=0o700)
    command = [
        f"{programs}/etcd",
        "--name=hangar-e2e",
        f"--data-dir={data}",
        "--unsafe-no-fsync",  # what a crash of the machine would lose is of no use to anybody
        "--log-level=warn",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=hangar-e2e={peers}",
    ]
    processes.start("etcd", command, lambda: answers(f"{url}/health"))


def _start_apiserver(
    programs: Path, processes: Processes, certificate: Certificate, etcd_port: int, port: int, api: Api
) -> None:
    policy = processes.folder / "audit-policy.yaml"
    policy.write_text(yaml.safe_dump(POLICY), encoding="utf-8")
    command = [
        f"{programs}/kube-apiserver",
        f"--etcd-servers=http://{LOOPBACK}:{etcd_port}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={port}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={certificate.file}",
        f"--tls-private-key-file={certificate.key}",
        f"--token-auth-file={processes.folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        # Metacontroller's permissions are tried on a cluster that enforces owner references.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={certificate.file}",
        f"--service-account-signing-key-file={certificate.key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={processes.folder / 'audit.log'}",
    ]
    processes.start("kube-apiserver", command, lambda: _is_ready(api))


def _is_ready(api: Api) -> bool:
    try:
        return api.text("/readyz") == "ok"
    except (ApiError, httpx.HTTPError):
        return False


def _start_controllers(programs: Path, processes: Processes, plane: ControlPlane, port: int) -> None:
    assert plane.certificate is not None
    command = [
        f"{programs}/kube-controller-manager",
        f"--kubeconfig={plane.account(CONTROLLERS).kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={plane.certificate.file}",
        f"--tls-private-key-file={plane.certificate.key}",
        f"--root-ca-file={plane.certificate.file}",
        f"--service-account-private-key-file={plane.certificate.key}",
        "--leader-elect=false",
        f"--controllers=*,{','.join(f'-{one}' for one in _NOT_RUN)}",
    ]
    tls = plane.account(ADMIN).access.tls
    processes.start("kube-controller-manager", command, lambda: answers(f"https://{LOOPBACK}:{port}/healthz", tls))


def answers(url: str, tls: ssl.SSLContext | None = None) -> bool:
    """Whether something answers there with a 200."""
    try:
        return httpx.get(url, verify=tls or True, trust_env=False, timeout=5).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
