"""A ModelDeployment's life on a real API server, with real garbage collection."""

from collections.abc import Callable

import pytest

from app.kube.hook import JSON
from app.local.errors import NotFound
from tests.e2e.api import Api
from tests.e2e.audit import Write
from tests.e2e.cluster import METACONTROLLER, ControlPlane
from tests.e2e.deployments import Deployment, a_role
from tests.e2e.drivers import Driver, Lacking
from tests.e2e.waiting import eventually

CONTROLLER = "modeldeployments"
RESYNCS = 20

Deploy = Callable[..., Deployment]

pytestmark = pytest.mark.usefixtures("driver")


@pytest.fixture
def deploy(api: Api, space: str) -> Deploy:
    """Creates a deployment of these roles, called `chat` unless named."""

    def create(*roles: JSON, name: str = "chat") -> Deployment:
        deployment = Deployment(api, space, name, *roles)
        deployment.create()
        return deployment

    return create


def _role(spec: JSON, name: str) -> JSON:
    return next(role for role in spec["roles"] if role["name"] == name)


def test_three_roles_become_ready_and_then_nothing_is_written(
    deploy: Deploy, driver: Driver, plane: ControlPlane, space: str
) -> None:
    deployment = deploy(a_role("a"), a_role("b", replicas=2), a_role("c", size=2))
    ready = deployment.await_ready()
    assert len(deployment.pods()) == 1 + 2 + 2
    assert ready["status"]["readyReplicas"] == 4
    try:
        with driver.resyncing(CONTROLLER, seconds=1) as hook:
            # Whoever drives begins anew with the changed controller: from its first call on nothing is new.
            begun = hook.syncs(CONTROLLER)
            eventually(lambda: hook.syncs(CONTROLLER) > begun, "the resyncs begin", 60)
            before, versions = hook.syncs(CONTROLLER), _versions(deployment)
            place = plane.audit.here() if plane.audit else 0
            eventually(lambda: hook.syncs(CONTROLLER) >= before + RESYNCS, f"{RESYNCS} resyncs", 90)
            assert _versions(deployment) == versions
            if plane.audit is not None:
                assert plane.audit.since(0, lambda write: _concerns(write, space))
                assert plane.audit.since(place, lambda write: _concerns(write, space)) == []
    except Lacking as reason:
        pytest.skip(str(reason))


def _versions(deployment: Deployment) -> dict[str, str]:
    objects = [deployment.get(), *deployment.pods(), *deployment.services()]
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in objects}


def _concerns(write: Write, space: str) -> bool:
    return write.user == METACONTROLLER or write.namespace == space


def test_an_edit_of_one_role_restarts_no_other(deploy: Deploy) -> None:
    deployment = deploy(a_role("a", replicas=2), a_role("b", replicas=2))
    deployment.await_ready()
    kept, turned = deployment.uids("a"), deployment.uids("b")
    deployment.edit(lambda spec: _role(spec, "b").update(extraArgs=["--enforce-eager"]))
    deployment.await_ready()
    assert deployment.uids("a") == kept
    after = deployment.uids("b")
    assert after.keys() == turned.keys()
    assert not set(after.values()) & set(turned.values())


def test_scaling_keeps_what_runs(deploy: Deploy) -> None:
    deployment = deploy(a_role("a"))
    deployment.await_ready()
    first = deployment.uids()
    deployment.edit(lambda spec: _role(spec, "a").update(replicas=3))
    deployment.await_ready()
    assert first.items() < deployment.uids().items()
    assert len(deployment.uids()) == 3
    deployment.edit(lambda spec: _role(spec, "a").update(replicas=1))
    eventually(lambda: deployment.uids() == first, "the added replicas are gone, and the first still runs")
    deployment.edit(lambda spec: _role(spec, "a").update(replicas=0))
    eventually(lambda: not deployment.pods(), "scaled to zero")
    deployment.edit(lambda spec: _role(spec, "a").update(replicas=1))
    deployment.await_ready()


def test_a_pod_that_is_deleted_by_hand_comes_back(deploy: Deploy, api: Api) -> None:
    deployment = deploy(a_role("a", replicas=2))
    deployment.await_ready()
    lost, other = deployment.pods()
    api.delete(lost)
    eventually(lambda: lost["metadata"]["uid"] not in deployment.uids().values(), "the Pod is gone")
    deployment.await_ready()
    assert deployment.uids().keys() == {lost["metadata"]["name"], other["metadata"]["name"]}
    assert other["metadata"]["uid"] in deployment.uids().values()


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_a_deleted_deployment_leaves_nothing(deploy: Deploy, propagation: str) -> None:
    deployment = deploy(a_role("a"), a_role("b", size=2))
    deployment.await_ready()
    deployment.delete(propagation)
    # A garbage collector that learned of our kind only now takes half a minute.
    eventually(deployment.gone, "the deployment, its Pods and its Services are gone", 60)


def test_a_name_can_be_used_again_at_once(deploy: Deploy) -> None:
    deployment = deploy(a_role("a", replicas=2))
    deployment.await_ready()
    before = deployment.uids()
    deployment.delete()
    eventually(lambda: _absent(deployment), "the first one is gone")
    again = deploy(a_role("a"))
    again.await_ready()
    assert len(again.pods()) == 1
    assert not set(again.uids().values()) & set(before.values())


def _absent(deployment: Deployment) -> bool:
    try:
        deployment.get()
    except NotFound:
        return True
    return False


def test_a_service_name_of_somebody_else_is_told_and_left_alone(deploy: Deploy, api: Api, space: str) -> None:
    theirs = api.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "chat", "namespace": space},
            "spec": {"ports": [{"port": 80}], "selector": {"app": "theirs"}},
        }
    )
    deployment = deploy(a_role("a"))
    eventually(lambda: deployment.condition("Stalled").get("reason") == "NameTaken", "the taken name is told")
    assert "endpoint" not in deployment.get()["status"]
    assert api.get("Service.v1", f"{space}/chat") == theirs
    api.delete(theirs)
    assert deployment.await_ready()["status"]["endpoint"]
    ours = api.get("Service.v1", f"{space}/chat")
    assert ours["metadata"]["ownerReferences"][0]["name"] == "chat"
