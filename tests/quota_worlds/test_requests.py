"""What a deployment with a queue is sent: its own Workloads, however many others its namespace holds."""

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.server.application import create_app
from tests.quota_worlds.story import QUEUE, QuotaStory, quota_world
from tests.worlds.story import MINUTE, a_deployment, role

FOREIGN = 2_000


class _Weighed:
    """The hook service, with the size of each sync request on the way in."""

    sizes: list[int]

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/sync"):
            self.sizes.append(int(dict(scope["headers"])[b"content-length"]))
        await self._app(scope, receive, send)


@pytest.fixture(autouse=True)
def weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hook service of the test notes the sizes of its requests."""
    _Weighed.sizes = []
    monkeypatch.setattr("app.cli.cluster.create_app", lambda *given: _Weighed(create_app(*given)))


@quota_world(4)
def test_foreign_workloads_of_the_namespace_add_nothing_to_a_request(story: QuotaStory) -> None:
    """Expected: the request of four replicas is as large beside 2,000 foreign Workloads as alone."""
    story.given(a_deployment(role(replicas=4, queueName=QUEUE))).until_ready().passes(MINUTE)
    alone = _request_now(story)
    for number in range(FOREIGN):
        metadata = {"name": f"foreign-{number}", "namespace": "team-a"}
        spec = {"queueName": "nowhere", "active": False, "podSets": []}
        story.plane.apply(
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata, "spec": spec}
        )
    assert abs(_request_now(story) - alone) < 100, "but for a timestamp or a counter that grew a digit"


def _request_now(story: QuotaStory) -> int:
    """The size of the last request that two edits of no consequence bring about."""
    before = len(_Weighed.sizes)
    story.edited(lambda spec: spec.update(rollout={"gate": "Admitted"})).passes(MINUTE)
    story.edited(lambda spec: spec.update(rollout={"gate": "Ready"})).passes(MINUTE)
    assert len(_Weighed.sizes) >= before + 2
    return _Weighed.sizes[-1]
