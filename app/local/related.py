"""The customize hook: which other objects a parent wants to see, asked once per parent UID and generation."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from app.kube.hook import JSON
from app.local.answers import CUSTOMIZE
from app.local.client import Client
from app.local.clock import Clock
from app.local.index import Place
from app.local.relatedrules import check_rule, fits_quietly, places, resource_of, select
from app.local.resources import Resource
from app.local.table import Change
from app.local.values import listed, mapping, meta, name, namespace, qualified, uid
from app.local.webhook import HookError, TooManyRequests, Webhook

CACHE_SECONDS = 20 * 60.0

ObjectMap = dict[str, dict[str, JSON]]


@dataclass(frozen=True, slots=True)
class Rules:
    """The answer for one parent. `exact` are the objects it names outright, `loose` the rules that must be matched."""

    asked_at: float
    all: tuple[JSON, ...]
    exact: frozenset[Place]
    loose: tuple[JSON, ...]


class Related:
    """The related objects of the parents (of the kinds `parents`) of one controller. Without a hook there are none."""

    def __init__(
        self, client: Client, clock: Clock, controller: JSON, hook: Webhook | None, parents: Sequence[Resource]
    ) -> None:
        self._client = client
        self._clock = clock
        self._controller = controller
        self._hook = hook
        self._parents = parents
        self._cache: dict[tuple[str, int], Rules] = {}
        self._watched: set[str] = set()

    def objects(self, parent: JSON) -> Generator[float, None, ObjectMap]:
        """The related objects by kind and `namespace/name`; a kind that was asked for is always there.

        It yields the simulated seconds that the hook takes. Raises HookError and TooManyRequests of the hook,
        UnknownKind where a rule names a kind that is not served, RuleError and SelectorError for a rule that makes no
        sense.
        """
        found: ObjectMap = {}
        for rule in (yield from self._rules(parent)).all:
            resource = resource_of(self._client, rule)
            check_rule(rule, resource)
            self._watched.add(resource.key)
            selected = select(self._client, resource, rule)
            found.setdefault(resource.key, {}).update({qualified(one): one for one in selected})
        return found

    def watches(self, resource: Resource) -> bool:
        """Whether any parent ever asked for that kind."""
        return resource.key in self._watched

    def interested(self, change: Change) -> list[JSON]:
        """The parents that see the changed object, as it was or as it is."""
        states = [state for state in (change.old, change.new) if state is not None]
        place = (change.resource.key, namespace(change.new), name(change.new))
        found = []
        for resource in self._parents:
            for space, title, identity, generation in self._client.store.versions(resource):
                rules = self._cached(identity, generation) or self._ask_quietly(resource, space, title)
                if rules is not None and (place in rules.exact or self._selects(rules, change.resource, states)):
                    parent = self._client.store.look(resource, space, title)
                    found += [parent] if parent is not None else []
        return found

    def _selects(self, rules: Rules, resource: Resource, states: list[JSON]) -> bool:
        return any(fits_quietly(self._client, rule, resource, one) for rule in rules.loose for one in states)

    def _cached(self, identity: str, generation: int) -> Rules | None:
        rules = self._cache.get((identity, generation))
        return rules if rules and self._clock.elapsed - rules.asked_at <= CACHE_SECONDS else None

    def _rules(self, parent: JSON) -> Generator[float, None, Rules]:
        generation = meta(parent).get("generation", 0)
        rules = self._cached(uid(parent), generation)
        if rules is None:
            rules = self._cache[uid(parent), generation] = yield from self._ask(parent)
        return rules

    def _ask(self, parent: JSON) -> Generator[float, None, Rules]:
        if self._hook is None:
            return Rules(self._clock.elapsed, (), frozenset(), ())
        request = {"controller": self._controller, "parent": parent}
        answer = yield from self._hook.call(request, parent, CUSTOMIZE)
        rules = tuple(mapping(rule) for rule in listed(answer.get("relatedResources")))
        named = [places(self._client, rule) for rule in rules]
        exact = frozenset(place for one in named for place in one)
        loose = tuple(rule for rule, one in zip(rules, named, strict=True) if not one)
        return Rules(self._clock.elapsed, rules, exact, loose)

    def _ask_quietly(self, resource: Resource, space: str, title: str) -> Rules | None:
        """As the real one asks in its event handlers: a failure skips the parent until its next sync."""
        steps = self._rules(self._client.store.get(resource, space, title))
        try:
            while True:
                next(steps)
        except StopIteration as end:
            return end.value if isinstance(end.value, Rules) else None
        except (HookError, TooManyRequests):
            return None
