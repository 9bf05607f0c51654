"""Which children a parent has: adopt the orphans that its selector fits, release what it fits no more.

Done before the hook is called. A child that is adopted or released in this sync is in the request as it was read.
"""

from collections.abc import Iterable

from app.kube.hook import JSON
from app.local.client import Client
from app.local.errors import NotFound
from app.local.resources import Resource
from app.local.selectors import SelectorError, matches
from app.local.values import controller_of, labels, mapping, meta, name, namespace, owners, terminating, uid

SELECTOR_LABEL = "controller-uid"


def selector_of(controller: JSON, parent: JSON) -> JSON:
    """The label selector for a parent's children. Raises SelectorError where the parent states none and must."""
    if mapping(controller.get("spec")).get("generateSelector"):
        return {"matchLabels": {SELECTOR_LABEL: uid(parent)}}
    found = mapping(mapping(parent.get("spec")).get("selector"))
    if not found.get("matchLabels") and not found.get("matchExpressions"):
        raise SelectorError(".spec.selector must have either matchLabels, matchExpressions, or both")
    return found


def owner_reference(parent: JSON) -> JSON:
    """The controller reference that a claimed or created child carries."""
    return {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": name(parent),
        "uid": uid(parent),
        "controller": True,
        "blockOwnerDeletion": True,
    }


class LabelError(ValueError):
    """A desired child that its parent's selector would not fit."""


def label(controller: JSON, parent: JSON, children: Iterable[JSON]) -> None:
    """Adds the generated label to desired children, in place.

    Raises LabelError where the labels of one miss the selector: then nothing at all is applied.
    """
    selector = selector_of(controller, parent)
    generated = mapping(controller.get("spec")).get("generateSelector")
    for child in children:
        if generated:
            child["metadata"]["labels"] = {SELECTOR_LABEL: uid(parent), **labels(child)}
        if not matches(selector, labels(child)):
            title = f"{child['kind']} {namespace(child)}/{name(child)}"
            raise LabelError(f"labels on desired child {title} don't match parent selector")


def claim(client: Client, parent: JSON, resource: Resource, selector: JSON) -> list[JSON]:
    """The children of one kind, as they were read: an adoption shows in the next sync's request."""
    space = namespace(parent)
    owned = [one for one in client.store.owned_by(uid(parent), resource) if not space or namespace(one) == space]
    unique = {uid(one): one for one in owned + client.store.orphans(resource, space or None)}
    return [one for one in unique.values() if _claimed(client, parent, one, matches(selector, labels(one)))]


def _claimed(client: Client, parent: JSON, child: JSON, fits: bool) -> bool:
    reference = controller_of(child)
    if reference is not None:
        if reference.get("uid") != uid(parent):
            return False
        if not fits and not terminating(parent):
            _release(client, parent, child)
        return fits
    if terminating(parent) or terminating(child) or not fits:
        return False
    return _adopt(client, parent, child)


def _adopt(client: Client, parent: JSON, child: JSON) -> bool:
    others = [one for one in owners(child) if one.get("uid") != uid(parent)]
    return _write_owners(client, child, [*others, owner_reference(parent)])


def _release(client: Client, parent: JSON, child: JSON) -> None:
    _write_owners(client, child, [one for one in owners(child) if one.get("uid") != uid(parent)])


def _write_owners(client: Client, child: JSON, references: list[JSON]) -> bool:
    metadata = {key: value for key, value in meta(child).items() if key != "ownerReferences"}
    try:
        client.update({**child, "metadata": metadata | ({"ownerReferences": references} if references else {})})
    except NotFound:
        return False
    return True
