"""What the real API server says to every file of `tests/invalid/` and of `examples/`, and to the kinds themselves."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.api.crd import crds
from app.kube.hook import JSON
from app.local.errors import ApiError
from tests.api.test_refusals import INVALID, Invalid
from tests.e2e.api import STEPS, Api, Unprocessable
from tests.e2e.cluster import CRD
from tests.e2e.deployments import a_namespace

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
# etcd takes no object above 1.5 MiB. `kubectl apply` keeps a copy of what it applied in an annotation, and all of an
# object's annotations have room for 256 KiB.
LARGEST_OBJECT = 1536 * 1024
LARGEST_ANNOTATIONS = 256 * 1024
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

pytestmark = pytest.mark.usefixtures("additions")


@pytest.fixture(scope="module")
def space_for_all(api: Api) -> Iterator[str]:
    with a_namespace(api) as name:
        yield name


def _cases(*kinds: str) -> list[object]:
    return [pytest.param(case, id=case.path.stem) for case in INVALID if case.by in kinds]


def _placed(document: JSON, space: str, api: Api) -> JSON:
    if not api.kinds.of(document).namespaced:
        return document
    return {**document, "metadata": {**document["metadata"], "namespace": space}}


@pytest.mark.parametrize("case", _cases("schema", "cel"))
def test_an_invalid_object_is_refused_with_its_sentence(api: Api, space_for_all: str, case: Invalid) -> None:
    (document,) = case.documents
    with pytest.raises(ApiError) as refusal:
        api.create(_placed(document, space_for_all, api), dry_run=True)
    assert case.message in str(refusal.value)


@pytest.mark.parametrize("case", _cases("cel-update"))
def test_a_frozen_field_stays_what_it_was(api: Api, space_for_all: str, case: Invalid) -> None:
    old, new = (_placed(document, space_for_all, api) for document in case.documents)
    stored = api.create({**old, "metadata": {**old["metadata"], "name": f"refused-{secrets.token_hex(3)}"}})
    try:
        edit = [{"op": "replace", "path": "/spec", "value": new["spec"]}]
        with pytest.raises(Unprocessable) as refusal:
            api.patch(stored, edit, content=STEPS, dry_run=True)
        assert case.message in str(refusal.value)
    finally:
        api.delete(stored)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_accepted_field_by_field(api: Api, space_for_all: str, path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        api.create(_placed(document, space_for_all, api), dry_run=True, strict=True)


@pytest.mark.parametrize("crd", crds(), ids=lambda crd: crd["spec"]["names"]["singular"])
def test_a_definition_can_be_applied_by_kubectl_and_stored(api: Api, crd: JSON) -> None:
    annotation = json.dumps(crd)
    assert len(annotation) < LARGEST_ANNOTATIONS
    api.patch(crd, {"metadata": {"annotations": {LAST_APPLIED: annotation}}}, dry_run=True)
    stored = api.get(CRD, crd["metadata"]["name"])
    assert len(json.dumps(stored)) + len(annotation) < LARGEST_OBJECT
