"""What verbs share that act on a cluster: their options, and the deployment that they are about."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from app.api.kinds import MODEL_DEPLOYMENT
from app.cli.problems import CommandError
from app.cluster import Cluster, connect
from app.kube.names import API_VERSION
from app.kube.reader import NotFound, NotServed, ObjectKind, ReadError

DEPLOYMENT = ObjectKind(API_VERSION, MODEL_DEPLOYMENT.kind)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The ModelDeployment.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Its namespace.", show_default="the context's, else default")
]
Context = Annotated[str | None, typer.Option(help="A context of the kubeconfig.", show_default="the current one")]
Kubeconfig = Annotated[
    str | None, typer.Option(help="The kubeconfig file.", show_default="KUBECONFIG, else ~/.kube/config")
]


@contextmanager
def connected(kubeconfig: str | None, context: str | None, name: str) -> Iterator[Cluster]:
    """The cluster that the options name. Raises `CommandError` for a name that no deployment has."""
    rule = MODEL_DEPLOYMENT.name or {}
    if not re.search(rule["pattern"], name):
        raise CommandError(f"NAME: {name!r} is no name of a ModelDeployment; its namespace is given with -n")
    with connect(kubeconfig, context) as cluster:
        yield cluster


@contextmanager
def about(namespace: str, name: str) -> Iterator[None]:
    """Says what a cluster lacks where it has not the deployment itself."""
    try:
        yield
    except NotFound:
        raise ReadError(f"there is no ModelDeployment {name} in namespace {namespace}; -n names another") from None
    except NotServed as problem:
        raise ReadError(f"{problem}: install Hangar's kinds there first (hangar crds)") from None
