"""Recorded requests, their context, and what the real service answers to them over HTTP."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import httpx
import orjson

from app.cli.problems import CommandError
from app.controllers import CONTROLLERS
from app.kube import times
from app.kube.hook import HookController
from app.server.application import create_app
from app.settings import ControllerSettings, ServerSettings

# What a setting is in a context.json, where that differs from its type in the code.
_JSON_TYPES: dict[str, type] = {"images": dict, "reserved_namespaces": list}
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Context:
    """What a sync depends on beside its request."""

    now: datetime
    settings: ControllerSettings

    @classmethod
    def read(cls, document: Any) -> "Context":
        """From a context.json: `{"now": "<RFC 3339>", "settings": {"cluster_id": "…"}}`; settings may be absent."""
        if not isinstance(document, dict) or document.keys() - {"now", "settings"}:
            raise CommandError('the context is not {"now": "…", "settings": {…}}')
        now = times.parse(document.get("now"))
        if now is None:
            raise CommandError("the context's now is no time such as 2026-11-29T12:00:00Z")
        return cls(now, _settings(document.get("settings", {})))

    @classmethod
    def of(cls, request: Any) -> "Context":
        """Default settings, and the newest time that the request mentions."""
        found = [moment for moment in map(times.parse, _timestamps(request)) if moment]
        if not found:
            raise CommandError("the request mentions no time: give one with --context")
        return cls(max(found), ControllerSettings())


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: its HTTP status, its JSON (`{"refused": "<text>"}` where there is none), its bytes, its headers."""

    status: int
    document: Any
    body: bytes
    headers: Mapping[str, str]

    @classmethod
    def of(cls, response: httpx.Response) -> "Answer":
        """From a hook's response; only a 200 holds an answer."""
        try:
            document = orjson.loads(response.content) if response.status_code == 200 else None
        except orjson.JSONDecodeError:
            document = None
        if document is None:
            document = {"refused": response.text}
        return cls(response.status_code, document, response.content, response.headers)


def replayed(request: Any, context: Context, controllers: Sequence[HookController] = CONTROLLERS) -> Answer:
    """What the service answers to a recorded request, over HTTP in this process."""
    path = f"/{_controller(request, controllers).name}/{hook_of(request)}"
    app = create_app(controllers, context.settings, ServerSettings(), clock=lambda: context.now)

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://hangar") as client:
            return await client.post(path, content=orjson.dumps(request))

    return Answer.of(asyncio.run(post()))


def hook_of(request: Any) -> str:
    """Which hook a recorded request was sent to: customize knows no children, finalize says that it is."""
    if not isinstance(request, dict) or not request.keys() & {"children", "attachments"}:
        return "customize"
    return "finalize" if request.get("finalizing") is True else "sync"


def pretty(document: Any) -> str:
    """JSON as fixtures hold it: indented, keys sorted, a line end at the end."""
    return orjson.dumps(
        document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    ).decode()


def _settings(given: Any) -> ControllerSettings:
    """Settings by the names of `ControllerSettings`' fields."""
    defaults = ControllerSettings()
    known = [field.name for field in fields(ControllerSettings)]
    if not isinstance(given, dict):
        raise CommandError("the context's settings are no object")
    for name, value in given.items():
        if name not in known:
            raise CommandError(f"the context's settings name {name}; there are {', '.join(known)}")
        wanted = _JSON_TYPES.get(name) or type(getattr(defaults, name))
        if not isinstance(value, wanted):
            raise CommandError(f"the context's setting {name} is not of type {wanted.__name__}")
    return replace(defaults, **_from_json(given))


def _from_json(given: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def _controller(request: Any, controllers: Sequence[HookController]) -> HookController:
    """The controller for the request's parent. Raises `CommandError` where there is none."""
    parent = request.get("parent") if isinstance(request, dict) else None
    if not isinstance(parent, dict):
        raise CommandError("the request has no parent, so it is none of a composite's; --url posts to another hook")
    for controller in controllers:
        if (parent.get("apiVersion"), parent.get("kind")) == (controller.api_version, controller.kind):
            return controller
    known = " or ".join(f"{controller.api_version} {controller.kind}" for controller in controllers)
    raise CommandError(
        f"the parent is a {parent.get('apiVersion')} {parent.get('kind')}, and Hangar answers for {known}; "
        "--url posts to another hook"
    )


def _timestamps(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _TIMESTAMP.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _timestamps(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _timestamps(inner)
