"""docs/quota.md: no reason that quota can have is missing, and what the page tells people to type is there."""

import re
from pathlib import Path

import pytest

from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.reasons import AdmissionReason, Reason
from app.cli.main import app
from app.explain.replicas import OF_QUOTA
from app.settings import known_variables

PAGE = (Path(__file__).parent.parent / "docs" / "quota.md").read_text()
HEADINGS = {word for line in re.findall(r"^### (.*)$", PAGE, re.MULTILINE) for word in line.split(", ")}
SHARED = {Reason.SPEC_INVALID}


def test_every_reason_of_the_quota_condition_has_its_paragraph_and_no_other_has() -> None:
    rows = next(kind.rows for kind in MODEL_DEPLOYMENT_CONDITIONS if kind.type == "QuotaReserved")
    assert {reason for _, reason in rows} - SHARED == HEADINGS


@pytest.mark.parametrize("reason", sorted(OF_QUOTA - {AdmissionReason.PARKED}))
def test_every_wait_for_quota_is_explained(reason: AdmissionReason) -> None:
    assert f"| `{reason}` |" in PAGE


def test_every_verb_and_setting_that_the_page_names_exists() -> None:
    verbs = {command.callback.__name__ for command in app.registered_commands if command.callback}
    assert {"explain", "resume"} == set(re.findall(r"hangar ([a-z]+)", PAGE)) <= verbs
    assert set(re.findall(r"HANGAR_\w+", PAGE)) <= known_variables()
