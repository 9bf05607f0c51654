"""The hook application over HTTP: answers, refusals with a way out, and what the log says about each call."""

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from prometheus_client.registry import REGISTRY

from app.kube.hook import SyncAnswer, SyncRequest
from app.settings import ControllerSettings, ServerSettings
from tests.support.keeper import KEEPER, live
from tests.support.recorded import CUSTOMIZE, FINALIZES, RUNNING, SYNCS, recorded
from tests.support.service import an_app, exchanges, post, sync

TOKEN = "s3cr3t-token"


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize("name", SYNCS)
def test_a_recorded_sync_keeps_every_live_child(name: str) -> None:
    request = recorded(name)
    response = sync(an_app(), request)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert answer.keys() == {"status", "children", "resyncAfterSeconds"}
    assert len(answer["children"]) == len(live(request["children"]))


@pytest.mark.parametrize(("name", "final"), [(FINALIZES[0], True), (FINALIZES[1], False)])
def test_a_recorded_finalize_is_final_once_nothing_is_left(name: str, final: bool) -> None:
    response = sync(an_app(), recorded(name), "finalize")
    assert response.json() == {
        "status": {"phase": "Deleting"},
        "children": [],
        "resyncAfterSeconds": 0,
        "finalized": final,
    }


def test_a_recorded_customize_gets_its_rules() -> None:
    response = sync(an_app(), recorded(CUSTOMIZE), "customize")
    assert [rule["names"] for rule in response.json()["relatedResources"]] == [["d0"], ["lq"]]
    assert "etag" not in response.headers


def test_an_answer_that_did_not_change_is_not_sent_again() -> None:
    app, request = an_app(), recorded(RUNNING)
    before = counted("hangar_hook_not_modified_total", controller="keeper", hook="sync")
    first = sync(app, request)
    again = sync(app, request, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert counted("hangar_hook_not_modified_total", controller="keeper", hook="sync") == before + 1


def test_a_parent_made_again_under_its_name_gets_its_own_answer() -> None:
    app, request = an_app(), recorded(RUNNING)
    tag = sync(app, request).headers["etag"]
    request["parent"]["metadata"]["uid"] = "another"
    assert sync(app, request, headers={"If-None-Match": tag}).status_code == 200


def test_what_is_not_json_is_a_400_and_what_is_not_understood_a_422() -> None:
    app = an_app()
    nonsense = post(app, "/keeper/sync", b"{")
    assert (nonsense.status_code, nonsense.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert nonsense.text.startswith("$: not JSON")
    old = recorded(RUNNING)
    old["controller"]["spec"]["hooks"]["sync"]["version"] = "v1"
    refused = sync(app, old)
    assert refused.status_code == 422
    assert refused.text == (
        "controller.spec.hooks.sync.version: is `v1`: write `version: v2` in the CompositeController."
    )


def test_other_paths_and_methods_say_what_there_is() -> None:
    app = an_app()
    lost, read = exchanges(app, [("POST", "/sync", b"", {}), ("GET", "/keeper/sync", b"", {})])
    assert lost.status_code == 404
    assert lost.text == "No hook has this path; there are /keeper/sync, /keeper/finalize, /keeper/customize."
    assert (read.status_code, read.headers["allow"]) == (405, "POST")
    assert read.text == "Hooks are called with POST."


class Unread:
    """A body that fails the test when somebody reads it."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")


@pytest.fixture
def guarded(tmp_path: Path) -> ServerSettings:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\nthe-next-one\n")
    return ServerSettings(token_file=str(file))


@pytest.mark.parametrize("given", [None, "", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer nope", f"Bearer {TOKEN}x"])
def test_a_caller_without_a_token_is_turned_away_before_its_body_is_read(
    guarded: ServerSettings, given: str | None
) -> None:
    headers = {} if given is None else {"Authorization": given}
    response = post(an_app(server=guarded), "/keeper/sync", Unread(), headers)  # type: ignore[arg-type]
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.text.endswith("give the CompositeController's webhook the token of HANGAR_TOKEN_FILE.")
    assert TOKEN not in response.text


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", "bearer the-next-one", f"Bearer  {TOKEN} "])
def test_both_tokens_are_accepted_while_one_is_being_replaced(guarded: ServerSettings, given: str) -> None:
    assert sync(an_app(server=guarded), recorded(RUNNING), headers={"Authorization": given}).status_code == 200


def test_a_body_beyond_the_limit_is_refused_by_its_length_alone() -> None:
    app = an_app(server=ServerSettings(max_body_bytes=1024 * 1024))
    response = post(app, "/keeper/sync", Unread(), {"Content-Length": "1048577"})  # type: ignore[arg-type]
    assert response.status_code == 413
    assert response.text == (
        "The request exceeds 1 MiB (HANGAR_MAX_BODY_BYTES=1048576): "
        "raise that setting, or declare fewer replicas per deployment."
    )


def test_a_body_without_a_length_is_refused_while_it_arrives() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 600

    app = an_app(server=ServerSettings(max_body_bytes=1000))
    assert post(app, "/keeper/sync", endless()).status_code == 413


def test_a_body_at_the_limit_is_read() -> None:
    body = orjson.dumps(recorded(RUNNING))
    app = an_app(server=ServerSettings(max_body_bytes=len(body)))
    assert post(app, "/keeper/sync", body).status_code == 200
    assert post(app, "/keeper/sync", body + b" ").status_code == 413


def broken(_request: SyncRequest, _now: datetime, _settings: ControllerSettings) -> SyncAnswer:
    raise RuntimeError("of the parent's password hunter2")


def lossy(_request: SyncRequest, _now: datetime, _settings: ControllerSettings) -> SyncAnswer:
    return SyncAnswer(None, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("fault", [broken, lossy])
def test_a_fault_of_ours_changes_nothing_and_names_its_line_in_the_log(
    fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = an_app(replace(KEEPER, sync=fault))
    response = sync(app, recorded(RUNNING), headers={"X-Request-Id": "call-7"})
    assert response.status_code == 500
    assert response.text == "Hangar failed on this call and changed nothing; its log says why under request id call-7."
    traced = [record for record in caplog.records if record.exc_info]
    assert len(traced) == 1
    assert fields(traced[0])["requestId"] == "call-7"


def test_a_status_that_is_too_large_is_sent_and_noted(caplog: pytest.LogCaptureFixture) -> None:
    def talkative(_request: SyncRequest, _now: datetime, _settings: ControllerSettings) -> SyncAnswer:
        return SyncAnswer({"text": "x" * 200_000}, [])

    assert sync(an_app(replace(KEEPER, sync=talkative)), recorded(RUNNING)).status_code == 200
    (line,) = [record for record in caplog.records if record.name == "app.server.calls"]
    assert line.getMessage() == "a status of 200011 bytes exceeds 131072"
    assert fields(line)["name"] == "d1"


def test_a_customize_rule_that_would_match_everything_is_a_fault() -> None:
    app = an_app(replace(KEEPER, related=()))
    assert sync(app, recorded(CUSTOMIZE), "customize").status_code == 500


def fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = record.__dict__["fields"]
    return found


def test_each_call_is_one_line_with_who_what_and_how_much(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    request = recorded(RUNNING)
    response = sync(an_app(), request, headers={"X-Request-Id": "abc-1"})
    assert response.headers["x-request-id"] == "abc-1"
    (line,) = [record for record in caplog.records if record.name == "hangar.calls"]
    said = fields(line)
    assert said.pop("milliseconds") > 0
    assert said == {
        "path": "/keeper/sync",
        "requestId": "abc-1",
        "controller": "keeper",
        "hook": "sync",
        "namespace": "t",
        "name": "d1",
        "generation": request["parent"]["metadata"]["generation"],
        "status": 200,
        "outcome": "answered",
        "bytesIn": len(orjson.dumps(request)),
        "bytesOut": len(response.content),
        "childrenObserved": 3,
        "childrenAnswered": 3,
    }


def test_a_refused_call_is_logged_with_its_reason_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    before = counted("hangar_hook_refusals_total", reason="unreadable")
    request = recorded(RUNNING)
    request["children"] = None
    response = sync(an_app(), request)
    (line,) = [record for record in caplog.records if record.name == "hangar.calls"]
    assert line.levelname == "WARNING"
    assert (fields(line)["reason"], fields(line)["problem"]) == ("unreadable", response.text)
    assert counted("hangar_hook_refusals_total", reason="unreadable") == before + 1


def test_neither_a_token_nor_a_body_reaches_the_log(guarded: ServerSettings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    request = recorded(RUNNING)
    request["parent"]["spec"]["password"] = "hunter2"
    app = an_app(server=guarded)
    assert sync(app, request, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert sync(app, request, headers={"Authorization": "Bearer a-wrong-one"}).status_code == 401
    said = " ".join(str(record.__dict__) for record in caplog.records)
    assert not any(secret in said for secret in (TOKEN, "a-wrong-one", "hunter2"))


@pytest.mark.parametrize("given", ["", "x" * 65, "two\nlines", 'quote"', "späce"])
def test_a_request_id_that_could_spoil_the_log_is_replaced(given: str) -> None:
    response = sync(an_app(), recorded(RUNNING), headers={"X-Request-Id": given.encode()})  # type: ignore[dict-item]
    assert len(response.headers["x-request-id"]) == 16
    assert response.headers["x-request-id"].isalnum()


def test_settings_and_time_reach_the_controller() -> None:
    seen: list[tuple[datetime, str]] = []

    def note(request: SyncRequest, now: datetime, settings: ControllerSettings) -> SyncAnswer:
        seen.append((now, settings.cluster_id))
        return KEEPER.sync(request, now, settings)

    sync(an_app(replace(KEEPER, sync=note)), recorded(RUNNING))
    assert [(now.isoformat(), cluster) for now, cluster in seen] == [("2026-11-29T13:00:00+00:00", "")]
