"""The permissions: enough for Metacontroller to work, and nothing that a reviewer would ask about."""

from itertools import product
from typing import Any

import pytest

from app.controllers import CONTROLLERS
from app.install.rbac import controller_rules, permissions
from app.kube.hook import HookController

JSON = dict[str, Any]
READ = {"get", "list", "watch"}


def _granted(rules: list[JSON]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for rule in rules:
        for key in product(rule["apiGroups"], rule["resources"]):
            found.setdefault(key, set()).update(rule["verbs"])
    return found


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


every_controller = pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda controller: controller.name)


def test_no_role_has_a_wildcard() -> None:
    for document in permissions(CONTROLLERS):
        for rule in document.get("rules", ()):
            assert not {"*"} & {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}


@every_controller
def test_every_kind_of_child_can_be_made_and_taken_away(controller: HookController) -> None:
    granted = _granted(controller_rules([controller]))
    for child in controller.children:
        verbs = granted[_group(child.api_version), child.resource]
        assert verbs == READ | {"create", "update", "patch", "delete"}


@every_controller
def test_the_parent_gets_its_status_and_its_finalizer(controller: HookController) -> None:
    granted = _granted(controller_rules([controller]))
    group = _group(controller.api_version)
    assert granted[group, controller.resource] == READ | {"update"}
    assert granted[group, f"{controller.resource}/status"] == {"update"}
    assert granted[group, f"{controller.resource}/finalizers"] == {"update"}


@every_controller
def test_what_is_only_related_can_only_be_read(controller: HookController) -> None:
    granted = _granted(controller_rules([controller]))
    children = {(_group(child.api_version), child.resource) for child in controller.children}
    related = {(_group(api_version), resource) for api_version, resource in controller.related}
    assert all(granted[key] == READ for key in related - children)


@every_controller
def test_nothing_is_granted_that_no_controller_names(controller: HookController) -> None:
    named = {(_group(child.api_version), child.resource) for child in controller.children}
    named |= {(_group(api_version), resource) for api_version, resource in controller.related}
    own = {"", "/status", "/finalizers"}
    named |= {(_group(controller.api_version), f"{controller.resource}{part}") for part in own}
    assert set(_granted(controller_rules([controller]))) == named


def test_every_role_is_bound_to_metacontroller_and_to_nobody_else() -> None:
    documents = permissions(CONTROLLERS)
    roles = [d["metadata"]["name"] for d in documents if d["kind"] == "ClusterRole"]
    bindings = [d for d in documents if d["kind"] == "ClusterRoleBinding"]
    assert [b["roleRef"]["name"] for b in bindings] == roles
    account = {"kind": "ServiceAccount", "name": "metacontroller", "namespace": "metacontroller"}
    assert all(b["subjects"] == [account] for b in bindings)


def test_only_the_role_for_the_token_reads_secrets() -> None:
    readers = [
        document["metadata"]["name"]
        for document in permissions(CONTROLLERS)
        if any("secrets" in rule["resources"] for rule in document.get("rules", ()))
    ]
    assert readers == ["hangar-metacontroller-token"]
