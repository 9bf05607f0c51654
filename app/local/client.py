"""The API as one process sees it: the store under the process's own name, and kinds as of its last discovery."""

from dataclasses import dataclass

from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.deletion import Propagation
from app.local.resources import Kinds, Resource
from app.local.store import Store
from app.local.values import name, namespace, uid


@dataclass(frozen=True, slots=True)
class Client:
    """Reads are the store's own; writes are recorded under `manager`, and return what is not to be changed.

    Refusals are `app.local.errors.ApiError`.
    """

    store: Store
    kinds: Kinds
    manager: str

    @classmethod
    def of(cls, store: Store, clock: Clock, manager: str) -> "Client":
        """A client that begins to ask for kinds when it first needs one."""
        return cls(store, store.discovery.as_known(clock), manager)

    def create(self, obj: JSON) -> JSON:
        """As Store.put_new."""
        return self.store.put_new(obj, self.manager)

    def update(self, obj: JSON) -> JSON:
        """As Store.put."""
        return self.store.put(obj, self.manager)

    def update_status(self, obj: JSON) -> JSON:
        """As Store.put_status."""
        return self.store.put_status(obj, self.manager)

    def delete(self, resource: Resource, obj: JSON, propagation: Propagation | None = None) -> None:
        """Asks for the deletion of that very object. Raises NotFound, and Conflict where another has its name."""
        self.store.delete(resource, namespace(obj), name(obj), uid_is=uid(obj), propagation=propagation)
