"""The customize hook: which other objects a parent wants to see, asked once per parent UID and generation."""

from dataclasses import dataclass

from app.kube.hook import JSON
from app.local import answers
from app.local.clock import Clock
from app.local.errors import ApiError
from app.local.resources import Resource
from app.local.selectors import SelectorError, matches
from app.local.store import Store
from app.local.table import Change
from app.local.values import labels, listed, mapping, meta, name, namespace, qualified, uid
from app.local.webhook import HookError, TooManyRequests, Webhook

CACHE_SECONDS = 20 * 60.0

ObjectMap = dict[str, dict[str, JSON]]


class RuleError(ValueError):
    """A related rule that contradicts itself."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The answer for one parent. `exact` are the objects it names outright, `loose` the rules that must be matched."""

    asked_at: float
    all: tuple[JSON, ...]
    exact: frozenset[tuple[str, str, str]]
    loose: tuple[JSON, ...]


class Related:
    """The related objects of the parents of one controller. Without a hook there are none."""

    def __init__(self, store: Store, clock: Clock, controller: JSON, hook: Webhook | None) -> None:
        self._store = store
        self._clock = clock
        self._controller = controller
        self._hook = hook
        self._cache: dict[tuple[str, int], Rules] = {}
        self._watched: set[str] = set()

    def objects(self, parent: JSON) -> ObjectMap:
        """The related objects by kind and `namespace/name`; a kind that was asked for is always there.

        Raises HookError and TooManyRequests of the hook, UnknownKind where a rule names a kind that is not served,
        RuleError and SelectorError for a rule that makes no sense.
        """
        found: ObjectMap = {}
        for rule in self._rules(parent).all:
            resource = self._resource(rule)
            _check_rule(rule, resource)
            self._watched.add(resource.key)
            found.setdefault(resource.key, {}).update({qualified(one): one for one in self._select(resource, rule)})
        return found

    def watches(self, resource: Resource) -> bool:
        """Whether any parent ever asked for that kind."""
        return resource.key in self._watched

    def interested(self, parents: Resource, change: Change) -> list[JSON]:
        """The parents of a kind that see the changed object, as it was or as it is."""
        states = [state for state in (change.old, change.new) if state is not None]
        place = (change.resource.key, namespace(change.new), name(change.new))
        found = []
        for space, title, identity, generation in self._store.versions(parents):
            rules = self._cached(identity, generation) or self._ask_quietly(parents, space, title)
            if rules is None:
                continue  # the real one skips such a parent too, until its next sync asks again
            loose = (self._fits_quietly(rule, change.resource, one) for rule in rules.loose for one in states)
            if place in rules.exact or any(loose):
                found.append(self._store.get(parents, space, title))
        return found

    def _cached(self, identity: str, generation: int) -> Rules | None:
        rules = self._cache.get((identity, generation))
        return rules if rules and self._clock.elapsed - rules.asked_at <= CACHE_SECONDS else None

    def _rules(self, parent: JSON) -> Rules:
        generation = meta(parent).get("generation", 0)
        rules = self._cached(uid(parent), generation)
        if rules is None:
            rules = self._cache[uid(parent), generation] = self._ask(parent)
        return rules

    def _ask(self, parent: JSON) -> Rules:
        if self._hook is None:
            return Rules(self._clock.elapsed, (), frozenset(), ())
        request = {"controller": self._controller, "parent": parent}
        answer = self._hook.call(request, answers.CUSTOMIZE, "CustomizeHookResponse")
        rules = tuple(mapping(rule) for rule in answer.get("relatedResources", []))
        exact, loose = set(), []
        for rule in rules:
            places = self._places(rule)
            exact.update(places)
            if not places:
                loose.append(rule)
        return Rules(self._clock.elapsed, rules, frozenset(exact), tuple(loose))

    def _places(self, rule: JSON) -> list[tuple[str, str, str]]:
        """The objects that a rule names outright, none where it selects."""
        try:
            resource = self._resource(rule)
        except ApiError:
            return []
        space = str(rule.get("namespace", "")) if resource.namespaced else ""
        if resource.namespaced and not space:
            return []
        return [(resource.key, space, title) for title in listed(rule.get("names"))]

    def _ask_quietly(self, parents: Resource, space: str, title: str) -> Rules | None:
        try:
            return self._rules(self._store.get(parents, space, title))
        except (HookError, TooManyRequests):
            return None

    def _resource(self, rule: JSON) -> Resource:
        return self._store.discovery.resource(str(rule.get("apiVersion", "")), str(rule.get("resource", "")))

    def _fits_quietly(self, rule: JSON, resource: Resource, obj: JSON) -> bool:
        try:
            return self._resource(rule).key == resource.key and self._fits(rule, resource, obj)
        except (ApiError, SelectorError):
            return False

    def _select(self, resource: Resource, rule: JSON) -> list[JSON]:
        places = self._places(rule)
        if places:
            by_name = [self._store.find(resource, space, title) for _, space, title in places]
            return [one for one in by_name if one is not None]
        space = rule.get("namespace") if resource.namespaced else None
        return [one for one in self._store.all_of(resource, space or None) if self._fits(rule, resource, one)]

    def _fits(self, rule: JSON, resource: Resource, obj: JSON) -> bool:
        space, names = rule.get("namespace"), listed(rule.get("names"))
        if names and name(obj) not in names:
            return False
        if space and resource.namespaced and namespace(obj) != space:
            return False
        if "namespaceSelector" in rule:
            spaces = self._store.discovery.kind("v1", "Namespace")
            around = self._store.find(spaces, "", namespace(obj))
            if around is None or not matches(mapping(rule["namespaceSelector"]), labels(around)):
                return False
        return matches(mapping(rule.get("labelSelector")), labels(obj))


def _check_rule(rule: JSON, resource: Resource) -> None:
    if rule.get("names") and ("labelSelector" in rule or "namespaceSelector" in rule):
        raise RuleError("related rule cannot have both names and labelSelector/namespaceSelector specified")
    if rule.get("namespace") and "namespaceSelector" in rule:
        raise RuleError("related rule cannot have both namespace and namespaceSelector specified")
    if "namespaceSelector" in rule and not resource.namespaced:
        raise RuleError("namespaceSelector is only supported for namespaced related resources")
