"""The hook application: one route per controller and hook, and sentences for everything else."""

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import get_args

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.kube.hook import HookController
from app.server.auth import Tokens
from app.server.calls import Clock, HookRoute, Service
from app.server.limits import Load
from app.server.outcomes import Reason, Refused, concluded, record_of, refusal
from app.settings import ControllerSettings, ServerSettings
from app.wire.requests import Hook


def create_app(
    controllers: Sequence[HookController],
    settings: ControllerSettings,
    server: ServerSettings,
    clock: Clock,
    leaving: Callable[[], bool] = lambda: False,
) -> Starlette:
    """The hook service for `controllers`: POST `/<name>/sync`, `/<name>/finalize` and `/<name>/customize`.

    `clock` gives the time of a sync, with a time zone; `leaving` says whether answers are to close their connections.
    Raises `SettingsError` where the token file cannot be read.
    """
    service = Service(
        settings=settings,
        clock=clock,
        tokens=Tokens(server.token_file) if server.token_file else None,
        load=Load(server.max_calls, 2 * server.max_body_bytes),
        max_body_bytes=server.max_body_bytes,
        read_seconds=server.read_seconds,
        leaving=leaving,
    )
    hooks: tuple[Hook, ...] = get_args(Hook)
    routes = [
        Route(f"/{controller.name}/{hook}", HookRoute(controller, hook, service).call, methods=["POST"])
        for controller in controllers
        for hook in hooks
    ]
    served = ", ".join(route.path for route in routes)
    elsewhere = _refusing(404, Reason.NOT_FOUND, f"No hook has this path; there are {served}.")
    wrong_method = _refusing(405, Reason.WRONG_METHOD, "Hooks are called with POST.", {"Allow": "POST"})
    return Starlette(routes=routes, exception_handlers={404: elsewhere, 405: wrong_method})


def _refusing(
    status: int, reason: Reason, sentence: str, headers: dict[str, str] | None = None
) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, _problem: Exception) -> Response:
        record, started = record_of(request), perf_counter()
        return concluded(refusal(Refused(status, reason, sentence, headers), record), record, started)

    return handler
