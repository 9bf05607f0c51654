"""One related rule: whether it makes sense, and which objects it names or selects (hook version v2)."""

from collections.abc import Iterable

from app.kube.hook import JSON
from app.local.client import Client
from app.local.errors import ApiError
from app.local.index import Place
from app.local.resources import Resource
from app.local.selectors import SelectorError, matches
from app.local.values import labels, listed, mapping, name, namespace


class RuleError(ValueError):
    """A related rule that contradicts itself."""


def resource_of(client: Client, rule: JSON) -> Resource:
    """The kind of a rule. Raises UnknownKind."""
    return client.kinds.resource(str(rule.get("apiVersion", "")), str(rule.get("resource", "")))


def check_rule(rule: JSON, resource: Resource) -> None:
    """Raises RuleError where a rule contradicts itself."""
    if rule.get("names") and ("labelSelector" in rule or "namespaceSelector" in rule):
        raise RuleError("related rule cannot have both names and labelSelector/namespaceSelector specified")
    if rule.get("namespace") and "namespaceSelector" in rule:
        raise RuleError("related rule cannot have both namespace and namespaceSelector specified")
    if "namespaceSelector" in rule and not resource.namespaced:
        raise RuleError("namespaceSelector is only supported for namespaced related resources")


def places(client: Client, rule: JSON) -> list[Place]:
    """The objects that a rule names outright, none where it selects."""
    try:
        resource = resource_of(client, rule)
    except ApiError:
        return []
    space = str(rule.get("namespace", "")) if resource.namespaced else ""
    if resource.namespaced and not space:
        return []
    return [(resource.key, space, str(title)) for title in listed(rule.get("names"))]


def select(client: Client, resource: Resource, rule: JSON) -> Iterable[JSON]:
    """The objects that a rule names or selects, as stored. Raises SelectorError."""
    named = places(client, rule)
    if named:
        by_name = (client.store.look(resource, space, title) for _, space, title in named)
        return [one for one in by_name if one is not None]
    space = rule.get("namespace") if resource.namespaced else None
    return [one for one in client.store.look_all(resource, space or None) if fits(client, rule, resource, one)]


def fits(client: Client, rule: JSON, resource: Resource, obj: JSON) -> bool:
    """Whether a rule for objects of `resource` selects this one. Raises SelectorError."""
    space, names = rule.get("namespace"), listed(rule.get("names"))
    if names and name(obj) not in names:
        return False
    if space and resource.namespaced and namespace(obj) != space:
        return False
    if "namespaceSelector" in rule:
        around = client.store.look(client.store.discovery.kind("v1", "Namespace"), "", namespace(obj))
        if around is None or not matches(mapping(rule["namespaceSelector"]), labels(around)):
            return False
    return matches(mapping(rule.get("labelSelector")), labels(obj))


def fits_quietly(client: Client, rule: JSON, resource: Resource, obj: JSON) -> bool:
    """As `fits`, for a rule of any kind; what cannot be told does not fit."""
    try:
        return resource_of(client, rule).key == resource.key and fits(client, rule, resource, obj)
    except (ApiError, SelectorError):
        return False
