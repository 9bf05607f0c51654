"""Kueue's manager outside a cluster, with the definitions and webhooks that its own module brings."""

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from app.kube.hook import JSON
from tests.e2e.api import Api
from tests.e2e.cluster import KUEUE, Certificate, ControlPlane
from tests.e2e.ownplane import answers
from tests.e2e.processes import DIES_WITH_PARENT, LOOPBACK, Processes, free_ports

NAMESPACE = "kueue-system"
WORKLOAD = "Workload.kueue.x-k8s.io/v1beta2"
# Where Kueue looks for the certificate of its metrics, also when it serves none; no setting changes that.
_FIXED = "kueue/metrics/certs"
# The webhooks of what runs here. Those of other frameworks would refuse what Kueue does not answer for.
_RESOURCES = {"pods", "workloads", "clusterqueues", "resourceflavors", "cohorts"}


class Lacking(Exception):
    """Kueue cannot be started here; the message says why."""


def crds(programs: Path, certificate: Certificate, port: int) -> list[JSON]:
    """Kueue's definitions as its kustomization puts them together, converted by the manager on `port`."""
    folder = programs / "config" / "components" / "crd"
    plan = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    found = {one["metadata"]["name"]: one for file in plan["resources"] for one in _documents(folder / file)}
    for patch in plan["patches"]:
        for one in _documents(folder / patch["path"]):
            conversion = one["spec"]["conversion"]
            _call_locally(conversion["webhook"]["clientConfig"], certificate, port)
            found[one["metadata"]["name"]]["spec"]["conversion"] = conversion
    return list(found.values())


def webhooks(programs: Path, certificate: Certificate, port: int) -> list[JSON]:
    """Kueue's webhook configurations, reduced to what it manages here and called on `port`."""
    found = _documents(programs / "config" / "components" / "webhook" / "manifests.yaml")
    others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", NAMESPACE]}
    for one in found:
        one["metadata"]["name"] = f"kueue-{one['metadata']['name']}"
        one["webhooks"] = [hook for hook in one["webhooks"] if set(hook["rules"][0]["resources"]) <= _RESOURCES]
        for hook in one["webhooks"]:
            _call_locally(hook["clientConfig"], certificate, port)
            if "pods" in hook["rules"][0]["resources"]:
                hook["namespaceSelector"] = {"matchExpressions": [others]}
    return found


def _documents(file: Path) -> list[JSON]:
    return [one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]


def _call_locally(client: JSON, certificate: Certificate, port: int) -> None:
    """A URL of this machine in place of a Service."""
    path = client.pop("service")["path"]
    client["url"] = f"https://{LOOPBACK}:{port}{path}"
    client["caBundle"] = base64.b64encode(certificate.file.read_bytes()).decode()


@contextmanager
def managed(programs: Path, plane: ControlPlane, api: Api, port: int, processes: Processes) -> Iterator[None]:
    """Starts the manager, whose webhooks listen on `port`, for definitions that are served. Raises Lacking."""
    assert plane.certificate is not None
    folder = processes.folder / "kueue"
    certificates = folder / "etc" / _FIXED
    certificates.mkdir(parents=True)
    shutil.copyfile(plane.certificate.file, certificates / "tls.crt")
    shutil.copyfile(plane.certificate.key, certificates / "tls.key")
    (health,) = free_ports(1)
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(_configuration(certificates, port, health)), encoding="utf-8")
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    command = [
        f"{programs}/kueue",
        f"--config={config}",
        f"--kubeconfig={plane.account(KUEUE).kubeconfig}",
        "--feature-gates=VisibilityOnDemand=false",  # it would want one more certificate
    ]
    with _certificate_folder(folder / "etc") as guard:
        processes.start("kueue", command, lambda: answers(f"http://{LOOPBACK}:{health}/readyz"), guard=guard)
        for one in webhooks(programs, plane.certificate, port):
            api.apply(one)
        yield


@contextmanager
def _certificate_folder(etc: Path) -> Iterator[list[str]]:
    """What is put before the command so that Kueue finds its certificate folder under /etc. Raises Lacking.

    In a mount namespace of its own, where the machine allows one, `etc` stands in for /etc; else root puts the folder
    into the real /etc, for as long as this lasts, and only where there is none.
    """
    mount = ["sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc)]
    for unshare in (["unshare", "--mount", "--map-root-user"], ["unshare", "--mount"]):
        if shutil.which("unshare") and _works([*unshare, *mount, "true"]):
            yield [*unshare, *mount, *(DIES_WITH_PARENT if shutil.which(DIES_WITH_PARENT[0]) else ())]
            return
    real = Path("/etc/kueue")
    if os.geteuid() != 0 or real.exists() or not os.access(real.parent, os.W_OK):
        raise Lacking(
            "Kueue reads certificates from a folder under /etc: that needs user namespaces (`unshare --mount "
            "--map-root-user`), or root on a machine without /etc/kueue"
        )
    shutil.copytree(etc / real.name, real)
    try:
        yield list(DIES_WITH_PARENT) if shutil.which(DIES_WITH_PARENT[0]) else []
    finally:
        shutil.rmtree(real)


def _works(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - written above


def _configuration(certificates: Path, port: int, health: int) -> JSON:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "leaderElection": {"leaderElect": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "webhook": {"host": LOOPBACK, "port": port, "certDir": str(certificates)},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": ["pod"]},
        # No case is about a model that loads for too long.
        "waitForPodsReady": {"timeout": "24h"},
    }
