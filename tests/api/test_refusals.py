"""Files that the API server must refuse, each with its message.

A file of `tests/invalid/` begins with `# message:`, a piece of what the refusal says, and `# by:`: `schema`
(structural), `cel` (a rule), or `cel-update` (a rule that compares: the first document is stored, the second refused).
`# repeat: x 32769` may follow: `{repeat}` then stands for that many x, so that no file holds a value of 33 KB.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from app.api.crd import object_schema
from app.api.kinds import KINDS
from app.api.modeldeployment import Engine
from app.api.problems import sentence
from tests.support.apiserver import refusals

ROOT = Path(__file__).parents[2]
JSON = dict[str, Any]


@dataclass(frozen=True)
class Invalid:
    """One file of `tests/invalid/`."""

    path: Path
    message: str
    by: str
    documents: tuple[JSON, ...]

    @classmethod
    def read(cls, path: Path) -> "Invalid":
        text = path.read_text()
        head = re.match(r"# message: (.+)\n# by: (schema|cel|cel-update)\n(?:# repeat: (\S+) ([0-9]+)\n)?", text)
        assert head, f"{path.name} must begin with `# message:` and `# by: schema|cel|cel-update`"
        if head[3]:
            text = text.replace("{repeat}", head[3] * int(head[4]))
        return cls(path, head[1], head[2], tuple(yaml.safe_load_all(text)))

    @property
    def is_in_the_models(self) -> bool:
        """Whether the hook refuses it too: it reads the spec alone, and leaves duplicates in lists to Kubernetes."""
        return self.by == "schema" and self.message.startswith("spec.") and "Duplicate value" not in self.message


INVALID = [Invalid.read(path) for path in sorted((ROOT / "tests" / "invalid").glob("*.yaml"))]


def _by(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(c, id=c.path.stem) for c in INVALID if c.by in kinds])


def _rules(schema: JSON) -> list[JSON]:
    inner = [*schema.get("properties", {}).values()]
    inner += [part for part in (schema.get("items"), schema.get("additionalProperties")) if part]
    return [*schema.get("x-kubernetes-validations", ()), *(rule for part in inner for rule in _rules(part))]


@_by("schema", "cel")
def test_an_invalid_object_is_refused_with_its_one_sentence(case: Invalid) -> None:
    (document,) = case.documents
    (refusal,) = refusals(document)
    assert case.message in refusal


@_by("cel-update")
def test_a_frozen_field_stays_what_it_was(case: Invalid) -> None:
    old, new = case.documents
    assert refusals(old) == []
    assert refusals(new) == []
    (refusal,) = refusals(new, old)
    assert case.message in refusal


@pytest.mark.parametrize("case", [pytest.param(c, id=c.path.stem) for c in INVALID if c.is_in_the_models])
def test_the_hook_does_not_render_what_the_schema_refuses(case: Invalid) -> None:
    (document,) = case.documents
    model = next(kind.spec for kind in KINDS if kind.kind == document["kind"])
    with pytest.raises(ValidationError):
        model.model_validate(document["spec"])


@pytest.mark.parametrize("version", ["0.12.0 ", "0.12.0+cu129", "-1", "a/b", "a:b"])
def test_a_version_that_no_tag_can_hold_is_told_in_words(version: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Engine.model_validate({"name": "vLLM", "version": version})
    words = "spec.engine.version must be letters, digits, dots, dashes and underscores, as in the tag of an image"
    assert sentence(refusal.value, "spec.engine") == words


@pytest.mark.parametrize("version", ["0.12.0", "v0.12.0", "0.12.0rc1", "nightly", "latest", "0.12.0-cu129", "_1"])
def test_a_version_may_be_whatever_a_tag_is(version: str) -> None:
    assert Engine.model_validate({"name": "vLLM", "version": version}).version == version


@pytest.mark.parametrize("message", sorted({rule["message"] for kind in KINDS for rule in _rules(object_schema(kind))}))
def test_every_rule_has_a_file_that_it_refuses(message: str) -> None:
    assert [case for case in INVALID if case.message == message and case.by != "schema"]
