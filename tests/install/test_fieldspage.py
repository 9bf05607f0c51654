"""docs/fields.md: no field that can be written is missing from it."""

import pytest

from app.api.crd import crds
from app.install.fieldspage import fields_page
from app.install.markdown import fields
from app.kube.hook import JSON


@pytest.mark.parametrize("definition", crds(), ids=lambda definition: str(definition["spec"]["names"]["kind"]))
def test_every_field_of_a_spec_has_its_row(definition: JSON) -> None:
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    kind = definition["spec"]["names"]["kind"]
    section = fields_page().split(f"## {kind}\n")[1].split("\n## ")[0]
    missing = [path for path, _ in fields(schema) if f"| `{path}` |" not in section]
    assert missing == []
