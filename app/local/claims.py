"""Which children a parent has: adopt the orphans that its selector fits, release what it fits no more.

Done before the hook is called, so the hook sees an adopted orphan at once and a released child not at all.
"""

from app.kube.hook import JSON
from app.local.errors import NotFound
from app.local.resources import Resource
from app.local.selectors import SelectorError, matches
from app.local.store import Store
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


def claim(store: Store, parent: JSON, resource: Resource, selector: JSON) -> list[JSON]:
    """The children of one kind, as they were read: an adoption shows in the next sync's request."""
    space = namespace(parent)
    owned = [one for one in store.owned_by(uid(parent), resource) if not space or namespace(one) == space]
    unique = {uid(one): one for one in owned + store.orphans(resource, space or None)}
    return [one for one in unique.values() if _claimed(store, parent, one, matches(selector, labels(one)))]


def _claimed(store: Store, parent: JSON, child: JSON, fits: bool) -> bool:
    reference = controller_of(child)
    if reference is not None:
        if reference.get("uid") != uid(parent):
            return False
        if not fits and not terminating(parent):
            _release(store, parent, child)
        return fits
    if terminating(parent) or terminating(child) or not fits:
        return False
    return _adopt(store, parent, child)


def _adopt(store: Store, parent: JSON, child: JSON) -> bool:
    others = [one for one in owners(child) if one.get("uid") != uid(parent)]
    return _write_owners(store, child, [*others, owner_reference(parent)])


def _release(store: Store, parent: JSON, child: JSON) -> None:
    _write_owners(store, child, [one for one in owners(child) if one.get("uid") != uid(parent)])


def _write_owners(store: Store, child: JSON, references: list[JSON]) -> bool:
    changed = {**child, "metadata": {**meta(child), "ownerReferences": references}}
    if not references:
        del changed["metadata"]["ownerReferences"]
    try:
        store.update(changed)
    except NotFound:
        return False
    return True
