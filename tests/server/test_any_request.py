"""Whatever a request has become on its way: it is refused or answered in full, and never a fault or a deletion."""

from typing import Any

import httpx
import orjson
from hypothesis import given
from hypothesis import strategies as st

from app.cli.recording import hook_of
from app.kube.hook import JSON
from app.modeldeployment import CONTROLLER
from tests.support.cases import cases
from tests.support.keeper import live
from tests.support.recorded import CUSTOMIZE, FINALIZES, SYNCS, recorded
from tests.support.service import an_app, post, sync

KEEPS = an_app()
REAL = an_app(CONTROLLER)
CASES = {name: orjson.dumps(case.request) for name, case in cases().items()}

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(["v1", "v2", "Pod", "Pod.v1", "t/d1-r0", "d1-r0", "t", "", "2026-11-29T12:00:00Z"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def spoilt(draw: st.DrawFn, requests: st.SearchStrategy[JSON], *fields: str) -> JSON:
    """A request with one to three of its values (or of those in `fields`) replaced, removed or moved to another key."""
    request = draw(requests)
    for _ in range(draw(st.integers(1, 3))):
        _spoil(draw, {field: request[field] for field in fields} if fields else request)
    return request


def a_recorded(*names: str) -> st.SearchStrategy[JSON]:
    return st.sampled_from(names).map(recorded)


def a_case(*names: str) -> st.SearchStrategy[JSON]:
    return st.sampled_from([CASES[name] for name in names or CASES]).map(orjson.loads)


def names_of(children: JSON) -> set[tuple[str, str]]:
    """(kind, name) of every live child of a request."""
    return {(key.partition(".")[0], name.partition("/")[2]) for key, name in live(children)}


def answered(response: httpx.Response) -> set[tuple[str, str]]:
    """(kind, name) of every child of an answer."""
    return {(child["kind"], child["metadata"]["name"]) for child in response.json()["children"]}


def _spoil(draw: st.DrawFn, value: Any) -> None:
    """Walks down a few steps and spoils what is there; shallow places are the envelope, and come often."""
    for _ in range(draw(st.integers(0, 6))):
        inner = [key for key in _keys(value) if isinstance(value[key], dict | list) and value[key]]
        if not inner:
            break
        value = value[draw(st.sampled_from(inner))]
    keys = _keys(value)
    if not keys:
        return
    key = draw(st.sampled_from(keys))
    act = draw(st.sampled_from(["replace", "remove", "rename"]))
    if act == "replace":
        value[key] = draw(JUNK)
    elif act == "rename" and isinstance(value, dict):
        value[draw(st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(keys))] = value.pop(key)
    else:
        del value[key]


def _keys(value: Any) -> list[Any]:
    return list(value) if isinstance(value, dict) else list(range(len(value)))


@given(spoilt(a_recorded(*SYNCS)))
def test_no_child_is_lost_because_something_was_not_understood(request: JSON) -> None:
    response = sync(KEEPS, request)
    assert response.status_code in (200, 400, 422), response.text
    if response.status_code == 200:
        assert answered(response) == names_of(request["children"])


@given(spoilt(a_recorded(*FINALIZES)))
def test_a_deletion_is_never_final_because_something_was_not_understood(request: JSON) -> None:
    response = sync(KEEPS, request, "finalize")
    assert response.status_code in (200, 400, 422), response.text
    if response.status_code == 200:
        assert response.json()["finalized"] is not any(request["children"].values())


@given(spoilt(a_recorded(CUSTOMIZE)))
def test_customize_never_fails_over_a_strange_parent(request: JSON) -> None:
    assert sync(KEEPS, request, "customize").status_code in (200, 400, 422)


@given(spoilt(a_case()))
def test_a_model_deployment_never_meets_a_fault_of_ours(request: JSON) -> None:
    hook = hook_of(request)
    response = post(REAL, f"/{CONTROLLER.name}/{hook}", orjson.dumps(request))
    assert response.status_code in (200, 400, 422), response.text


@given(spoilt(a_case("off-keeps-everything-as-it-is"), "controller", "children", "related"))
def test_a_deployment_that_is_off_loses_no_child_whatever_its_children_look_like(request: JSON) -> None:
    response = post(REAL, f"/{CONTROLLER.name}/sync", orjson.dumps(request))
    assert response.status_code in (200, 400, 422), response.text
    if response.status_code == 200:
        assert answered(response) == names_of(request["children"])


@given(st.binary(max_size=64) | st.builds(orjson.dumps, JUNK))
def test_any_bytes_are_refused_with_a_sentence(body: bytes) -> None:
    response = post(KEEPS, "/keeper/sync", body)
    assert response.status_code in (400, 422)
    assert response.text.endswith(".")
