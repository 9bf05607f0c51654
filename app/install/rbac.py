"""Permissions. Metacontroller's account does the writing and gets exactly what it uses; the service gets nothing.

Tried with Metacontroller 4.17.2 whose account had these roles alone, on a cluster that enforces owner references.
"""

from collections.abc import Iterable, Sequence

from app.kube.hook import JSON, HookController

API_GROUP = "rbac.authorization.k8s.io"
# A Metacontroller whose own role is an aggregated one takes ours up by this label.
AGGREGATE = {"hangar.dev/aggregate-to-metacontroller": "true"}
# The account of Metacontroller's own manifests and chart.
ACCOUNT = {"kind": "ServiceAccount", "name": "metacontroller", "namespace": "metacontroller"}

READ = ("get", "list", "watch")
# `patch` is for Metacontroller's server-side apply.
WRITE = ("create", "update", "patch", "delete")


def permissions(controllers: Iterable[HookController]) -> list[JSON]:
    """Three ClusterRoles for Metacontroller's account, each with its binding.

    `hangar-metacontroller` is what the controllers ask of it; `-base` what it needs for itself; `-token` lets it read
    the bearer token.
    """
    roles = [
        cluster_role("hangar-metacontroller", controller_rules(controllers)),
        cluster_role("hangar-metacontroller-base", _BASE_RULES),
        # Metacontroller reads a Secret through a cache of all of them, so one Secret by name is not enough.
        cluster_role("hangar-metacontroller-token", [_rule("", ["secrets"], READ)]),
    ]
    return [document for role in roles for document in (role, _binding(role))]


def controller_rules(controllers: Iterable[HookController]) -> list[JSON]:
    """What Metacontroller does with the parents, children and related objects of `controllers`, and no more."""
    verbs: dict[tuple[str, str], list[str]] = {}

    def grant(api_version: str, resource: str, granted: Sequence[str]) -> None:
        group = api_version.rpartition("/")[0]
        known = verbs.setdefault((group, resource), [])
        known.extend(verb for verb in granted if verb not in known)

    for controller in controllers:
        # `update` of a parent sets and removes Metacontroller's finalizer. That of its finalizers is asked, on clusters
        # that enforce owner references, of whoever makes an object that holds up its owner's deletion.
        grant(controller.api_version, controller.resource, (*READ, "update"))
        grant(controller.api_version, f"{controller.resource}/status", ("update",))
        grant(controller.api_version, f"{controller.resource}/finalizers", ("update",))
        for child in controller.children:
            grant(child.api_version, child.resource, (*READ, *WRITE))
        for api_version, resource in controller.related:
            grant(api_version, resource, READ)
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), granted in verbs.items():
        alike.setdefault((group, tuple(granted)), []).append(resource)
    return [_rule(group, resources, granted) for (group, granted), resources in alike.items()]


def cluster_role(name: str, rules: list[JSON]) -> JSON:
    """A ClusterRole that aggregates into Metacontroller's."""
    return {
        "apiVersion": f"{API_GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": dict(AGGREGATE)},
        "rules": rules,
    }


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> JSON:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _binding(role: JSON) -> JSON:
    name = role["metadata"]["name"]
    return {
        "apiVersion": f"{API_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [dict(ACCOUNT)],
    }


_BASE_RULES = [
    _rule("metacontroller.k8s.io", ["compositecontrollers", "decoratorcontrollers", "controllerrevisions"], READ),
    _rule("apiextensions.k8s.io", ["customresourcedefinitions"], READ),
    _rule("", ["namespaces"], READ),
    _rule("", ["events"], ("create", "patch")),
]
