"""Requests: what a real Metacontroller sends is understood, and whatever is not is refused by its path."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from app.kube.hook import JSON, HookController, Unreadable
from app.wire.requests import NotJSON, SyncHook, parse_customize, parse_sync
from tests.support.keeper import KEEPER
from tests.support.recorded import CUSTOMIZE, FINALIZES, RUNNING, SYNCS, recorded

POD = "t/d1-r0"


@pytest.mark.parametrize(
    ("name", "hook"), [(name, "sync") for name in SYNCS] + [(name, "finalize") for name in FINALIZES]
)
def test_a_recorded_request_arrives_whole(name: str, hook: SyncHook) -> None:
    request = recorded(name)
    parsed = parse_sync(orjson.dumps(request), KEEPER, hook)
    assert parsed.parent == request["parent"]
    assert parsed.children == request["children"]
    assert parsed.related == request["related"]
    assert parsed.finalizing is (hook == "finalize")


def test_a_recorded_customize_request_gives_its_parent() -> None:
    request = recorded(CUSTOMIZE)
    assert parse_customize(orjson.dumps(request), KEEPER) == request["parent"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the body is empty"),
        (b"{", "at byte 1"),
        (b'{"parent": NaN}', "not JSON"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_what_is_not_json_is_said_to_be_so(body: bytes, words: str) -> None:
    with pytest.raises(NotJSON, match=words):
        parse_sync(body, KEEPER, "sync")


@pytest.mark.parametrize("body", [b"null", b"[]", b"3", b'"v2"', b"true"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Unreadable) as refusal:
        parse_sync(body, KEEPER, "sync")
    assert refusal.value.path == "$"
    assert not isinstance(refusal.value, NotJSON)


Change = Callable[[JSON], object]


def put(*path: str, value: Any) -> Change:
    def change(request: JSON) -> None:
        for key in path[:-1]:
            request = request[key]
        request[path[-1]] = value

    return change


def drop(*path: str) -> Change:
    def change(request: JSON) -> None:
        for key in path[:-1]:
            request = request[key]
        del request[path[-1]]

    return change


def rename(group: str, old: str, new: str) -> Change:
    def change(request: JSON) -> None:
        request[group][new] = request[group].pop(old)

    return change


def rekey_child(new: str) -> Change:
    def change(request: JSON) -> None:
        pods = request["children"]["Pod.v1"]
        pods[new] = pods.pop(POD)

    return change


REFUSALS: dict[str, tuple[Change, str, str]] = {
    "no controller": (drop("controller"), "controller", "is missing"),
    "a decorator's request": (
        put("controller", "kind", value="DecoratorController"),
        "controller.kind",
        "serves a CompositeController",
    ),
    "controller without spec": (drop("controller", "spec"), "controller.spec", "is missing"),
    "controller without hooks": (put("controller", "spec", "hooks", value=[]), "controller.spec.hooks", "is a list"),
    "hook absent": (
        put("controller", "spec", "hooks", value={"customize": {"version": "v2"}}),
        "controller.spec.hooks.sync",
        "is missing",
    ),
    "hook version absent": (
        drop("controller", "spec", "hooks", "sync", "version"),
        "controller.spec.hooks.sync.version",
        "is absent, which means v1: write `version: v2`",
    ),
    "hook version v1": (
        put("controller", "spec", "hooks", "sync", "version", value="v1"),
        "controller.spec.hooks.sync.version",
        "is `v1`",
    ),
    "no parent": (drop("parent"), "parent", "is missing"),
    "parent null": (put("parent", value=None), "parent", "is null"),
    "parent of another kind": (
        put("parent", "kind", value="Deployment"),
        "parent",
        "is of `test.example/v1alpha1` `Deployment`, and /keeper/sync serves test.example/v1alpha1 ModelDeployment",
    ),
    "parent of another version": (put("parent", "apiVersion", value="test.example/v1"), "parent", "`test.example/v1`"),
    "parent without metadata": (drop("parent", "metadata"), "parent.metadata", "is missing"),
    "parent without name": (drop("parent", "metadata", "name"), "parent.metadata.name", "is missing"),
    "parent without namespace": (drop("parent", "metadata", "namespace"), "parent.metadata.namespace", "is missing"),
    "parent with an empty uid": (put("parent", "metadata", "uid", value=""), "parent.metadata.uid", "is empty"),
    "parent with a number as uid": (put("parent", "metadata", "uid", value=7), "parent.metadata.uid", "is a number"),
    "no children": (drop("children"), "children", "is missing"),
    "children null": (put("children", value=None), "children", "is null"),
    "children a list": (put("children", value=[]), "children", "is a list"),
    "a kind's children null": (put("children", "Pod.v1", value=None), 'children["Pod.v1"]', "is not an object"),
    "a kind without version": (rename("children", "Pod.v1", "Pod"), 'children["Pod"]', "is no kind"),
    "a kind of another version": (
        rename("children", "Pod.v1", "Pod.v2"),
        f'children["Pod.v2"]["{POD}"].apiVersion',
        "is `v1`, and the map's key says `v2`",
    ),
    "a child among another kind": (
        put("children", "Pod.v1", POD, "kind", value="Service"),
        f'children["Pod.v1"]["{POD}"].kind',
        "is `Service`",
    ),
    "a child without kind": (
        drop("children", "Pod.v1", POD, "kind"),
        f'children["Pod.v1"]["{POD}"].kind',
        "is `null`",
    ),
    "a child without apiVersion": (
        drop("children", "Pod.v1", POD, "apiVersion"),
        f'children["Pod.v1"]["{POD}"].apiVersion',
        "is `null`",
    ),
    "a child that is a string": (
        put("children", "Pod.v1", POD, value="d1-r0"),
        f'children["Pod.v1"]["{POD}"]',
        "is not an object",
    ),
    "a child that is null": (
        put("children", "Pod.v1", POD, value=None),
        f'children["Pod.v1"]["{POD}"]',
        "is not an object",
    ),
    "a child without metadata": (
        drop("children", "Pod.v1", POD, "metadata"),
        f'children["Pod.v1"]["{POD}"].metadata.name',
        "is missing",
    ),
    "a child without name": (
        drop("children", "Pod.v1", POD, "metadata", "name"),
        f'children["Pod.v1"]["{POD}"].metadata.name',
        "is missing",
    ),
    "a child with a number as name": (
        put("children", "Pod.v1", POD, "metadata", "name", value=7),
        f'children["Pod.v1"]["{POD}"].metadata.name',
        "is missing",
    ),
    "a child with a number as namespace": (
        put("children", "Pod.v1", POD, "metadata", "namespace", value=7),
        f'children["Pod.v1"]["{POD}"].metadata.namespace',
        "is not a string",
    ),
    "a child under a v1 key": (
        rekey_child("d1-r0"),
        'children["Pod.v1"]["d1-r0"]',
        "keys objects by namespace/name, so write `version: v2`",
    ),
    "a child under another's name": (
        rekey_child("t/d1-r9"),
        'children["Pod.v1"]["t/d1-r9"]',
        f"holds the object `{POD}`",
    ),
    "a child in an empty namespace": (
        lambda request: (
            put("children", "Pod.v1", POD, "metadata", "namespace", value="")(request),
            rekey_child("/d1-r0")(request),
        ),
        'children["Pod.v1"]["/d1-r0"]',
        "holds the object `d1-r0`",
    ),
    "a child beside another parent": (
        put("parent", "metadata", "namespace", value="u"),
        'children["Pod.v1"]["t/d1-r0"].metadata.namespace',
        "is `t`, and children live beside their parent",
    ),
    "a child that is cluster-scoped": (
        lambda request: (
            drop("children", "Pod.v1", POD, "metadata", "namespace")(request),
            rekey_child("d1-r0")(request),
        ),
        'children["Pod.v1"]["d1-r0"].metadata.namespace',
        "is ``",
    ),
    "a declared kind is not sent": (
        drop("children", "Service.v1"),
        'children["Service.v1"]',
        "add services of v1 to the CompositeController's childResources",
    ),
    "finalizing missing": (drop("finalizing"), "finalizing", "is missing"),
    "finalizing a string": (put("finalizing", value="false"), "finalizing", "is a string"),
    "finalizing on the sync route": (put("finalizing", value=True), "finalizing", "point hooks.finalize"),
    "related missing beside a customize hook": (drop("related"), "related", "is missing"),
    "related null beside a customize hook": (put("related", value=None), "related", "is null"),
    "a related object that is a list": (
        put("related", "Workload.kueue.x-k8s.io/v1beta2", "t/d1-r", value=[]),
        'related["Workload.kueue.x-k8s.io/v1beta2"]["t/d1-r"]',
        "is not an object",
    ),
    "no customize hook where one is needed": (
        lambda request: (
            drop("controller", "spec", "hooks", "customize")(request),
            drop("related")(request),
        ),
        "controller.spec.hooks.customize",
        "point it at /keeper/customize",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_nothing_is_answered_when_something_is_not_understood(case: str) -> None:
    change, path, words = REFUSALS[case]
    request = recorded(RUNNING)
    change(request)
    with pytest.raises(Unreadable) as refusal:
        parse_sync(orjson.dumps(request), KEEPER, "sync")
    assert refusal.value.path == path
    assert words in refusal.value.problem


def test_a_sync_that_reaches_finalize_does_not_let_everything_go() -> None:
    request = recorded(RUNNING)
    request["controller"]["spec"]["hooks"]["finalize"] = {"version": "v2"}
    with pytest.raises(Unreadable, match=r"point hooks\.sync of the CompositeController at /keeper/sync"):
        parse_sync(orjson.dumps(request), KEEPER, "finalize")


def test_children_of_a_newer_version_are_seen_after_a_rollback() -> None:
    request = recorded(RUNNING)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "t"}}
    request["children"]["Secret.v1"] = {"t/s": secret}
    assert parse_sync(orjson.dumps(request), KEEPER, "sync").children["Secret.v1"]["t/s"] == secret


@pytest.mark.parametrize("absent", [drop("related"), put("related", value=None)])
def test_a_controller_without_customize_needs_no_related_objects(absent: Change) -> None:
    alone: HookController = replace(KEEPER, related=())
    request = recorded(RUNNING)
    absent(request)
    drop("controller", "spec", "hooks", "customize")(request)
    assert parse_sync(orjson.dumps(request), alone, "sync").related == {}


def test_cluster_scoped_objects_are_keyed_by_their_name() -> None:
    request = recorded(RUNNING)
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cq"}}
    request["related"]["ClusterQueue.kueue.x-k8s.io/v1beta2"] = {"cq": queue}
    parsed = parse_sync(orjson.dumps(request), KEEPER, "sync")
    assert parsed.related["ClusterQueue.kueue.x-k8s.io/v1beta2"]["cq"] == queue


def test_a_refusal_stays_short_whatever_the_request_holds() -> None:
    request = recorded(RUNNING)
    request["parent"]["kind"] = "x\n" * 100_000
    with pytest.raises(Unreadable) as refusal:
        parse_sync(orjson.dumps(request), KEEPER, "sync")
    assert len(str(refusal.value)) < 500
    assert "\n" not in str(refusal.value)


def test_customize_of_another_version_is_refused() -> None:
    request = recorded(CUSTOMIZE)
    del request["controller"]["spec"]["hooks"]["customize"]["version"]
    with pytest.raises(Unreadable, match=r"controller\.spec\.hooks\.customize\.version"):
        parse_customize(orjson.dumps(request), KEEPER)
