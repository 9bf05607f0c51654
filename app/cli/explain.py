"""`hangar explain`: what a deployment waits for, who is in the way, and what to type."""

from typing import Annotated, Literal

import typer

from app.cli.connecting import Context, Kubeconfig, Name, Namespace, about, connected
from app.cli.recording import pretty
from app.explain import explain as explanation
from app.explain.text import lines


def explain(
    name: Name,
    namespace: Namespace = None,
    output: Annotated[Literal["text", "json"], typer.Option("--output", "-o", help="How to print it.")] = "text",
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Explain in sentences what a ModelDeployment of a cluster has got and what it waits for, with what to type next.

    It only reads, as you. What you may not read is said.

    Exit codes: 0 explained, whatever the state; 1 the deployment is not there, or the cluster does not answer; 2 a
    mistake in the command line or the kubeconfig.
    """
    with connected(kubeconfig, context, name) as cluster:
        where = namespace or cluster.namespace
        with about(where, name):
            found = explanation(cluster, where, name)
    typer.echo(pretty(found.document) if output == "json" else "\n".join(lines(found)) + "\n", nl=False)
