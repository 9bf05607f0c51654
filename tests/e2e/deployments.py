"""ModelDeployments as the cases use them: small, and placed on the stand-in's node."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from app.kube.hook import JSON
from app.local.errors import Conflict
from tests.e2e.api import Api
from tests.e2e.kubelet import SELECTOR, TOLERATION
from tests.e2e.waiting import eventually

API_VERSION = "hangar.dev/v1alpha1"
KEY = f"ModelDeployment.{API_VERSION}"
# The label of the namespaces that cases make.
NAMESPACES = "e2e.hangar.dev/namespace"


@contextmanager
def a_namespace(api: Api) -> Iterator[str]:
    """A namespace with a name of its own, gone afterwards with what is in it."""
    name = f"hangar-e2e-{secrets.token_hex(3)}"
    metadata = {"name": name, "labels": {NAMESPACES: "true"}}
    namespace = api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    # The account that Pods run under comes a moment later; without it they would be refused.
    eventually(lambda: api.find("ServiceAccount.v1", f"{name}/default"), f"the default account of {name}")
    try:
        yield name
    finally:
        if api.kinds.serves(KEY):
            for one in api.all_of(KEY, name):
                api.delete(one)
            # Their finalizer is taken away by who drives; a namespace that is deleted around it would take longer.
            eventually(lambda: not api.all_of(KEY, name), f"the deployments of {name} are gone")
        api.delete(namespace)


def a_role(name: str, **fields: Any) -> JSON:
    """A role on one card."""
    return {
        "name": name,
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "nodeSelector": dict(SELECTOR),
        "tolerations": [dict(TOLERATION)],
        **fields,
    }


class Deployment:
    """One ModelDeployment in a namespace, and what is there because of it."""

    def __init__(self, api: Api, space: str, name: str, *roles: JSON) -> None:
        self._api = api
        self.space = space
        self.name = name
        self.manifest: JSON = {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": name, "namespace": space},
            "spec": {
                "model": {"name": "Qwen/Qwen3-0.6B"},
                "engine": {"name": "vLLM", "version": "0.12.0"},
                "roles": list(roles),
            },
        }

    def create(self) -> JSON:
        """Creates it."""
        return self._api.create(self.manifest)

    def edit(self, change: Callable[[JSON], object]) -> None:
        """Changes the spec of the stored object, whose status may be written meanwhile."""

        def edited() -> JSON | None:
            stored = self.get()
            change(stored["spec"])
            try:
                return self._api.replace(stored)
            except Conflict:
                return None

        eventually(edited, f"{self.name} is edited")

    def delete(self, propagation: str = "Background") -> None:
        """Asks for its deletion."""
        self._api.delete(self.manifest, propagation=propagation)

    def get(self) -> JSON:
        """The object as it is stored."""
        return self._api.get(KEY, f"{self.space}/{self.name}")

    def gone(self) -> bool:
        """Whether it, its Pods and its Services are no more."""
        left = [self._api.find(KEY, f"{self.space}/{self.name}"), *self.pods(), *self.services()]
        return not any(left)

    def condition(self, kind: str) -> JSON:
        """A condition of its status; empty where it has none of that type."""
        conditions = self.get().get("status", {}).get("conditions", [])
        return next((dict(one) for one in conditions if one["type"] == kind), {})

    def await_ready(self, seconds: float = 60) -> JSON:
        """Waits until the newest spec is Ready and nothing is on its way; the object as it is then."""

        def settled() -> JSON | None:
            found = self.get()
            status, generation = found.get("status", {}), found["metadata"]["generation"]
            conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
            newest = status.get("observedGeneration") == generation
            # These two are there only while they are True.
            still = {"Reconciling", "Stalled"} & conditions.keys()
            return found if newest and conditions.get("Ready") == "True" and not still else None

        return eventually(settled, f"{self.name} is Ready", seconds)

    def pods(self, role: str = "") -> list[JSON]:
        """Its Pods, or those of one role, sorted by name."""
        chosen = f"hangar.dev/deployment={self.name}" + (f",hangar.dev/role={role}" if role else "")
        return sorted(self._api.all_of("Pod.v1", self.space, chosen), key=lambda one: str(one["metadata"]["name"]))

    def uids(self, role: str = "") -> dict[str, str]:
        """The UIDs of its Pods by their names."""
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in self.pods(role)}

    def services(self) -> list[JSON]:
        """Its Services."""
        return self._api.all_of("Service.v1", self.space, f"hangar.dev/deployment={self.name}")
