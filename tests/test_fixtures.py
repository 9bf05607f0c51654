"""The hook's contract, case by case: `tests/fixtures/modeldeployment/<case>/`, replayed over HTTP."""

import pytest

from app.cli.recording import pretty
from tests.support.cases import Case, cases
from tests.support.fixtures import ROOT, Fixture, fixtures

BUILT = cases()
SYNCS = [fixture for fixture in fixtures() if fixture.hook == "sync"]


@pytest.mark.parametrize("name", BUILT)
def test_a_built_case_is_the_one_on_disk(name: str, rewrite_fixtures: bool) -> None:
    case: Case = BUILT[name]
    fixture = Fixture(ROOT / "modeldeployment" / name)
    if rewrite_fixtures:
        fixture.write("request.json", case.request)
        fixture.write("context.json", case.context)
    assert (fixture.folder / "request.json").read_text() == pretty(case.request)
    assert (fixture.folder / "context.json").read_text() == pretty(case.context)


@pytest.mark.parametrize("name", sorted({*BUILT, *(fixture.name for fixture in fixtures())}))
def test_the_answer_to_a_request_stays_what_was_reviewed(name: str, rewrite_fixtures: bool) -> None:
    fixture = Fixture(ROOT / "modeldeployment" / name)
    answer = fixture.replay()
    if rewrite_fixtures:
        fixture.write("response.json", answer.document)
    assert pretty(answer.document) == fixture.response, "read the difference; --rewrite-fixtures accepts it"


@pytest.mark.parametrize("fixture", SYNCS, ids=lambda fixture: fixture.name)
def test_the_same_request_twice_gives_the_same_bytes(fixture: Fixture) -> None:
    first, second = fixture.replay(), fixture.replay()
    assert first.status == 200
    assert first.body == second.body
