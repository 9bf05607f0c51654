"""Explanations as texts: one for each reason of QuotaReserved, and for what else keeps a deployment from serving.

`pytest --rewrite-fixtures` writes them anew into tests/fixtures/explain; the difference is the review.
"""

import pytest

from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.reasons import Reason
from app.explain import explain
from app.explain.text import lines
from tests.explain.cases import REASONS, WORLDS, World
from tests.support.fixtures import ROOT

FOLDER = ROOT / "explain"
# Told by what comes before any condition: no sync, and a spec that does not validate.
SHARED = {Reason.SPEC_INVALID}


@pytest.mark.parametrize(("name", "world"), WORLDS.items(), ids=WORLDS)
def test_the_explanation_is_the_text_that_was_reviewed(name: str, world: World, rewrite_fixtures: bool) -> None:
    text = "\n".join(lines(explain(world.shelf(), "team-a", "qwen"))) + "\n"
    file = FOLDER / f"{name}.txt"
    if rewrite_fixtures:
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


def test_every_reason_of_the_quota_condition_has_its_text() -> None:
    rows = next(kind.rows for kind in MODEL_DEPLOYMENT_CONDITIONS if kind.type == "QuotaReserved")
    assert {reason for status, reason in rows if status != "True"} - SHARED == REASONS.keys()


@pytest.mark.parametrize(("reason", "world"), REASONS.items(), ids=REASONS)
def test_the_text_of_a_reason_is_about_a_status_that_carries_it(reason: str, world: World) -> None:
    found = explain(world.shelf(), "team-a", "qwen")
    assert [finding.reason for finding in found.waits if finding.about == "QuotaReserved"] == [reason]
    assert all(finding.to_do for finding in found.waits)


def test_no_text_lies_about_without_its_world() -> None:
    assert {file.stem for file in FOLDER.glob("*.txt")} == WORLDS.keys()


@pytest.mark.parametrize(("name", "world"), WORLDS.items(), ids=WORLDS)
def test_explaining_only_reads_and_asks_for_nothing_twice(name: str, world: World) -> None:
    shelf = world.shelf()
    explain(shelf, "team-a", "qwen")
    assert len(shelf.asked) == len(set(shelf.asked)), name
