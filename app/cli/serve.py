"""`hangar serve`: the hook service."""

import os
from typing import Annotated

import typer

from app.server.serve import serve as serve_hooks
from app.settings import PREFIX, ServerSettings

_DEFAULTS = ServerSettings()


def _otherwise(name: str) -> str:
    """Where the value of an option comes from when it is not given."""
    return f"[{PREFIX}{name.upper()}, else {getattr(_DEFAULTS, name)}]"


def serve(
    host: Annotated[str | None, typer.Option(help=f"Address to listen on. {_otherwise('host')}")] = None,
    port: Annotated[int | None, typer.Option(help=f"Port of the hooks. {_otherwise('port')}")] = None,
    operations_port: Annotated[
        int | None, typer.Option(help=f"Port of /healthz, /readyz and /metrics. {_otherwise('operations_port')}")
    ] = None,
    workers: Annotated[int | None, typer.Option(help=f"Processes that answer hooks. {_otherwise('workers')}")] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Answer any caller, as HANGAR_AUTH=none does: ask for no bearer token.")
    ] = False,
) -> None:
    """Serve the hooks for Metacontroller, until a signal ends it.

    Callers show a bearer token of HANGAR_TOKEN_FILE. To try it on this machine: hangar serve --host 127.0.0.1
    --no-auth. Limits, times, TLS and logs are set by HANGAR_... variables, which docs/configuration.md lists; options
    go before them.
    """
    given = {"HOST": host, "PORT": port, "OPERATIONS_PORT": operations_port, "WORKERS": workers}
    options = {f"{PREFIX}{name}": str(value) for name, value in given.items() if value is not None}
    if no_auth:
        options[f"{PREFIX}AUTH"] = "none"
    code = serve_hooks({**os.environ, **options})
    if code:
        raise typer.Exit(code)
