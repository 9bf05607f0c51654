"""The operations application on its own port: liveness, readiness and metrics. It needs no token."""

from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.server import metrics


class Readiness:
    """Whether the service wants calls: not before its workers accept, and not once it has begun to drain."""

    def __init__(self) -> None:
        self.accepting = False
        self.draining = False

    @property
    def word(self) -> str:
        """`ready`, `starting` or `draining`."""
        if self.draining:
            return "draining"
        return "ready" if self.accepting else "starting"


def create_operations(readiness: Callable[[], str], metrics_folder: Path | None = None) -> Starlette:
    """GET `/healthz`, `/readyz` (503 unless `readiness()` is `ready`) and `/metrics`.

    `metrics_folder` is where the worker processes keep their values; None for those of this process.
    """

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok")

    async def readyz(_request: Request) -> Response:
        word = readiness()
        return PlainTextResponse(word, 200 if word == "ready" else 503)

    def exposed(_request: Request) -> Response:
        return Response(metrics.rendered(metrics_folder), media_type=metrics.CONTENT_TYPE)

    return Starlette(
        routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", exposed)],
    )
