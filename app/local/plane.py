"""The control plane as one thing: a store with its controllers, and a loop that runs them until something is so."""

from collections.abc import Callable, Iterable

import httpx

from app.kube.hook import JSON
from app.local.builtin import BUILTIN
from app.local.clock import Clock
from app.local.collector import Collector
from app.local.crds import from_crd
from app.local.deletion import Propagation
from app.local.durations import Durations
from app.local.faults import Faults
from app.local.kubelet import Kubelet
from app.local.metacontroller import Metacontroller
from app.local.namespaces import Namespaces
from app.local.network import Network
from app.local.nodes import Nodes
from app.local.podgc import PodCollector
from app.local.quota.kueue import Kueue
from app.local.quota.options import KueueOptions
from app.local.resources import Discovery, Resource
from app.local.scheduler import Scheduler
from app.local.store import Store
from app.local.taints import TaintEviction
from app.local.values import mapping, name, namespace

# How often it is looked whether the last object of a kind that goes is gone.
_RETIRE_SECONDS = 0.5
# Told how many simulated seconds the next jump takes, before it is made.
Pace = Callable[[float], None]


class Plane:
    """A cluster in this process. Use it as a context manager: it holds HTTP connections to the hooks.

    `crds` are served from the start. Controllers are CompositeController and DecoratorController
    objects, applied like any other. `nodes` are
    Node objects, or the names of nodes that take any Pod. `faults`, `kubelet`, `nodes` and `network` are what can be
    made to go wrong. `kueue` is how Kueue is configured, where it is installed.
    """

    def __init__(
        self,
        crds: Iterable[JSON] = (),
        clock: Clock | None = None,
        durations: Durations | None = None,
        nodes: Iterable[str | JSON] = ("node-a", "node-b", "node-c"),
        kueue: KueueOptions | None = None,
    ) -> None:
        durations = durations or Durations()
        self.clock = clock or Clock()
        self.discovery = Discovery(BUILTIN)
        for crd in crds:
            self.serve(crd)
        self.store = Store(self.clock, self.discovery)
        if kueue is not None:
            Kueue(self.store, self.clock, kueue)
        self.network = Network(self.clock)
        self._client = httpx.Client(transport=self.network, trust_env=False)
        Collector(self.store, self.clock)
        Namespaces(self.store, self.clock)
        Scheduler(self.store, self.clock, durations.bind)
        TaintEviction(self.store, self.clock)
        self.faults = Faults(self.clock)
        self.kubelet = Kubelet(self.store, self.clock, durations, self.faults)
        self.nodes = Nodes(self.store, self.clock, self.kubelet)
        PodCollector(self.store, self.clock)
        self.metacontroller = Metacontroller(self.store, self.clock, self._client)
        for space in ("default", "kube-system"):
            self._make_namespace(space)
        for node in nodes:
            stated: JSON = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
            self.nodes.add(stated if isinstance(node, str) else node)

    def __enter__(self) -> "Plane":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def serve(self, crd: JSON) -> None:
        """Serves the kind of a CustomResourceDefinition from now on."""
        for resource in from_crd(crd):
            self.discovery.add(resource)

    def withdraw(self, crd: JSON) -> None:
        """Deletes a CustomResourceDefinition: its objects go, and once the last is gone its kind is served no more."""
        for resource in from_crd(crd):
            for obj in self.store.all_of(resource):
                self.store.delete(resource, namespace(obj), name(obj))
            self._retire(resource)

    def _retire(self, resource: Resource) -> None:
        if self.store.versions(resource):
            self.clock.after(_RETIRE_SECONDS, lambda: self._retire(resource))
        else:
            self.discovery.remove(resource)

    def apply(self, manifest: JSON) -> JSON:
        """Creates the object, or replaces its spec, labels and annotations; a namespace that is missing is made.

        Returns it as stored. Raises `app.local.errors.ApiError`.
        """
        resource = self.discovery.of(manifest)
        if resource.namespaced and not namespace(manifest):
            manifest = {**manifest, "metadata": {**mapping(manifest.get("metadata")), "namespace": "default"}}
        if resource.namespaced:
            self._make_namespace(namespace(manifest))
        stored = self.store.find(resource, namespace(manifest), name(manifest))
        if stored is None:
            return self.store.create(manifest)
        edited = {key: stored["metadata"].get(key) for key in ("ownerReferences", "finalizers")}
        own = {key: value for key, value in edited.items() if value is not None} | manifest["metadata"]
        own["resourceVersion"] = stored["metadata"]["resourceVersion"]
        return self.store.update({**manifest, "metadata": own})

    def _make_namespace(self, space: str) -> None:
        resource = self.discovery.kind("v1", "Namespace")
        if self.store.find(resource, "", space) is None:
            self.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})

    def get(self, kind_key: str, qualified: str) -> JSON | None:
        """The object by kind key and `namespace/name`, for example `("Pod.v1", "team-a/x")`, or None."""
        space, _, title = qualified.rpartition("/")
        return self.store.find(self._resource(kind_key), space, title)

    def all_of(self, kind_key: str, space: str | None = None) -> list[JSON]:
        """All objects of a kind, of one namespace where it is given."""
        return self.store.all_of(self._resource(kind_key), space)

    def delete(self, kind_key: str, qualified: str, propagation: Propagation = "Background") -> None:
        """Asks for deletion. Raises NotFound."""
        space, _, title = qualified.rpartition("/")
        self.store.delete(self._resource(kind_key), space, title, propagation=propagation)

    def _resource(self, kind_key: str) -> Resource:
        kind, _, api_version = kind_key.partition(".")
        return self.discovery.kind(api_version, kind)

    def run_until(self, predicate: Callable[[], bool], limit_seconds: float, pace: Pace | None = None) -> bool:
        """Lets things happen until `predicate` holds; False after `limit_seconds` of simulated time.

        The predicate is asked after every single thing that happens. Nothing sleeps unless `pace` does.
        """
        end = self.clock.elapsed + limit_seconds
        while not predicate():
            due = self.clock.next_due()
            jump = (end if due is None else min(due, end)) - self.clock.elapsed
            if pace is not None and jump > 0:
                pace(jump)
            if due is None or due > end:
                self.clock.jump(end)
                return predicate()
            self.clock.step()
        return True

    def run_for(self, seconds: float) -> None:
        """Lets `seconds` of simulated time pass."""
        self.run_until(lambda: False, seconds)
