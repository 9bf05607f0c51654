"""Making the children what the hook's answer says: delete, create, update by strategy.

Errors do not stop the others: they are gathered, and the parent's status is written all the same.
"""

from app.kube.hook import JSON
from app.local.authorization import ControllerInvalid
from app.local.claims import owner_reference
from app.local.client import Client
from app.local.errors import AlreadyExists, ApiError, Conflict, NotFound, UnknownKind
from app.local.merge import MergeError, apply_update, get_last_applied, set_last_applied
from app.local.related import ObjectMap
from app.local.resources import Resource
from app.local.values import mapping, meta, namespace, owners, qualified, same, terminating, uid

METHODS = frozenset({"OnDelete", "Recreate", "InPlace"})


class ManageError(Exception):
    """What went wrong with one or several children; what went wrong the same way is said once."""

    def __init__(self, errors: list[str]) -> None:
        told = list(dict.fromkeys(errors))
        super().__init__(told[0] if len(told) == 1 else f"[{', '.join(told)}]")


class ChildRules:
    """The child kinds of a controller object, and the update method of each.

    Construction raises UnknownKind and ControllerInvalid where the real one does not start.
    """

    def __init__(self, client: Client, rules: list[JSON]) -> None:
        self._client = client
        self._rules = [(str(rule["apiVersion"]), str(rule["resource"])) for rule in rules]
        methods = [mapping(rule.get("updateStrategy")).get("method") or "OnDelete" for rule in rules]
        for (version, plural), method in zip(self._rules, methods, strict=True):
            _require(client, version, plural, method)
        self.keys = frozenset(resource.key for resource in self.resources())
        self._methods: dict[tuple[str, str], str] = {}
        for method, resource in zip(methods, self.resources(), strict=True):
            if method not in METHODS:
                raise ControllerInvalid(f"update strategy {method!r} of {resource.plural} is not imitated here")
            self._methods[resource.group, resource.kind] = method

    def resources(self) -> list[Resource]:
        """The kinds, looked up anew. Raises UnknownKind once one is not served any more."""
        return [self._client.kinds.resource(version, plural) for version, plural in self._rules]

    def method(self, resource: Resource) -> str:
        """The update method of a kind, whatever its version; OnDelete for a kind that is not declared."""
        return self._methods.get((resource.group, resource.kind), "OnDelete")


def _require(client: Client, version: str, plural: str, method: str) -> None:
    """Raises UnknownKind in the words of a controller that cannot be created."""
    try:
        client.kinds.resource(version, plural)
    except UnknownKind as error:
        if method != "OnDelete":
            raise UnknownKind(f'can\'t find child resource "{plural}" in {version}') from error
        words = f"can't create client for {plural}.{version} shared informer: {error}"
        raise UnknownKind(f"can't create informer for child resource: {words}") from error


def desired_map(parent: JSON, children: list[JSON]) -> ObjectMap:
    """The answer's children by kind and name, with the parent's namespace filled in.

    Of two children of one kind and name the later counts. The children are filled in place.
    """
    found: ObjectMap = {}
    for child in children:
        metadata = child.setdefault("metadata", {})
        if not namespace(child) and namespace(parent):
            metadata["namespace"] = namespace(parent)
        found.setdefault(f"{child['kind']}.{child.get('apiVersion', '')}", {})[qualified(child)] = child
    return found


def manage(client: Client, rules: ChildRules, parent: JSON, observed: ObjectMap, desired: ObjectMap) -> None:
    """Deletes, then creates and updates; raises ManageError only at the end."""
    errors: list[str] = []
    for key in sorted(observed, key=_by_group):
        for title, child in sorted(observed[key].items()):
            if title not in desired.get(key, {}) and not terminating(child):
                _delete(client, child, errors)
    for key in sorted(desired, key=_by_group):
        try:
            resource = client.kinds.of(next(iter(desired[key].values())))
        except ApiError as error:
            errors.append(str(error))
            continue
        for title, child in sorted(desired[key].items()):
            now = observed.get(key, {}).get(title)
            try:
                if now is None:
                    _create(client, parent, child)
                else:
                    _update(client, resource, rules.method(resource), now, child)
            except (ApiError, MergeError) as error:
                errors.append(str(error))
    if errors:
        raise ManageError(errors)


def _by_group(key: str) -> tuple[str, str, str]:
    kind, _, api_version = key.partition(".")
    group, _, version = api_version.rpartition("/")
    return group, version, kind


def _delete(client: Client, child: JSON, errors: list[str]) -> None:
    try:
        client.delete(client.kinds.of(child), child, "Background")
    except NotFound:
        return
    except ApiError as error:
        errors.append(f"can't delete {child['kind']} {qualified(child)}: {error}")


def _create(client: Client, parent: JSON, child: JSON) -> None:
    new = {**child, "metadata": dict(meta(child))}
    set_last_applied(new, child)
    if all(one.get("uid") != uid(parent) for one in owners(child)):
        new["metadata"]["ownerReferences"] = [*owners(child), owner_reference(parent)]
    try:
        client.create(new)
    except AlreadyExists:
        return  # somebody else's object of that name: no error, no event, and it stays as it is


def _update(client: Client, resource: Resource, method: str, now: JSON, child: JSON) -> None:
    if method == "OnDelete":
        get_last_applied(now)  # all that can go wrong with a merge that is not written
        return
    new = apply_update(now, child)
    if same(new, now) or terminating(now):
        return
    try:
        if method == "Recreate":
            client.delete(resource, now, "Background")
        else:
            client.update(new)
    except (NotFound, Conflict):
        return  # it changed or went while this sync ran; the next one sees it
