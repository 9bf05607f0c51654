"""A Kubernetes API over HTTP on loopback: discovery, get, list in pages, and merge patches, of the objects of a shelf.

It speaks as a kube-apiserver does as far as a client can tell: Status objects, resource versions, 403 and 409.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from app.kube.hook import JSON
from app.kube.reader import Forbidden, NotFound, ObjectKind
from tests.support.shelf import CLUSTER_SCOPED, Shelf

_RESOURCES = {
    "v1": {"pods": "Pod", "services": "Service", "events": "Event", "namespaces": "Namespace"},
    "hangar.dev/v1alpha1": {"modeldeployments": "ModelDeployment", "instancetypes": "InstanceType"},
    "kueue.x-k8s.io/v1beta2": {
        "workloads": "Workload",
        "localqueues": "LocalQueue",
        "clusterqueues": "ClusterQueue",
        "workloadpriorityclasses": "WorkloadPriorityClass",
    },
}


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None


@dataclass
class KubeApi:
    """The server: what it holds, what it was asked, and how it misbehaves.

    `tokens` are the bearer tokens that it takes (any caller where there is none); before each patch it runs `meanwhile`
    once, as another client that is faster; `answers` are (status, body) given instead, in order; each answer
    comes after `delay` seconds.
    """

    shelf: Shelf
    url: str = ""
    tokens: set[str] = field(default_factory=set)
    page: int = 500
    calls: list[Call] = field(default_factory=list)
    meanwhile: list[Any] = field(default_factory=list)
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    delay: float = 0

    def answer(self, call: Call) -> tuple[int, bytes]:
        self.calls.append(call)
        sleep(self.delay)
        if self.answers:
            return self.answers.pop(0)
        if self.tokens and call.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return _status(401, "Unauthorized")
        try:
            return self._found(call)
        except NotFound as problem:
            return _status(404, str(problem))
        except Forbidden as problem:
            return _status(403, str(problem))

    def _found(self, call: Call) -> tuple[int, bytes]:
        steps = call.path.strip("/").split("/")
        version, rest = ("/".join(steps[1:3]), steps[3:]) if steps[0] == "apis" else (steps[1], steps[2:])
        served = {} if version in self.shelf.unserved else _RESOURCES.get(version, {})
        if not served:
            raise NotFound("the server could not find the requested resource")
        if not rest:
            return _json(200, {"kind": "APIResourceList", "resources": _discovered(served)})
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        kind = ObjectKind(version, served[rest[0]])
        if len(rest) == 1:
            return self._list(kind, namespace, call.query)
        if call.method == "PATCH":
            return self._patch(kind, rest[1], namespace, call.body)
        return _json(200, self.shelf.get(kind, rest[1], namespace))

    def _list(self, kind: ObjectKind, namespace: str, query: dict[str, str]) -> tuple[int, bytes]:
        chosen = {
            name: dict(part.split("=", 1) for part in query[name].split(",")) for name in query if "elector" in name
        }
        found = self.shelf.list(kind, namespace, labels=chosen.get("labelSelector"), fields=chosen.get("fieldSelector"))
        first, size = int(query.get("continue", 0)), min(self.page, int(query["limit"]))
        items = [{k: v for k, v in item.items() if k not in ("apiVersion", "kind")} for item in found]
        following = {"continue": str(first + size)} if first + size < len(items) else {}
        return _json(200, {"kind": f"{kind.kind}List", "metadata": following, "items": items[first : first + size]})

    def _patch(self, kind: ObjectKind, name: str, namespace: str, changes: JSON) -> tuple[int, bytes]:
        if self.meanwhile:
            self.meanwhile.pop(0)()
        stored = self.shelf.get(kind, name, namespace)
        expected = changes.get("metadata", {}).get("resourceVersion")
        if expected is not None and expected != stored["metadata"]["resourceVersion"]:
            return _status(409, f'Operation cannot be fulfilled on {kind.kind} "{name}": the object has been modified')
        _merge(stored, changes)
        stored["metadata"]["resourceVersion"] = str(int(stored["metadata"]["resourceVersion"]) + 1)
        return _json(200, stored)


def _merge(into: JSON, changes: JSON) -> None:
    for key, value in changes.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _discovered(served: dict[str, str]) -> list[JSON]:
    names = [(f"{plural}{part}", kind) for plural, kind in served.items() for part in ("/status", "")]
    return [{"name": name, "kind": kind, "namespaced": kind not in CLUSTER_SCOPED} for name, kind in names]


def _json(code: int, document: JSON) -> tuple[int, bytes]:
    return code, orjson.dumps(document)


def _status(code: int, message: str) -> tuple[int, bytes]:
    return _json(code, {"kind": "Status", "status": "Failure", "code": code, "message": message})


@contextmanager
def serving(shelf: Shelf, tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[KubeApi]:
    """The server on a free loopback port, ended with the block."""
    api = KubeApi(shelf, **options)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = urlsplit(self.path)
            call = Call(
                self.command,
                parts.path,
                dict(parse_qsl(parts.query)),
                dict(self.headers.items()),
                orjson.loads(body) if body else None,
            )
            code, content = api.answer(call)
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing: a test says itself what it asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    api.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(server: str, *, cluster: JSON | None = None, user: JSON | None = None, **context: str) -> JSON:
    """A kubeconfig of one context, `test`."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "ada", "user": user or {}}],
        "contexts": [{"name": "test", "context": {"cluster": "cluster", "user": "ada", **context}}],
        "current-context": "test",
    }
