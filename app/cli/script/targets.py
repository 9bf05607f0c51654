"""What a script's words mean in the cluster of the moment: objects, deployments, Pods, nodes."""

from app.api.kinds import MODEL_DEPLOYMENT
from app.cli.script.base import NodeTarget, PodTarget
from app.kube import names
from app.kube.hook import JSON
from app.local.errors import ApiError
from app.local.faults import Pods
from app.local.plane import Plane
from app.local.resources import Resource
from app.local.values import listed, mapping, name, namespace, qualified

DEPLOYMENT = f"{MODEL_DEPLOYMENT.kind}.{names.API_VERSION}"


class NotThere(ValueError):
    """What a script speaks of does not exist at that moment; the message says what does."""


def object_of(plane: Plane, words: str) -> JSON:
    """The object called `ModelDeployment team-a/qwen`, or `Pod x` where one namespace has it. Raises NotThere."""
    kind, _, title = words.strip().partition(" ")
    if not title.strip():
        raise NotThere(f"{words!r} names no object: write kind and name, for example ModelDeployment team-a/qwen")
    try:
        resource = plane.discovery.named(kind)
    except ApiError as problem:
        raise NotThere(str(problem)) from None
    return _named(plane, resource, title.strip())


def deployment_of(plane: Plane, title: str | None) -> JSON:
    """The ModelDeployment of that name, or the only one. Raises NotThere."""
    resource = plane.discovery.named(MODEL_DEPLOYMENT.kind)
    if title is not None:
        return _named(plane, resource, title)
    found = plane.store.all_of(resource)
    if len(found) != 1:
        raise NotThere(f"say which deployment: there are {_list(found)}")
    return found[0]


def _named(plane: Plane, resource: Resource, title: str) -> JSON:
    everything = plane.store.all_of(resource)
    found = [one for one in everything if title in {qualified(one), name(one)}]
    if not found:
        raise NotThere(f"there is no {resource.kind} {title}; there are {_list(everything)}")
    if len(found) > 1:
        raise NotThere(f"{resource.kind} {title} is in several namespaces: write one of {_list(found)}")
    return found[0]


def _list(objects: list[JSON]) -> str:
    most = 10
    told = ", ".join(qualified(one) for one in objects[:most]) or "none"
    return told + (f" and {len(objects) - most} more" if len(objects) > most else "")


def role_of(deployment: JSON, title: str | None) -> JSON:
    """The role of that name in a deployment's spec, or the only one. Raises NotThere."""
    roles = [mapping(one) for one in listed(mapping(deployment.get("spec")).get("roles"))]
    found = roles if title is None else [one for one in roles if one.get("name") == title]
    if len(found) != 1:
        known = ", ".join(str(one.get("name")) for one in roles)
        raise NotThere(f"{qualified(deployment)} has the roles {known}: write one of them")
    return found[0]


def filter_of(plane: Plane, target: PodTarget) -> Pods:
    """Which Pods a target means, now and later. Raises NotThere for a deployment or role that does not exist."""
    labels, space, title = dict(target.labels), "", ""
    if target.deployment is not None:
        deployment = deployment_of(plane, target.deployment)
        space = namespace(deployment)
        labels[names.DEPLOYMENT] = name(deployment)
    if target.role is not None:
        owners = plane.all_of(DEPLOYMENT) if target.deployment is None else [deployment]
        roles = {str(one.get("name")) for owner in owners for one in listed(mapping(owner.get("spec")).get("roles"))}
        if target.role not in roles:
            raise NotThere(f"there is no role {target.role}; there are {', '.join(sorted(roles)) or 'none'}")
        labels[names.ROLE] = target.role
    labels |= {names.REPLICA: str(target.replica)} if target.replica is not None else {}
    labels |= {names.MEMBER: str(target.member)} if target.member is not None else {}
    if target.pod is not None:
        before, slash, after = target.pod.partition("/")
        space, title = (before, after) if slash else (space, before)
    return Pods(space, title, labels, target.node or "")


def pods_of(plane: Plane, target: PodTarget) -> tuple[Pods, list[JSON]]:
    """Which Pods a target means, and those that exist. Raises NotThere where there is none."""
    wanted = filter_of(plane, target)
    found = [pod for pod in plane.all_of("Pod.v1") if pod in wanted]
    if not found:
        raise NotThere(f"no Pod fits ({target.words}); there are {_list(plane.all_of('Pod.v1'))}")
    return wanted, found


def nodes_of(plane: Plane, target: NodeTarget) -> list[str]:
    """The nodes that a target means. Raises NotThere where a Pod of it is on no node."""
    if target.of is None:
        every = [name(node) for node in plane.all_of("Node.v1")]
        return every if target.node == "all" else [str(target.node)]
    found = {str(mapping(pod.get("spec")).get("nodeName") or "") for pod in pods_of(plane, target.of)[1]} - {""}
    if not found:
        raise NotThere(f"no Pod of ({target.of.words}) is on a node yet: let it happen later")
    return sorted(found)
