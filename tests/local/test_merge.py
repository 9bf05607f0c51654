"""The three-way merge, as tables: what a person or a server added stays, what the answer dropped goes."""

from typing import Any

import pytest

from app.kube.hook import JSON
from app.local.merge import LAST_APPLIED, MergeError, apply_update, get_last_applied, merge, merge_key, set_last_applied

# observed, last applied, desired, merged
SCALARS_AND_MAPS: dict[str, tuple[JSON, JSON | None, JSON, JSON]] = {
    "a desired value wins": ({"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}),
    "what nobody applied stays": ({"a": 1, "b": 2}, {"a": 1}, {"a": 1}, {"a": 1, "b": 2}),
    "what was applied and is dropped goes": ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}, {"a": 1}),
    "a drift is put back": ({"a": 5}, {"a": 1}, {"a": 1}, {"a": 1}),
    "maps merge at every depth": (
        {"m": {"x": {"server": 1, "ours": 1}}},
        {"m": {"x": {"ours": 1}}},
        {"m": {"x": {"ours": 2}}},
        {"m": {"x": {"server": 1, "ours": 2}}},
    ),
    "a dropped map goes whole, with what others added": ({"m": {"ours": 1, "server": 2}}, {"m": {"ours": 1}}, {}, {}),
    "without a record nothing is removed": ({"a": 1, "b": 2}, None, {"a": 3}, {"a": 3, "b": 2}),
    "a new field is added": ({}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    "null is a value": ({"a": 1}, {"a": 1}, {"a": None}, {"a": None}),
    "a null map keeps what others added": (
        {"m": {"ours": 1, "b": 2}},
        {"m": {"ours": 1}},
        {"m": None},
        {"m": {"b": 2}},
    ),
    "a scalar may become a map": ({"a": 1}, {"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
}

LISTS: dict[str, tuple[list[Any], list[Any], list[Any], list[Any]]] = {
    "scalars are replaced": (["a", "b"], ["a"], ["c"], ["c"]),
    "objects without a common key are replaced": ([{"a": 1}], [{"a": 1}], [{"b": 2}], [{"b": 2}]),
    "containers merge by name, server defaults stay": (
        [{"name": "main", "image": "x:1", "imagePullPolicy": "Always"}],
        [{"name": "main", "image": "x:1"}],
        [{"name": "main", "image": "x:2"}],
        [{"name": "main", "image": "x:2", "imagePullPolicy": "Always"}],
    ),
    "an injected sidecar stays": (
        [{"name": "main"}, {"name": "mesh", "image": "m"}],
        [{"name": "main"}],
        [{"name": "main", "image": "x"}],
        [{"name": "main", "image": "x"}, {"name": "mesh", "image": "m"}],
    ),
    "a dropped item goes": (
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}],
        [{"name": "b"}],
    ),
    "new items follow in the desired order": (
        [{"name": "b"}],
        [{"name": "b"}],
        [{"name": "c"}, {"name": "b"}, {"name": "a"}],
        [{"name": "b"}, {"name": "c"}, {"name": "a"}],
    ),
    "the observed order stays": (
        [{"name": "b"}, {"name": "a"}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}, {"name": "a"}],
    ),
    "numbers are keys too": (
        [{"port": 80, "nodePort": 30000}],
        [{"port": 80}],
        [{"port": 80, "name": "http"}],
        [{"port": 80, "nodePort": 30000, "name": "http"}],
    ),
    "one port under two protocols collapses into the later": (
        [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "UDP"}],
    ),
    "an emptied list keeps what others added": ([{"name": "a"}, {"name": "b"}], [{"name": "a"}], [], [{"name": "b"}]),
}

KEYS: dict[str, tuple[list[list[Any]], str | None]] = {
    "containerPort before name": ([[{"name": "x", "containerPort": 1}]], "containerPort"),
    "port before name": ([[{"name": "x", "port": 1}]], "port"),
    "mountPath before name": ([[{"name": "x", "mountPath": "/x"}]], "mountPath"),
    "name before path": ([[{"name": "x", "path": "/"}]], "name"),
    "uid": ([[{"uid": "x", "ip": "1"}]], "uid"),
    "ip": ([[{"ip": "x", "path": "/"}]], "ip"),
    "path": ([[{"path": "/"}]], "path"),
    "only a key that every item has, in all three lists": ([[{"name": "x", "port": 1}], [{"name": "y"}]], "name"),
    "none in common": ([[{"name": "x"}], [{"port": 1}]], None),
    "a scalar among them": ([[{"name": "x"}, "y"]], None),
    "nothing to go by": ([[], []], None),
}


@pytest.mark.parametrize("case", SCALARS_AND_MAPS)
def test_maps(case: str) -> None:
    observed, last, desired, merged = SCALARS_AND_MAPS[case]
    assert merge(observed, last, desired) == merged


@pytest.mark.parametrize("case", LISTS)
def test_lists(case: str) -> None:
    observed, last, desired, merged = LISTS[case]
    assert merge({"l": observed}, {"l": last}, {"l": desired}) == {"l": merged}


@pytest.mark.parametrize("case", KEYS)
def test_the_key_of_a_list(case: str) -> None:
    lists, key = KEYS[case]
    assert merge_key(*lists) == key


@pytest.mark.parametrize(
    ("observed", "last", "desired", "merged"),
    [
        ({"m": {"a": 1}}, {}, {"m": "x"}, {"m": {"a": 1}}),
        ({"m": {"a": 1, "b": 2}}, {"m": {"a": 1}}, {"m": None}, {"m": {"b": 2}}),
        ({"m": []}, {}, {"m": {}}, {"m": None}),
        ({"m": [1]}, {"m": [1]}, {"m": None}, {"m": None}),
        ({"m": [{"name": "a"}]}, {"m": [{"name": "a"}]}, {"m": None}, {"m": []}),
        ({"m": {"a": {}}}, {"m": {"a": 1}}, {"m": {"a": {}}}, {"m": {"a": {}}}),
    ],
)
def test_a_field_that_changes_its_type_is_never_an_error_and_never_lands(
    observed: JSON, last: JSON, desired: JSON, merged: JSON
) -> None:
    assert merge(observed, last, desired) == merged


def test_the_arguments_stay_untouched() -> None:
    observed, last, desired = {"m": {"a": 1}}, {"m": {"a": 1}}, {"m": {"b": [1]}}
    merged = merge(observed, last, desired)
    merged["m"]["b"].append(2)
    assert (observed, last, desired) == ({"m": {"a": 1}}, {"m": {"a": 1}}, {"m": {"b": [1]}})


def _observed(spec: JSON, applied: JSON | None) -> JSON:
    obj: JSON = {
        "kind": "Part",
        "metadata": {"name": "p", "uid": "1", "resourceVersion": "7", "generation": 3},
        "spec": spec,
        "status": {"phase": "Up"},
    }
    if applied is not None:
        set_last_applied(obj, applied)
    return obj


def test_an_update_never_touches_status_or_system_metadata() -> None:
    desired: JSON = {
        "kind": "Part",
        "metadata": {"name": "p", "uid": "2", "resourceVersion": "1", "deletionTimestamp": "x", "labels": {"a": "b"}},
        "spec": {"size": 1},
        "status": {"phase": "Down"},
    }
    found = apply_update(_observed({"size": 1}, None), desired)
    assert found["status"] == {"phase": "Up"}
    found["metadata"].pop("annotations")
    assert found["metadata"] == {
        "name": "p",
        "uid": "1",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"a": "b"},
    }


def test_an_equal_answer_changes_nothing_at_all() -> None:
    desired: JSON = {"kind": "Part", "metadata": {"name": "p"}, "spec": {"size": 1}}
    first = apply_update(_observed({"size": 1, "finish": "matt"}, None), desired)
    assert apply_update(first, desired) == first


def test_what_the_hook_says_of_the_record_itself_is_ignored() -> None:
    desired: JSON = {
        "kind": "Part",
        "metadata": {"name": "p", "annotations": {LAST_APPLIED: "{}"}},
        "spec": {"size": 1},
    }
    found = apply_update(_observed({}, None), desired)
    assert get_last_applied(found) == {
        "kind": "Part",
        "metadata": {"name": "p", "annotations": {}},
        "spec": {"size": 1},
    }


@pytest.mark.parametrize("text", ["not json", "[]"])
def test_a_record_that_cannot_be_read_is_an_error(text: str) -> None:
    broken = _observed({}, None)
    broken["metadata"]["annotations"] = {LAST_APPLIED: text}
    with pytest.raises(MergeError, match="can't unmarshal"):
        apply_update(broken, {"metadata": {"name": "p"}})
