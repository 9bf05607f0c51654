"""Who calls the hooks: the loop of `app.local` against the real API server, or a real Metacontroller."""

import base64
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

from app.controllers import CONTROLLERS
from app.install.controllers import API_VERSION, composite
from app.install.rbac import ACCOUNT, permissions
from app.install.service import NAMESPACE, TOKEN
from app.kube.hook import JSON
from app.local.errors import UnknownKind
from app.local.metacontroller import Metacontroller
from tests.e2e.additions import Additions
from tests.e2e.api import Api
from tests.e2e.cluster import METACONTROLLER, Account, ControlPlane
from tests.e2e.hook import HookService
from tests.e2e.ownplane import answers
from tests.e2e.processes import LOOPBACK, Processes, free_ports
from tests.e2e.remotestore import RemoteStore
from tests.e2e.wallclock import WallClock

BINARY = "METACONTROLLER_BIN"
CRDS = "METACONTROLLER_CRDS"
COMPOSITE = f"CompositeController.{API_VERSION}"


class Lacking(Exception):
    """What a driver needs is not here; the message says what, and how to give it."""


@dataclass(frozen=True)
class Driver:
    """Who calls the hooks, for a test's report and for its questions. `hook` is None where it is not our process."""

    title: str
    api: Api
    hook: HookService | None = None

    @contextmanager
    def resyncing(self, controller: str, seconds: int) -> Iterator[HookService]:
        """All parents of a controller are synced every so many seconds, for the time of the block.

        Raises Lacking where an installed Hangar answers: its controller objects are not ours to change.
        """
        if self.hook is None:
            raise Lacking(f"{self.title} answers here, and its calls cannot be counted")
        before = self.api.get(COMPOSITE, controller)
        self._resync(controller, seconds)
        try:
            yield self.hook
        finally:
            self._resync(controller, before["spec"]["resyncPeriodSeconds"])

    def _resync(self, controller: str, seconds: int) -> None:
        identity = {"apiVersion": API_VERSION, "kind": "CompositeController", "metadata": {"name": controller}}
        self.api.patch(identity, {"spec": {"resyncPeriodSeconds": seconds}})


def installed(api: Api) -> Driver | None:
    """The Hangar that is installed on a person's cluster, or None."""
    try:
        there = [api.find(COMPOSITE, controller.name) for controller in CONTROLLERS]
    except UnknownKind:
        return None
    return Driver("the installed Hangar", api) if all(there) else None


def metacontroller_crds(environment: Mapping[str, str]) -> list[JSON]:
    """The definitions of Metacontroller's kinds: its own where its binary is named, else a loose one for our loop.

    Raises Lacking.
    """
    if not environment.get(BINARY):
        return [_LOOSE_CRD]
    binary = Path(environment[BINARY])
    if not os.access(binary, os.X_OK):
        raise Lacking(f"{BINARY} {binary} is not a program")
    given = environment.get(CRDS)
    places = [Path(given)] if given else [binary.parent / "crds", binary.parent.parent / "crds"]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.glob("*.yaml")))]
    documents = [one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]
    found = [one for one in documents if one.get("kind") == "CustomResourceDefinition"]
    if not found:
        where = " and ".join(map(str, places))
        raise Lacking(f"no CRDs of Metacontroller in {where}: set {CRDS} to its file or folder of them")
    return found


@contextmanager
def driven(
    plane: ControlPlane, api: Api, hook: HookService, additions: Additions, processes: Processes
) -> Iterator[Driver]:
    """Installs what Hangar installs, for this hook service, and lets a driver call it."""
    binary = os.environ.get(BINARY)
    account = plane.account(METACONTROLLER)
    _install(additions, hook)
    if binary:
        _start_metacontroller(Path(binary), account, processes)
        yield Driver(f"Metacontroller {binary}", api, hook)
    else:
        with _local_loop(account):
            yield Driver("the loop of app.local", api, hook)


def _install(additions: Additions, hook: HookService) -> None:
    """Permissions, the token's Secret, and a controller object for each controller."""
    for space in (NAMESPACE, ACCOUNT["namespace"]):
        additions.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    for one in permissions(CONTROLLERS):
        additions.add(one)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": TOKEN.name, "namespace": TOKEN.namespace}}
    additions.add({**secret, "data": {TOKEN.key: base64.b64encode(hook.token.encode()).decode()}})
    for controller in CONTROLLERS:
        additions.add(composite(controller, hook.hooks, TOKEN))


@contextmanager
def _local_loop(account: Account) -> Iterator[None]:
    clock = WallClock()
    api = Api(account.access, agent="metacontroller")
    store = RemoteStore(api, clock)
    with httpx.Client(trust_env=False) as client:
        Metacontroller(store, clock, client)
        composites = api.kinds.of_key(COMPOSITE)

        def begin() -> None:
            store.follow(composites)

        clock.after(0, begin)
        clock.start()
        try:
            yield
        finally:
            clock.stop()
            store.close()
            api.close()
    assert not clock.failures, f"the loop failed {len(clock.failures)} times: {clock.failures[0]!r}"


def _start_metacontroller(binary: Path, account: Account, processes: Processes) -> None:
    metrics, health = free_ports(2)
    command = [
        str(binary),
        "--client-go-qps=100",
        "--client-go-burst=200",
        "--discovery-interval=10s",
        f"--metrics-address={LOOPBACK}:{metrics}",
        f"--health-probe-bind-address={LOOPBACK}:{health}",
    ]
    environment = {**os.environ, "KUBECONFIG": str(account.kubeconfig)}
    processes.start(
        "metacontroller", command, lambda: answers(f"http://{LOOPBACK}:{health}/readyz"), environment=environment
    )


_ANYTHING: JSON = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# Enough for our loop to read controller objects from the API server, as it reads everything else.
_LOOSE_CRD: JSON = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "compositecontrollers.metacontroller.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"},
    },
    "spec": {
        "group": "metacontroller.k8s.io",
        "scope": "Cluster",
        "names": {
            "kind": "CompositeController",
            "listKind": "CompositeControllerList",
            "plural": "compositecontrollers",
            "singular": "compositecontroller",
        },
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"spec": _ANYTHING, "status": _ANYTHING}}
                },
                "subresources": {"status": {}},
            }
        ],
    },
}
