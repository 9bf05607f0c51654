"""A hook whose answers a test writes down, served over real HTTP, and a control plane that calls it."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local.clock import Clock
from app.local.durations import Durations
from app.local.plane import Plane
from app.server.background import running

API = "test.example/v1"
THING = f"Thing.{API}"
PART = f"Part.{API}"


@dataclass(frozen=True)
class Reply:
    """What the hook answers. A body that is bytes goes out as it is."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """One call that the hook got, at a simulated second."""

    hook: str
    at: float
    request: JSON
    headers: dict[str, str]


Script = Callable[[JSON], Reply]


class ScriptedHook:
    """Answers `sync`, `finalize` and `customize` by what was put into `script`; the rest is an empty answer."""

    def __init__(self) -> None:
        self.base_url = ""
        self.clock = Clock()
        self.calls: list[Call] = []
        self.script: dict[str, Script] = {}

    def reset(self, clock: Clock) -> None:
        self.clock, self.calls, self.script = clock, [], {}

    def answers(self, hook: str, reply: Reply | JSON | Script) -> None:
        """From now on `hook` answers with a reply, a body, or what a function of the request returns."""
        if callable(reply):
            self.script[hook] = reply
        else:
            fixed = reply if isinstance(reply, Reply) else Reply(reply)
            self.script[hook] = lambda _: fixed

    def times(self, hook: str = "sync") -> list[float]:
        """The simulated seconds at which `hook` was called."""
        return [round(call.at, 3) for call in self.calls if call.hook == hook]

    def last(self, hook: str = "sync") -> JSON:
        """The newest request to `hook`."""
        return [call.request for call in self.calls if call.hook == hook][-1]

    async def endpoint(self, request: Request) -> Response:
        hook = request.path_params["hook"]
        body = json.loads(await request.body())
        self.calls.append(Call(hook, self.clock.elapsed, body, dict(request.headers)))
        script = self.script.get(hook)
        reply = Reply() if script is None else script(body)
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        return Response(content, reply.status, reply.headers)


@contextmanager
def serving() -> Iterator[ScriptedHook]:
    """A scripted hook on a free loopback port."""
    hook = ScriptedHook()
    app = Starlette(routes=[Route("/{hook}", hook.endpoint, methods=["POST"])])
    with running(app) as base_url:
        hook.base_url = base_url
        yield hook


def crd(kind: str, schema: JSON | None = None, *, scope: str = "Namespaced") -> JSON:
    """The definition of a throw-away kind whose spec and status take anything, unless a schema says more."""
    anything: JSON = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = schema or {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    return {"spec": {"group": "test.example", "scope": scope, "names": names, "versions": [version]}}


# A Part must say its size: what is partial is refused on create, as a Deployment without a selector is.
PART_SCHEMA: JSON = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer"},
                "colour": {"type": "string"},
                "finish": {"type": "string", "default": "matt"},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
    "required": ["spec"],
}


def service(title: str, **spec: Any) -> JSON:
    """A Service on port 80."""
    return an_object("v1", "Service", title, spec={"ports": [{"port": 80}], **spec})


def deployment(title: str = "d", image: str = "engine:1", **spec: Any) -> JSON:
    """A Deployment of one container `m` that is labelled `app: d`."""
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "m", "image": image}]}}
    whole = {"selector": {"matchLabels": {"app": "d"}}, "template": template, **spec}
    return an_object("apps/v1", "Deployment", title, spec=whole)


DEPLOYMENT = "Deployment.apps/v1"
CHILDREN = {"pods": ("v1", "OnDelete"), "configmaps": ("v1", "InPlace"), "parts": (API, "InPlace")}


class World:
    """A control plane with the kinds Thing (the parent) and Part, and controllers that call the hook."""

    def __init__(self, plane: Plane, hook: ScriptedHook) -> None:
        self.plane = plane
        self.hook = hook

    def controller(
        self,
        hooks: tuple[str, ...] = ("sync",),
        *,
        etag: JSON | None = None,
        children: dict[str, tuple[str, str]] | None = None,
        parent: JSON | None = None,
        **spec: Any,
    ) -> JSON:
        """Applies a CompositeController for Things and returns it."""
        webhooks = {hook: {"url": f"{self.hook.base_url}/{hook}", "timeout": "10s"} for hook in hooks}
        if etag is not None:
            webhooks["sync"] = {**webhooks["sync"], "etag": etag}  # type: ignore[dict-item]
        rules = [
            {"apiVersion": version, "resource": resource, "updateStrategy": {"method": method}}
            for resource, (version, method) in (CHILDREN if children is None else children).items()
        ]
        return self.plane.apply(
            {
                "apiVersion": "metacontroller.k8s.io/v1alpha1",
                "kind": "CompositeController",
                "metadata": {"name": "things"},
                "spec": {
                    "parentResource": {
                        "apiVersion": API,
                        "resource": "things",
                        "ignoreStatusChanges": True,
                        **(parent or {}),
                    },
                    "childResources": rules,
                    "generateSelector": True,
                    "hooks": {hook: {"version": "v2", "webhook": webhook} for hook, webhook in webhooks.items()},
                    **spec,
                },
            }
        )

    def decorator(
        self,
        hooks: tuple[str, ...] = ("sync",),
        *,
        resources: Iterable[JSON] = ({"apiVersion": "apps/v1", "resource": "deployments"},),
        attachments: dict[str, tuple[str, str]] | None = None,
        **spec: Any,
    ) -> JSON:
        """Applies a DecoratorController `dec`, of Deployments unless told otherwise, with Parts as attachments."""
        webhooks = {hook: {"webhook": {"url": f"{self.hook.base_url}/{hook}"}, "version": "v2"} for hook in hooks}
        rules = {"parts": (API, "OnDelete")} if attachments is None else attachments
        return self.plane.apply(
            {
                "apiVersion": "metacontroller.k8s.io/v1alpha1",
                "kind": "DecoratorController",
                "metadata": {"name": "dec"},
                "spec": {
                    "resources": list(resources),
                    "attachments": [
                        {"apiVersion": version, "resource": resource, "updateStrategy": {"method": method}}
                        for resource, (version, method) in rules.items()
                    ],
                    "hooks": webhooks,
                    **spec,
                },
            }
        )

    def stored(self, kind_key: str, title: str) -> JSON:
        """An object of namespace `t` as it is stored."""
        found = self.plane.get(kind_key, f"t/{title}")
        assert found is not None, f"no {kind_key} t/{title}"
        return found

    def edit(self, kind_key: str, title: str, **content: Any) -> JSON:
        """Merges some content into an object of namespace `t`, as `kubectl patch` does; None takes a key away."""
        return self.plane.store.update(_patched(self.stored(kind_key, title), content))

    def poke(self, kind_key: str = THING, title: str = "a", seconds: float = 1) -> None:
        """Calls the hook again through a label of the object, and lets the result settle."""
        self.edit(kind_key, title, metadata={"labels": {"poke": f"at-{self.plane.clock.elapsed}"}})
        self.plane.run_for(seconds)

    def thing(self, title: str = "a", spec: JSON | None = None) -> JSON:
        """Applies a Thing in namespace `t`."""
        return self.plane.apply(an_object(API, "Thing", title, spec=spec or {}))

    def stored_thing(self, title: str = "a") -> JSON:
        """The Thing as it is stored."""
        found = self.plane.get(THING, f"t/{title}")
        assert found is not None
        return found

    def names(self, kind_key: str) -> list[str]:
        """Names of the objects of a kind in namespace `t` that nobody has asked to delete."""
        found = self.plane.all_of(kind_key, "t")
        return [one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]]

    def events(self) -> list[str]:
        """Messages of all events, in the order in which they were first seen."""
        events = sorted(self.plane.all_of("Event.v1"), key=lambda one: int(one["metadata"]["resourceVersion"]))
        return [str(one["message"]) for one in events]

    def event_count(self) -> int:
        """How many events were recorded, equal ones counted each."""
        return sum(int(one["count"]) for one in self.plane.all_of("Event.v1"))


@contextmanager
def a_world(hook: ScriptedHook, durations: Durations | None = None) -> Iterator[World]:
    """A fresh world around a hook that is already served."""
    with Plane([crd("Thing"), crd("Part", PART_SCHEMA)], durations=durations) as plane:
        hook.reset(plane.clock)
        written: dict[str, bytes] = {}
        plane.store.watch(lambda change: written.update({_version(change.new): dumps(change.new)}))
        yield World(plane, hook)
        for obj in (one for resource in plane.discovery.all() for one in plane.store.look_all(resource)):
            assert written.get(_version(obj), dumps(obj)) == dumps(obj), "a stored object was changed in place"


def _version(obj: JSON) -> str:
    return str(obj["metadata"]["resourceVersion"])


def _patched(obj: Any, patch: JSON) -> JSON:
    merged = dict(obj) if isinstance(obj, dict) else {}
    for key, value in patch.items():
        merged[key] = _patched(merged.get(key), value) if isinstance(value, dict) else value
    return {key: value for key, value in merged.items() if value is not None}


def an_object(api_version: str, kind: str, title: str, **content: Any) -> JSON:
    """A manifest in namespace `t`; `labels` go where they belong."""
    metadata: JSON = {"name": title, "namespace": "t"}
    if "labels" in content:
        metadata["labels"] = content.pop("labels")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def config(title: str, labels: JSON | None = None, **data: str) -> JSON:
    """A ConfigMap."""
    return an_object("v1", "ConfigMap", title, data=data, **({"labels": labels} if labels else {}))


def part(title: str, **spec: Any) -> JSON:
    """A Part; without `size` it is refused."""
    return an_object(API, "Part", title, spec=spec)


def pod(title: str, image: str = "engine:1", **container: Any) -> JSON:
    """A Pod of one container, `main`."""
    return an_object("v1", "Pod", title, spec={"containers": [{"name": "main", "image": image, **container}]})


def stub(obj: JSON) -> JSON:
    """Only the identity of an object."""
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {"name": obj["metadata"]["name"]}}


def desired(*children: JSON, **answer: Any) -> JSON:
    """A sync answer with these children."""
    return {"status": {}, "children": list(children), **answer}
