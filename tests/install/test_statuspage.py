"""docs/status.md: no reason that the status can carry is missing from it, and none is there that nothing carries."""

from typing import get_args

from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.reasons import AdmissionReason, Reason
from app.api.status import ADMISSION_PHASES, PHASES, AdmissionPhase, Phase
from app.install.statuspage import shared_rows, status_page


def _section(title: str) -> str:
    return status_page().split(f"\n### {title}\n")[1].split("\n##")[0]


def test_every_reason_is_one_that_some_condition_carries() -> None:
    carried = {reason for condition in MODEL_DEPLOYMENT_CONDITIONS for _, reason in condition.rows}
    assert set(Reason) == carried


def test_every_reason_of_a_condition_says_what_it_means_and_what_to_do() -> None:
    page = status_page()
    for condition in MODEL_DEPLOYMENT_CONDITIONS:
        for row in condition.rows:
            status, reason = row
            line = f"| `{status}` | `{reason}` | {reason.meaning} | {reason.action} |"
            shared = row in shared_rows() and not condition.only_when_true
            assert line in (page if shared else _section(condition.type))


def test_what_holds_for_all_conditions_is_said_once() -> None:
    assert shared_rows() == (("Unknown", Reason.SPEC_INVALID), ("Unknown", Reason.PENDING))
    assert status_page().count(f"| `Unknown` | `Pending` | {Reason.PENDING.meaning}") == 1


def test_every_reason_of_admission_is_explained() -> None:
    page = status_page()
    for reason in AdmissionReason:
        assert f"| `{reason}` | {reason.meaning} | {reason.action} |" in page


def test_every_phase_is_explained() -> None:
    assert tuple(PHASES) == get_args(Phase)
    assert tuple(ADMISSION_PHASES) == get_args(AdmissionPhase)
    for phase, meaning in (*PHASES.items(), *ADMISSION_PHASES.items()):
        assert f"| `{phase}` | {meaning} |" in status_page()


def test_sentences_are_whole() -> None:
    for reason in (*Reason, *AdmissionReason):
        for sentence in (reason.meaning, reason.action):
            assert sentence[0].isupper(), reason
            assert sentence.endswith("."), reason
            assert "\n" not in sentence, reason


def test_fields_are_listed_with_their_path() -> None:
    page = status_page()
    for path in ("phase", "admission.reason", "roles[].desired", "replicas[].nodeName", "conditions[].type"):
        assert f"| `{path}` | " in page
