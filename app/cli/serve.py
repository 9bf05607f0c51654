"""`hangar serve`: the hook service."""

import os
from typing import Annotated

import typer

from app.server.serve import serve as serve_hooks
from app.settings import PREFIX


def serve(
    host: Annotated[str | None, typer.Option(help="Address of the hooks and of the operations port.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the hooks.")] = None,
    operations_port: Annotated[int | None, typer.Option(help="Port of /healthz, /readyz and /metrics.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that answer hooks.")] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Answer any caller: ask for no bearer token.")] = False,
) -> None:
    """Serve the hooks for Metacontroller. Options go before HANGAR_… variables; docs/configuration.md lists those."""
    given = {"HOST": host, "PORT": port, "OPERATIONS_PORT": operations_port, "WORKERS": workers}
    options = {f"{PREFIX}{name}": str(value) for name, value in given.items() if value is not None}
    if no_auth:
        options[f"{PREFIX}AUTH"] = "none"
    code = serve_hooks({**os.environ, **options})
    if code:
        raise typer.Exit(code)
