"""Requests: an envelope as Metacontroller sends it, checked before anything acts on it.

What is not understood is refused with its path, because a 200 that lacks a child deletes that child. The objects
themselves stay dicts; only what identifies them is looked at here.
"""

from typing import Any, Literal

import orjson

from app.kube.hook import JSON, HookController, SyncRequest, Unreadable
from app.wire.objects import check_objects, quoted

SyncHook = Literal["sync", "finalize"]
Hook = Literal["sync", "finalize", "customize"]

VERSION = "v2"


class NotJSON(Unreadable):
    """A body that is no JSON at all."""


def parse_sync(body: bytes, controller: HookController, hook: SyncHook) -> SyncRequest:
    """A sync or finalize call as `controller` reads it.

    Raises `Unreadable` with the JSON path of the first thing that is not as hook version v2 says.
    """
    envelope = _envelope(body)
    configured = _check_controller(envelope, controller, hook)
    parent = _parent(envelope, controller, hook)
    finalizing = _finalizing(envelope, controller, hook)
    children = _field(envelope, "children", dict)
    check_objects("children", children, parent["metadata"]["namespace"])
    _check_child_kinds(children, controller)
    related = _related(envelope, controller, has_customize="customize" in configured)
    return SyncRequest(parent=parent, children=children, related=related, finalizing=finalizing)


def parse_customize(body: bytes, controller: HookController) -> JSON:
    """The parent of a customize call; `Unreadable` as for `parse_sync`."""
    envelope = _envelope(body)
    _check_controller(envelope, controller, "customize")
    return _parent(envelope, controller, "customize")


def _envelope(body: bytes) -> JSON:
    try:
        envelope = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        what = "the body is empty" if not body else f"{problem.msg} at byte {problem.pos}"
        raise NotJSON("$", f"not JSON ({what}): send Metacontroller's request as it is") from None
    if not isinstance(envelope, dict):
        raise Unreadable("$", f"is {_named(envelope)}: send Metacontroller's request, which is an object")
    return envelope


def _named(value: Any) -> str:
    """What kind of JSON value this is, without its contents."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def _field(parent: JSON, name: str, kind: type, path: str = "") -> Any:
    """`parent[name]`, which must be there and be of `kind`."""
    value = parent.get(name)
    if isinstance(value, kind):
        return value
    found = _named(value) if name in parent else "missing"
    wanted = {dict: "an object", bool: "true or false", str: "a string"}[kind]
    raise Unreadable(f"{path}{name}", f"is {found}, and hook version {VERSION} sends {wanted}")


def _check_controller(envelope: JSON, controller: HookController, hook: Hook) -> JSON:
    """The hooks of the controller object in the request, of which this one must be of version v2."""
    given = _field(envelope, "controller", dict)
    if given.get("kind") != "CompositeController":
        raise Unreadable(
            "controller.kind",
            f"is {quoted(given.get('kind'))}: /{controller.name}/{hook} serves a CompositeController",
        )
    spec = _field(given, "spec", dict, "controller.")
    hooks: JSON = _field(spec, "hooks", dict, "controller.spec.")
    version = _field(hooks, hook, dict, "controller.spec.hooks.").get("version")
    if version != VERSION:
        found = "absent, which means v1" if version is None else quoted(version)
        raise Unreadable(
            f"controller.spec.hooks.{hook}.version",
            f"is {found}: write `version: {VERSION}` in the CompositeController",
        )
    return hooks


def _parent(envelope: JSON, controller: HookController, hook: Hook) -> JSON:
    parent: JSON = _field(envelope, "parent", dict)
    if parent.get("apiVersion") != controller.api_version or parent.get("kind") != controller.kind:
        raise Unreadable(
            "parent",
            f"is of {quoted(parent.get('apiVersion'))} {quoted(parent.get('kind'))}, and /{controller.name}/{hook} "
            f"serves {controller.api_version} {controller.kind}: correct the parentResource or the webhook's URL",
        )
    metadata = _field(parent, "metadata", dict, "parent.")
    for name in ("name", "namespace", "uid"):
        if not _field(metadata, name, str, "parent.metadata."):
            raise Unreadable(f"parent.metadata.{name}", "is empty, and the API server always sets it")
    return parent


def _finalizing(envelope: JSON, controller: HookController, hook: Hook) -> bool:
    """The flag, which must agree with the route: finalize lets every child go, sync never says it is done."""
    finalizing: bool = _field(envelope, "finalizing", bool)
    if finalizing != (hook == "finalize"):
        other = "finalize" if finalizing else "sync"
        raise Unreadable(
            "finalizing",
            f"is {str(finalizing).lower()} on /{controller.name}/{hook}: "
            f"point hooks.{other} of the CompositeController at /{controller.name}/{other}",
        )
    return finalizing


def _check_child_kinds(children: JSON, controller: HookController) -> None:
    """Every kind that the controller makes is sent: one that is not watched would be made and never seen again.

    Kinds that it does not make may be there, after a rollback for example; a controller keeps what it does not know.
    """
    for rule in controller.children:
        if rule.key not in children:
            raise Unreadable(
                f'children["{rule.key}"]',
                f"is missing: add {rule.resource} of {rule.api_version} to the CompositeController's childResources "
                f"(install the controller objects of this version of Hangar)",
            )


def _related(envelope: JSON, controller: HookController, *, has_customize: bool) -> JSON:
    if not has_customize and envelope.get("related") is None:
        if controller.related:
            raise Unreadable(
                "controller.spec.hooks.customize",
                f"is missing: {controller.kind} reads other objects, so point it at /{controller.name}/customize",
            )
        return {}
    related: JSON = _field(envelope, "related", dict)
    check_objects("related", related)
    return related
