"""`hangar render`: what a manifest would make, and what an edit of it would restart, with no cluster."""

import os
from typing import Annotated, Literal

import typer

from app.api.kinds import INSTANCE_TYPE, MODEL_DEPLOYMENT
from app.cli.connecting import DEPLOYMENT, Context, Kubeconfig
from app.cli.documents import Document, read
from app.cli.edits import effects, refusals
from app.cli.problems import CommandError
from app.cli.recording import pretty
from app.cli.rendering import first_answer, refusal
from app.cluster import Cluster, connect
from app.install.documents import stream
from app.kube.hook import JSON, SyncAnswer
from app.kube.names import API_VERSION
from app.kube.reader import NotFound, ObjectKind
from app.settings import ControllerSettings

_INSTANCE_TYPE = ObjectKind(API_VERSION, INSTANCE_TYPE.kind)
# What a deployment is told apart by: two files state the same one.
Identity = tuple[str, str]


def render(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Manifests; - is standard input.")],
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Older manifests: say what the edit restarts instead. May be repeated."),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Say what applying these manifests to the cluster would restart.")
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Annotated[Literal["yaml", "json"] | None, typer.Option("--output", "-o", help="Default: yaml.")] = None,
) -> None:
    """Print the Pods and Services that Metacontroller would get for ModelDeployments of which nothing is there yet.

    InstanceTypes are taken from the files, and with --diff from the cluster too. HANGAR_... variables count as they do
    for the service.

    Exit codes: 0 done; 1 a render is refused, and the sentence is the one that the condition Stalled would show; 2 a
    mistake in the manifests or the command line.
    """
    if (against or diff) and output:
        raise CommandError(f"--{'against' if against else 'diff'} prints sentences: leave --output out")
    if against and diff:
        raise CommandError("--against compares with manifests and --diff with a cluster: give one of them")
    documents = read(files)
    settings = ControllerSettings.from_environment({"HANGAR_CLUSTER_ID": "local", **os.environ})
    types = _instance_types(documents)
    deployments = _deployments(documents)
    if not deployments:
        raise CommandError(f"{', '.join(files)}: no ModelDeployment in there, so there is nothing to render")
    if against:
        older = read(against)
        code = _compare(", ".join(against), older, deployments, types, settings)
        for gone in sorted(_deployments(older).keys() - deployments.keys()):
            typer.echo(f"{'/'.join(gone)} is not in the newer manifests, which by itself deletes nothing")
    elif diff:
        with connect(kubeconfig, context) as cluster:
            stored = _stored(cluster, list(deployments.values()))
        code = _compare("the cluster", stored, deployments, _instance_types(stored) | types, settings)
    else:
        code = _print(list(deployments.values()), types, settings, output or "yaml")
    if code:
        raise typer.Exit(code)


def _print(documents: list[Document], types: dict[str, JSON], settings: ControllerSettings, output: str) -> int:
    """Prints the children of all; where one is refused, its sentence and nothing else. The exit code."""
    rendered: list[JSON] = []
    refused = False
    for document in documents:
        answer = first_answer(document.obj, types, settings)
        refused = _refused(document, answer) or refused
        rendered += answer.children
        if not document.obj["spec"].get("enabled", True):
            typer.echo(f"{document.title}: spec.enabled is false, so nothing is made", err=True)
    if refused:
        return 1
    if output == "json":
        typer.echo(pretty({"apiVersion": "v1", "kind": "List", "items": rendered}), nl=False)
    elif rendered:
        typer.echo(stream(rendered), nl=False)
    return 0


def _refused(document: Document, answer: SyncAnswer) -> bool:
    problem = refusal(answer)
    if problem:
        typer.echo(f"{document.title}: {problem}", err=True)
    return bool(problem)


def _instance_types(documents: list[Document]) -> dict[str, JSON]:
    found = (document.obj for document in documents if document.obj["kind"] == INSTANCE_TYPE.kind)
    return {obj["metadata"]["name"]: obj for obj in found}


def _deployments(documents: list[Document]) -> dict[Identity, Document]:
    found = (document for document in documents if document.obj["kind"] == MODEL_DEPLOYMENT.kind)
    return {_identity(document): document for document in found}


def _identity(document: Document) -> Identity:
    metadata = document.obj["metadata"]
    return metadata.get("namespace", "default"), metadata["name"]


def _stored(cluster: Cluster, wanted: list[Document]) -> list[Document]:
    """The deployments as the cluster has them, with the InstanceTypes that either state names; without what it lacks.

    Raises `ReadError` where it cannot be read.
    """
    found = [_get(cluster, DEPLOYMENT, _identity(document)) for document in wanted]
    specs = [document.obj["spec"] for document in (*filter(None, found), *wanted)]
    names = {role["instanceType"] for spec in specs for role in spec["roles"] if "instanceType" in role}
    found += [_get(cluster, _INSTANCE_TYPE, ("", name)) for name in sorted(names)]
    return [document for document in found if document is not None]


def _get(cluster: Cluster, kind: ObjectKind, identity: Identity) -> Document | None:
    namespace, name = identity
    try:
        return Document("the cluster", cluster.get(kind, name, namespace))
    except NotFound:
        return None


def _compare(
    source: str,
    documents: list[Document],
    deployments: dict[Identity, Document],
    types: dict[str, JSON],
    settings: ControllerSettings,
) -> int:
    """Says for each deployment what the edit of `documents`, of that source, does; 1 where some of it is refused."""
    older_types, older = types | _instance_types(documents), _deployments(documents)
    code = 0
    for identity, document in deployments.items():
        name = "/".join(identity)
        before = older.get(identity)
        if before is None:
            typer.echo(f"{name} is new: {source} does not hold it")
            continue
        problems = refusals(before.obj, document.obj)
        for problem in problems:
            typer.echo(f"{document.title}: {problem}", err=True)
        old, new = _enabled(before, older_types, settings), _enabled(document, types, settings)
        if problems or _refused(before, old) | _refused(document, new):
            code = 1
            continue
        lines = effects(before.obj, document.obj, old.children, new.children)
        typer.echo("\n  ".join([name, *lines]))
    return code


def _enabled(document: Document, types: dict[str, JSON], settings: ControllerSettings) -> SyncAnswer:
    """What a deployment renders to once reconciling is on."""
    return first_answer({**document.obj, "spec": {**document.obj["spec"], "enabled": True}}, types, settings)
