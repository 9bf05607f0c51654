"""Making the children what the hook's answer says: delete, create, update by strategy.

Errors do not stop the others: they are gathered, and the parent's status is written all the same.
"""

from collections.abc import Mapping

from app.kube.hook import JSON
from app.local.claims import SELECTOR_LABEL, owner_reference, selector_of
from app.local.errors import AlreadyExists, ApiError, Conflict, NotFound
from app.local.merge import MergeError, apply_update, set_last_applied
from app.local.related import ObjectMap
from app.local.resources import Resource
from app.local.selectors import matches
from app.local.store import Store
from app.local.values import clone, labels, mapping, name, namespace, owners, qualified, same, terminating, uid

METHODS = frozenset({"OnDelete", "Recreate", "InPlace"})


class ManageError(Exception):
    """What went wrong with one or several children."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def desired_map(controller: JSON, parent: JSON, children: list[JSON]) -> ObjectMap:
    """The answer's children by kind and name: the parent's namespace filled in, the generated label added.

    Of two children of one kind and name the later counts. Raises ManageError where labels miss the selector: then
    nothing at all is applied.
    """
    selector = selector_of(controller, parent)
    generated = mapping(controller.get("spec")).get("generateSelector")
    found: ObjectMap = {}
    for child in clone(children):
        metadata = child.setdefault("metadata", {})
        if not namespace(child) and namespace(parent):
            metadata["namespace"] = namespace(parent)
        if generated:
            metadata["labels"] = {SELECTOR_LABEL: uid(parent), **labels(child)}
        if not matches(selector, labels(child)):
            identity = f"{child['kind']} {namespace(child)}/{name(child)}"
            raise ManageError([f"labels on desired child {identity} don't match parent selector"])
        found.setdefault(f"{child['kind']}.{child.get('apiVersion', '')}", {})[qualified(child)] = child
    return found


def manage(store: Store, strategies: Mapping[str, str], parent: JSON, observed: ObjectMap, desired: ObjectMap) -> None:
    """Deletes, then creates and updates; raises ManageError only at the end.

    `strategies` is the update method by kind key; a kind that has none is OnDelete.
    """
    errors: list[str] = []
    for key, group in sorted(observed.items()):
        undesired = [child for title, child in sorted(group.items()) if title not in desired.get(key, {})]
        for child in undesired:
            _delete(store, child, errors)
    for key, group in sorted(desired.items()):
        try:
            resource = store.discovery.of(next(iter(group.values())))
        except ApiError as error:
            errors.append(str(error))
            continue
        for title, child in sorted(group.items()):
            now = observed.get(key, {}).get(title)
            try:
                if now is None:
                    _create(store, parent, child)
                else:
                    _update(store, resource, strategies.get(key, "OnDelete"), now, child)
            except (ApiError, MergeError) as error:
                errors.append(str(error))
    if errors:
        raise ManageError(errors)


def _delete(store: Store, child: JSON, errors: list[str]) -> None:
    if terminating(child):
        return
    try:
        store.delete(store.discovery.of(child), namespace(child), name(child), uid_is=uid(child))
    except NotFound:
        return
    except ApiError as error:
        errors.append(f"can't delete {child['kind']} {qualified(child)}: {error}")


def _create(store: Store, parent: JSON, child: JSON) -> None:
    new = clone(child)
    set_last_applied(new, child)
    new["metadata"]["ownerReferences"] = [*owners(child), owner_reference(parent)]
    try:
        store.create(new)
    except AlreadyExists:
        return  # somebody else's object of that name: no error, no event, and it stays as it is


def _update(store: Store, resource: Resource, method: str, now: JSON, child: JSON) -> None:
    new = apply_update(now, child)
    if same(new, now) or terminating(now) or method == "OnDelete":
        return
    try:
        if method == "Recreate":
            store.delete(resource, namespace(now), name(now), uid_is=uid(now))
        else:
            store.update(new)
    except (NotFound, Conflict):
        return  # it changed or went while this sync ran; the next one sees it
