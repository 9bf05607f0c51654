"""The real application in the test's own process, called over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
from starlette.types import ASGIApp

from app.kube.hook import HookController
from app.server.application import create_app
from app.settings import ControllerSettings, ServerSettings
from tests.support.keeper import KEEPER

NOW = datetime(2026, 11, 29, 13, 0, tzinfo=UTC)


def an_app(*controllers: HookController, server: ServerSettings | None = None) -> ASGIApp:
    """The hook application, by default for the keeper and open to any caller, at a fixed time."""
    return create_app(controllers or (KEEPER,), ControllerSettings(), server or ServerSettings(), lambda: NOW)


def post(
    app: ASGIApp, path: str, content: bytes | AsyncIterator[bytes], headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """One POST to `app`."""
    return exchanges(app, [("POST", path, content, headers or {})])[0]


def exchanges(app: ASGIApp, calls: Sequence[tuple[str, str, Any, Mapping[str, str]]]) -> list[httpx.Response]:
    """The responses to several calls, one after the other. A fault that leaves the application is raised."""

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://hangar") as client:
            return [
                await client.request(method, path, content=content, headers=headers)
                for method, path, content, headers in calls
            ]

    return asyncio.run(run())


def sync(app: ASGIApp, request: Any, hook: str = "sync", headers: Mapping[str, str] | None = None) -> httpx.Response:
    """A recorded request sent to the keeper's hook."""
    return post(app, f"/keeper/{hook}", orjson.dumps(request), headers)
