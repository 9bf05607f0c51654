"""One Pod on its node: admission by the kubelet, its containers, and what is reported of it."""

from collections.abc import Callable, Iterable

from app.kube.hook import JSON
from app.local.containers import KILLED, Container, Node
from app.local.errors import NotFound
from app.local.podstatus import ENDED, Words, failed, on_node, with_condition
from app.local.store import Store
from app.local.values import listed, mapping, name, namespace, uid


class PodRun:
    """A Pod that its node has seen. It acts until it ends, or its node goes down."""

    def __init__(self, store: Store, node: Node, pod: JSON, host: str, address: Callable[[], str]) -> None:
        """`host` is the node's address, `address` gives one to each sandbox."""
        self.pod = pod
        self.node = node
        self.containers = [Container(self, spec) for spec in listed(mapping(pod.get("spec")).get("containers"))]
        self._store = store
        self._pods = store.discovery.of(pod)
        self._address = address
        self._addresses = {"hostIP": host}
        self._end: Words | None = None
        # Counts boots and ends: what was planned before is void.
        self._life = 0

    def later(self, seconds: float, action: Callable[[], None], holds: Callable[[], bool]) -> None:
        """Runs `action` and reports the Pod, where `holds` says so then and the Pod is still on its node."""
        made = self._life

        def act() -> None:
            if self._life == made and holds():
                action()
                self.report()

        self.node.clock.after(seconds, act)

    @property
    def running(self) -> bool:
        """Whether any of its processes runs."""
        return any(one.status.running for one in self.containers)

    def container(self, title: str) -> Container:
        """The container of that name, or the first one. Raises NotFound where there is none of that name."""
        found = [one for one in self.containers if title in {"", one.status.name}]
        if not found:
            known = ", ".join(one.status.name for one in self.containers)
            raise NotFound(f'pods "{name(self.pod)}" has no container {title}: there are {known}')
        return found[0]

    def take(self) -> None:
        """The node has seen the Pod: it refuses it, or gets images and starts containers. Called through `later`."""
        refusal = self.node.faults.refusal(self.pod)
        if refusal is not None:
            self._finish(Words(refusal.reason, f"Pod was rejected: {refusal.message}"), ())
            return
        self._addresses["podIP"] = self._address()
        for one in self.containers:
            one.pull()

    def freeze(self) -> None:
        """The machine is down: nothing happens and nothing is reported any more."""
        self._life += 1

    def boot(self) -> None:
        """The machine is up again: what ran has ended, what had not started begins anew."""
        self._addresses["podIP"] = self._address()
        for one in self.containers:
            one.boot()
        self.report()

    def evict(self, words: Words, disruption: str) -> None:
        """The kubelet ends the Pod for good, and says why in its status."""
        for one in self.containers:
            one.lose(KILLED)
        self._finish(words, (disruption,))

    def leave(self) -> None:
        """The Pod object is gone."""
        self._life += 1

    def _finish(self, words: Words, disruption: Iterable[str]) -> None:
        self._end = words
        self.report(disruption)
        self._life += 1

    def report(self, disruption: Iterable[str] = ()) -> None:
        """Writes the Pod's status; `disruption` is the reason of a DisruptionTarget condition, if there is one."""
        pod = self._store.find(self._pods, namespace(self.pod), name(self.pod))
        if pod is None or uid(pod) != uid(self.pod) or mapping(pod.get("status")).get("phase") in ENDED:
            return
        status, now = mapping(pod.get("status")), self.node.clock.now()
        states = [one.status for one in self.containers]
        if self._end is None:
            policy = str(mapping(self.pod.get("spec")).get("restartPolicy", "Always"))
            status = on_node(status, now, states, self._addresses, policy)
        else:
            status = failed(status, now, self._end, states if self._addresses.get("podIP") else [])
            for reason in disruption:
                status = with_condition(status, now, "DisruptionTarget", True, reason, self._end.message)
        self._store.update_status({**pod, "status": status})
