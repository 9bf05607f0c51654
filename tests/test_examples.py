"""Every example is one that a user can apply as it is: the API server takes it, and the hook renders it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.api.base import API_VERSION
from app.api.kinds import KINDS
from app.kube.hook import SyncRequest
from app.modeldeployment import CONTROLLER
from app.settings import ControllerSettings
from tests.support.apiserver import refusals

JSON = dict[str, Any]
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.yaml"))

every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def _documents(path: Path) -> list[JSON]:
    found = [d for d in yaml.safe_load_all(path.read_text()) if d["apiVersion"] == API_VERSION]
    assert any(d["kind"] == "ModelDeployment" for d in found)
    return found


@every_example
def test_an_example_is_accepted_as_it_is(path: Path) -> None:
    for document in _documents(path):
        assert refusals(document) == []
        model = next(kind.spec for kind in KINDS if kind.kind == document["kind"])
        model.model_validate(document["spec"])  # closed: a misspelt field would be dropped by the API server


@every_example
def test_an_example_gets_its_pods(path: Path) -> None:
    documents = _documents(path)
    types = {d["metadata"]["name"]: d for d in documents if d["kind"] == "InstanceType"}
    for deployment in (d for d in documents if d["kind"] == "ModelDeployment"):
        parent = deployment | {"metadata": {"namespace": "default"} | deployment["metadata"] | {"uid": "u"}}
        parent["metadata"]["generation"] = 1
        related = {f"InstanceType.{API_VERSION}": types, "Service.v1": {}}
        request = SyncRequest(parent, {"Pod.v1": {}, "Service.v1": {}}, related)
        answer = CONTROLLER.sync(request, datetime(2026, 1, 1, tzinfo=UTC), ControllerSettings(kueue=True))
        roles = deployment["spec"]["roles"]
        wanted = sum(role.get("replicas", 1) * role.get("size", 1) for role in roles)
        assert sum(child["kind"] == "Pod" for child in answer.children) == wanted
