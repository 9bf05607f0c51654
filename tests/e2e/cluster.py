"""The control plane that the cases run against, whoever runs it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.install.rbac import ACCOUNT
from app.kube.hook import JSON
from app.local.values import mapping
from tests.e2e.api import Access, Api
from tests.e2e.audit import AuditLog
from tests.e2e.waiting import eventually

ADMIN = "hangar-e2e-admin"
# The account that the generated permissions are for. It has those and no others.
METACONTROLLER = f"system:serviceaccount:{ACCOUNT['namespace']}:{ACCOUNT['name']}"
KUEUE = "kueue"
CONTROLLERS = "kube-controller-manager"

CRD = "CustomResourceDefinition.apiextensions.k8s.io/v1"


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for the loopback address, its own authority, and its key: PEM files."""

    file: Path
    key: Path


@dataclass(frozen=True)
class Account:
    """How one account reaches the API server: as a client of ours, and as a kubeconfig file for other programs."""

    access: Access
    kubeconfig: Path


@dataclass(frozen=True)
class ControlPlane:
    """An API server with its controllers. `audit` and `certificate` are there where we run it ourselves.

    On a person's cluster there is one account, that person's.
    """

    accounts: Mapping[str, Account]
    audit: AuditLog | None = None
    certificate: Certificate | None = None

    @property
    def own(self) -> bool:
        """Whether we run it: then it has no scheduler and no kubelets."""
        return self.audit is not None

    def account(self, name: str) -> Account:
        """The account of that name, or the person's."""
        return self.accounts[name if self.own else ADMIN]


def install_crds(api: Api, crds: Iterable[JSON]) -> None:
    """Applies definitions, and waits until their kinds are served."""
    for name in [api.apply(one)["metadata"]["name"] for one in crds]:
        eventually(lambda name=name: _established(api.get(CRD, name)), f"the kinds of {name} are served")  # type: ignore[misc]


def _established(crd: JSON) -> bool:
    conditions = mapping(crd.get("status")).get("conditions") or []  # null at first
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
