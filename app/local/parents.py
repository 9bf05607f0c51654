"""The parents of one controller: which objects it looks at, and its finalizer on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.kube.hook import JSON
from app.local.authorization import ControllerInvalid
from app.local.client import Client
from app.local.index import Place
from app.local.resources import Resource
from app.local.selectors import SelectorError, matches
from app.local.table import Change
from app.local.values import finalizers, labels, mapping, meta, name, namespace, same, terminating, uid


@dataclass(frozen=True, slots=True)
class ParentRule:
    """One kind of parents. Empty selectors fit every object; `annotations` is a label selector over annotations."""

    resource: Resource
    labels: JSON
    annotations: JSON
    ignores_status: bool

    @classmethod
    def of(cls, client: Client, rule: JSON) -> "ParentRule":
        """The rule of a controller object. Raises UnknownKind, ControllerInvalid."""
        resource = client.kinds.resource(str(rule.get("apiVersion")), str(rule.get("resource")))
        by_annotation = mapping(rule.get("annotationSelector"))
        annotations = {
            "matchLabels": mapping(by_annotation.get("matchAnnotations")),
            "matchExpressions": by_annotation.get("matchExpressions") or [],
        }
        found = cls(resource, mapping(rule.get("labelSelector")), annotations, rule.get("ignoreStatusChanges") is True)
        try:
            found.selects({})
        except SelectorError as error:
            raise ControllerInvalid(str(error)) from error
        return found

    def selects(self, obj: JSON) -> bool:
        """Whether both selectors fit."""
        return matches(self.labels, labels(obj)) and matches(self.annotations, mapping(meta(obj).get("annotations")))


class Parents:
    """All parents of a controller. `finalizer` is its own, `finalizes` whether it has a finalize hook."""

    def __init__(self, client: Client, rules: Sequence[ParentRule], finalizer: str, *, finalizes: bool) -> None:
        self._client = client
        self._rules = {rule.resource.key: rule for rule in rules}
        self._finalizer = finalizer
        self._finalizes = finalizes

    @property
    def resources(self) -> list[Resource]:
        """The kinds."""
        return [rule.resource for rule in self._rules.values()]

    def place(self, parent: JSON) -> Place:
        """Under what a parent is queued."""
        return self._resource(parent).key, namespace(parent), name(parent)

    def find(self, place: Place) -> JSON | None:
        """The parent that is queued under `place`, as stored, if the controller looks at it."""
        parent = self._client.store.look(self._rules[place[0]].resource, place[1], place[2])
        return parent if parent is not None and self.concerns_us(parent) else None

    def all(self) -> Iterator[JSON]:
        """Every parent that the controller looks at, as stored."""
        for resource in self.resources:
            yield from (one for one in self._client.store.look_all(resource) if self.concerns_us(one))

    def owner(self, child: JSON, reference: JSON) -> JSON | None:
        """The parent that an owner reference names, by group and kind whatever its version, or None."""
        group = str(reference.get("apiVersion", "")).rpartition("/")[0]
        for resource in self.resources:
            if (resource.group, resource.kind) == (group, reference.get("kind")):
                found = self._client.store.look(resource, namespace(child), str(reference.get("name")))
                if found is not None and uid(found) == reference.get("uid"):
                    return found
        return None

    def selected(self, parent: JSON) -> bool:
        """Whether the selectors of its kind fit."""
        rule = self._rules.get(f"{parent.get('kind')}.{parent.get('apiVersion')}")
        return rule is not None and rule.selects(parent)

    def concerns_us(self, parent: JSON) -> bool:
        """Whether the controller looks at this parent: it is selected, or our finalizer still waits."""
        return self._finalizer in finalizers(parent) or self.selected(parent)

    def is_ignored(self, change: Change) -> bool:
        """With `ignoreStatusChanges`: an update of neither generation, labels nor annotations, of a live parent."""
        rule = self._rules[change.resource.key]
        if not rule.ignores_status or change.type != "MODIFIED" or change.old is None or terminating(change.new):
            return False
        seen = ("generation", "labels", "annotations")
        return all(same(meta(change.old).get(field), meta(change.new).get(field)) for field in seen)

    def finalizing(self, parent: JSON) -> bool:
        """Whether the finalize hook answers for it: it is being deleted, or is selected no more."""
        return self._finalizes and (terminating(parent) or not self.selected(parent))

    def managed_while_deleted(self, parent: JSON) -> bool:
        """Whether children are still managed in deletion: not once the collector takes them, or we have let it go."""
        held = finalizers(parent)
        return self._finalizes and self._finalizer in held and not {"foregroundDeletion", "orphan"} & set(held)

    def with_finalizer(self, parent: JSON) -> JSON:
        """The parent with our finalizer put on, or taken off where there is no finalize hook (any more)."""
        present = self._finalizer in finalizers(parent)
        if self._finalizes == present or (self._finalizes and terminating(parent)):
            return parent
        others = self.other_finalizers(parent)
        return self._write(parent, [*others, self._finalizer] if self._finalizes else others)

    def let_go(self, parent: JSON) -> JSON:
        """Takes our finalizer off; the parent as it is then."""
        return self._write(parent, self.other_finalizers(parent))

    def other_finalizers(self, parent: JSON) -> list[str]:
        """The finalizers that are not ours."""
        return [one for one in finalizers(parent) if one != self._finalizer]

    def _write(self, parent: JSON, wanted: list[str]) -> JSON:
        current = self._client.store.get(self._resource(parent), namespace(parent), name(parent))
        if wanted:
            current["metadata"]["finalizers"] = wanted
        else:
            current["metadata"].pop("finalizers", None)
        return self._client.update(current)

    def _resource(self, parent: JSON) -> Resource:
        return self._rules[f"{parent['kind']}.{parent['apiVersion']}"].resource
