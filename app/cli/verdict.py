"""What Metacontroller would do with an answer: whether it takes it at all, and what then happens to the children.

Every rule was seen on Metacontroller 4.17.2 with hook version v2. The strict reading is the one of the local control
plane.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.cli.effects import count, in_words, on_children
from app.cli.recording import Answer, hook_of
from app.kube.hook import JSON
from app.kube.pods import mapping, maps
from app.local import answers
from app.local.answers import COMPOSITE, CUSTOMIZE, DECORATOR, AnswerError, Shape
from app.local.children import desired_map
from app.local.claims import LabelError, label
from app.local.selectors import SelectorError


@dataclass(frozen=True, slots=True)
class Verdict:
    """`refusal` is why Metacontroller acts on nothing, empty where it takes the answer; `effect` is what it does then.

    `warnings` are what is easily not meant.
    """

    refusal: str = ""
    effect: str = ""
    warnings: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The verdict as sentences."""
        if self.refusal:
            yield f"Metacontroller refuses this answer and changes nothing: {self.refusal}"
        if self.effect:
            yield f"Metacontroller {self.effect}"
        yield from self.cautions()

    def cautions(self) -> Iterator[str]:
        """The warnings as sentences."""
        yield from (f"Beware: {warning}" for warning in self.warnings)


def judge(request: JSON, answer: Answer) -> Verdict:
    """The verdict on the answer to a request of a composite's or a decorator's sync, finalize or customize hook."""
    hook = hook_of(request)
    if answer.status == 429:
        return _later(answer.headers.get("Retry-After", ""))
    if answer.status != 200:
        return Verdict(f"unsupported status code: {answer.status} body: {answer.body.decode(errors='replace')}")
    configured = mapping(mapping(mapping(mapping(request.get("controller")).get("spec")).get("hooks")).get(hook))
    if configured.get("version") != "v2":
        return Verdict(
            effect="reads this answer as hook version v1, of which nothing is told here: write `version: v2`"
        )
    decorator = mapping(request.get("controller")).get("kind") == "DecoratorController"
    try:
        if hook == "customize":
            return _related(_read(answer, CUSTOMIZE, hook, configured))
        if decorator:
            return _attached(request, _read(answer, DECORATOR, hook, configured))
        return _composed(request, _read(answer, COMPOSITE, hook, configured))
    except (AnswerError, LabelError, SelectorError) as problem:
        return Verdict(str(problem))


def _read(answer: Answer, shape: Shape, hook: str, configured: JSON) -> JSON:
    """The answer as Metacontroller decodes it. Raises AnswerError."""
    loose = mapping(configured.get("webhook")).get("responseUnMarshallMode") == "loose"
    return answers.read(answer.body, shape, hook, strict=not loose)


def _later(retry_after: str) -> Verdict:
    if re.fullmatch(r"[1-9][0-9]*", retry_after):
        return Verdict(effect=f"changes nothing and calls again in {retry_after} s, without an event")
    stated = f"Retry-After is {retry_after!r}" if retry_after else "there is no Retry-After"
    return Verdict(
        effect="changes nothing and calls again at once",
        warnings=(f"{stated}: without a whole number of seconds it calls some 300 times a second",),
    )


def _related(answer: JSON) -> Verdict:
    rules = maps(answer.get("relatedResources"))
    warnings = [
        f"the rule for {rule.get('resource')} has no names and no labelSelector, so it selects every object of the kind"
        for rule in rules
        if not rule.get("names") and not rule.get("labelSelector")
    ]
    warnings += [
        f"the rule for {rule.get('resource')} has no namespace, so it selects in all of them if the kind has one"
        for rule in rules
        if not rule.get("namespace") and "namespaceSelector" not in rule and rule.get("labelSelector")
    ]
    return Verdict(
        effect=f"takes this answer: {count(len(rules), 'rule')} for related objects", warnings=tuple(warnings)
    )


def _composed(request: JSON, answer: JSON) -> Verdict:
    parent, observed = mapping(request.get("parent")), mapping(request.get("children"))
    controller = mapping(request.get("controller"))
    if "parentResource" not in mapping(controller.get("spec")):
        controller = {"spec": {"generateSelector": True}}  # cut down for a test: it says nothing of labels
    wanted = desired_map(parent, answer.get("children", []))
    label(controller, parent, (child for group in wanted.values() for child in group.values()))
    effect, warnings = on_children(parent, observed, wanted, finalizing=hook_of(request) == "finalize")
    if "status" not in answer:
        warnings.append(
            "there is no status, so the stored one is wiped: send parent.status back where nothing can be said"
        )
    return Verdict(effect=in_words(effect, answer, observed), warnings=tuple(warnings))


def _attached(request: JSON, answer: JSON) -> Verdict:
    root, observed = mapping(request.get("object")), mapping(request.get("attachments"))
    wanted = desired_map(root, answer.get("attachments", []))
    effect, warnings = on_children(root, observed, wanted, finalizing=hook_of(request) == "finalize")
    for field in ("labels", "annotations"):
        if answer.get(field):
            effect.append(f"writes the {field} {', '.join(sorted(answer[field]))} to the {root.get('kind')}")
    return Verdict(effect=in_words(effect, answer, observed), warnings=tuple(warnings))
