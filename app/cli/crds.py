"""`hangar crds`: the CustomResourceDefinitions."""

import typer

from app.api.crd import crds as definitions
from app.install.documents import stream


def crds() -> None:
    """Print the CustomResourceDefinitions, for kubectl apply --server-side -f -."""
    typer.echo(stream(definitions()), nl=False)
