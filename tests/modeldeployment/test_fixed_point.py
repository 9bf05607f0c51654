"""No hot loop: an answer that has been applied brings the deployment to rest.

With nothing behind the API server (no scheduler, no kubelet) each fixture is applied until nothing changes any more.
Transitions may take a few passes (a seat must be empty before it is filled), and clocks run on when nothing else
happens; rest must come, and must last.
"""

from datetime import timedelta

import pytest

from tests.support.answers import answer
from tests.support.builders import a_deployment, pod
from tests.support.fixed_point import applied, snapshot
from tests.support.fixtures import Fixture, fixtures

MOST_PASSES = 40
SYNCS = [fixture for fixture in fixtures() if fixture.hook == "sync"]


@pytest.mark.parametrize("fixture", SYNCS, ids=lambda fixture: fixture.name)
def test_an_applied_answer_comes_to_rest_and_stays_there(fixture: Fixture) -> None:
    envelope, now = fixture.request, fixture.context.now
    for _ in range(MOST_PASSES):
        found = answer(envelope, now)
        after = applied(envelope, found, now)
        if snapshot(after) == snapshot(envelope):
            if found.resync_after_seconds == 0:
                return
            now += timedelta(seconds=found.resync_after_seconds)
        envelope = after
    pytest.fail(f"after {MOST_PASSES} passes there is still something to write")


def test_a_steady_deployment_is_at_rest_at_once() -> None:
    envelope = a_deployment().with_role("server", replicas=2).having(pod("server", 0), pod("server", 1)).with_services()
    first = applied(envelope.request(), answer(envelope.request()))
    assert snapshot(applied(first, answer(first))) == snapshot(first)
