"""The controller objects: what a forgotten line in them would cost is known, so each line has its test."""

from typing import Any

import pytest

from app.controllers import CONTROLLERS
from app.install.controllers import SecretKey, composite
from app.kube.hook import HookController
from app.settings import ControllerSettings

JSON = dict[str, Any]
URL = "http://127.0.0.1:8080"
CLUSTER_SCOPED = {"instancetypes"}

every_controller = pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda controller: controller.name)


def _parent(**spec: Any) -> JSON:
    return {
        "apiVersion": "hangar.dev/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": "chat", "namespace": "team-a", "uid": "u"},
        "spec": spec,
    }


PARENTS = {
    "one role": _parent(roles=[{"name": "server"}]),
    "a type and several Pods": _parent(roles=[{"name": "server", "size": 2, "instanceType": "h100"}]),
    "no spec": _parent(),
    "a spec that does not validate": _parent(roles="none"),
}


@every_controller
def test_an_edit_reaches_every_kind_of_child(controller: HookController) -> None:
    # Metacontroller's default strategy is OnDelete: a rule that states none hides edits.
    rules = composite(controller, URL)["spec"]["childResources"]
    assert len(rules) == len(controller.children) > 0
    methods = {rule["resource"]: rule["updateStrategy"]["method"] for rule in rules}
    assert methods["pods"] == "OnDelete"
    assert set(methods.values()) <= {"OnDelete", "InPlace"}


@every_controller
def test_children_of_others_are_never_adopted_by_a_broad_selector(controller: HookController) -> None:
    assert composite(controller, URL)["spec"]["generateSelector"] is True


@every_controller
def test_own_status_writes_do_not_call_the_hook_again(controller: HookController) -> None:
    spec = composite(controller, URL)["spec"]
    assert spec["parentResource"]["ignoreStatusChanges"] is True
    assert spec["resyncPeriodSeconds"] == 600


@every_controller
def test_every_hook_speaks_version_2_in_time(controller: HookController) -> None:
    hooks = composite(controller, URL)["spec"]["hooks"]
    assert {name: hook["webhook"]["url"] for name, hook in hooks.items()} == {
        name: f"{URL}/{controller.name}/{name}" for name in ("sync", "finalize", "customize")
    }
    assert {hook["version"] for hook in hooks.values()} == {"v2"}
    assert {name: hook["webhook"]["timeout"] for name, hook in hooks.items()} == {
        "sync": "30s",
        "finalize": "30s",
        "customize": "3s",
    }


@every_controller
def test_an_etag_cache_has_both_of_its_times(controller: HookController) -> None:
    # With one alone Metacontroller panics and never starts the controller.
    hooks = composite(controller, URL)["spec"]["hooks"]
    etags = {name: hook["webhook"].get("etag") for name, hook in hooks.items()}
    assert etags.pop("customize") is None
    for etag in etags.values():
        assert etag["enabled"] is True
        assert etag["cacheTimeoutSeconds"] > 0
        assert etag["cacheCleanupSeconds"] > 0


@every_controller
def test_the_bearer_token_is_sent_to_the_service_and_to_nobody_else(controller: HookController) -> None:
    url = "http://hangar.hangar-system.svc:8080"
    spec = composite(controller, url, SecretKey("hangar-token", "hangar-system", "token"))["spec"]
    (endpoint,) = spec["endpointConfigs"]
    assert endpoint["host"] == "hangar.hangar-system.svc:8080"
    assert endpoint["authorization"] == {
        "type": "Bearer",
        "secretRef": {"name": "hangar-token", "namespace": "hangar-system", "key": "token"},
    }
    # A setting on a webhook itself would take the place of the endpoint's.
    assert all("authorization" not in hook["webhook"] for hook in spec["hooks"].values())
    assert "endpointConfigs" not in composite(controller, url)["spec"]


@pytest.mark.parametrize("parent", PARENTS.values(), ids=PARENTS)
@every_controller
def test_no_related_rule_matches_a_whole_cluster(controller: HookController, parent: JSON) -> None:
    # In version 2 a rule without a namespace matches all of them, and one without names every object.
    for rule in controller.customize(parent, ControllerSettings(kueue=True)):
        assert (rule.api_version, rule.resource) in controller.related
        assert rule.names
        assert (rule.namespace is None) == (rule.resource in CLUSTER_SCOPED)
        assert rule.namespace in (None, "team-a")
