"""`hangar replay --url`: recorded requests to a hook that is not Hangar's, as Metacontroller would post them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.cli.main import exit_code
from app.kube.hook import JSON
from app.server.background import running
from tests.support.recorded import CUSTOMIZE, DECORATOR, FINALIZES, RUNNING, recorded

DONE: JSON = {"status": {"phase": "Ready"}, "children": []}


@dataclass
class Hook:
    """A hook that gives one answer to everything, and remembers what it was asked."""

    reply: Callable[[], Response]
    calls: list[tuple[str, JSON, str]] = field(default_factory=list)
    url: str = ""
    delay: float = 0

    async def endpoint(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        await asyncio.sleep(self.delay)
        self.calls.append((request.url.path, body, request.headers.get("authorization", "")))
        return self.reply()


@contextmanager
def a_hook(document: Any = None, status: int = 200, **headers: str) -> Iterator[Hook]:
    """A hook on a free loopback port."""
    content = document if isinstance(document, bytes) else orjson.dumps(DONE if document is None else document)
    hook = Hook(lambda: Response(content, status, headers))
    with running(Starlette(routes=[Route("/{path:path}", hook.endpoint, methods=["POST"])])) as hook.url:
        yield hook


def a_case(folder: Path, request: JSON, response: Any = None) -> Path:
    """A fixture on disk; the path of its request."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "request.json").write_bytes(orjson.dumps(request))
    if response is not None:
        (folder / "response.json").write_bytes(orjson.dumps(response))
    return folder / "request.json"


@pytest.mark.parametrize(
    ("name", "path"),
    [(RUNNING, "/sync"), (FINALIZES[1], "/finalize"), (CUSTOMIZE, "/customize"), (DECORATOR, "/dsync")],
)
def test_the_path_is_that_of_the_recorded_controller(name: str, path: str, tmp_path: Path) -> None:
    document: JSON = {"relatedResources": []} if name == CUSTOMIZE else {}
    with a_hook(document) as hook:
        assert exit_code(["replay", str(a_case(tmp_path, recorded(name))), "--url", hook.url]) == 0
    assert hook.calls == [(path, recorded(name), "")]


def test_a_path_in_the_url_is_taken_as_it_is(tmp_path: Path) -> None:
    with a_hook() as hook:
        assert exit_code(["replay", str(a_case(tmp_path, recorded(RUNNING))), "--url", f"{hook.url}/mine"]) == 0
    assert hook.calls[0][0] == "/mine"


def test_a_controller_that_names_a_service_has_a_path_too(tmp_path: Path) -> None:
    request = recorded(RUNNING)
    request["controller"]["spec"]["hooks"]["sync"]["webhook"] = {"service": {"name": "a"}, "path": "/from/service"}
    with a_hook() as hook:
        assert exit_code(["replay", str(a_case(tmp_path, request)), "--url", hook.url]) == 0
    assert hook.calls[0][0] == "/from/service"


def test_a_bearer_token_is_sent(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first-line\nsecond\n")
    with a_hook() as hook:
        file = str(a_case(tmp_path, recorded(RUNNING)))
        assert exit_code(["replay", file, "--url", hook.url, "--token-file", str(token)]) == 0
    assert hook.calls[0][2] == "Bearer first-line"


def test_the_answer_is_printed_and_the_verdict_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with a_hook({"children": []}) as hook:
        assert exit_code(["replay", str(a_case(tmp_path, recorded(RUNNING))), "--url", hook.url]) == 0
    said = capsys.readouterr()
    assert orjson.loads(said.out) == {"children": []}
    assert said.err.splitlines() == [
        "Metacontroller takes this answer: deletes Pod t/d1-r0, Pod t/d1-r1, Pod t/d1-r2",
        "Beware: it lists no child, so every one of them is deleted",
        "Beware: there is no status, so the stored one is wiped: send parent.status back where nothing can be said",
    ]


@pytest.mark.parametrize(
    ("document", "status", "words"),
    [
        ({**DONE, "foo": 1}, 200, 'unknown field "foo"'),
        (b"boom", 500, "unsupported status code: 500 body: boom"),
        (b"<html>", 200, "can't unmarshal webhookResponse"),
    ],
)
def test_an_answer_that_metacontroller_would_refuse_fails(
    document: Any, status: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_hook(document, status) as hook:
        assert exit_code(["replay", str(a_case(tmp_path, recorded(RUNNING))), "--url", hook.url]) == 1
    assert words in capsys.readouterr().err


def test_busy_is_told_but_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with a_hook(b"later", 429, **{"Retry-After": "7"}) as hook:
        assert exit_code(["replay", str(a_case(tmp_path, recorded(RUNNING))), "--url", hook.url]) == 1
    assert capsys.readouterr().err == "Metacontroller changes nothing and calls again in 7 s, without an event\n"


def test_a_folder_of_fixtures_is_compared_with_a_line_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_case(tmp_path / "a" / "same", recorded(RUNNING), DONE)
    a_case(tmp_path / "b-other", recorded(RUNNING), {"status": {"phase": "Starting"}, "children": []})
    a_case(tmp_path / "c-new", recorded(RUNNING))
    with a_hook() as hook:
        assert exit_code(["replay", str(tmp_path), "--url", hook.url]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0].isalpha()] == ["equal", "differs", "new"]
    assert lines[0] == "equal    a/same"
    assert [line for line in lines if line[0] in "+-"] == [
        f"--- {tmp_path}/b-other/response.json",
        "+++ the response now",
        '-    "phase": "Starting"',
        '+    "phase": "Ready"',
    ]
    assert lines[-1] == "3 fixtures: 1 equal, 1 differs, 1 new"
    assert sum("Beware: it lists no child" in line for line in lines) == 3


def test_answers_are_kept_when_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_case(tmp_path / "new", recorded(RUNNING))
    with a_hook() as hook:
        assert exit_code(["replay", str(tmp_path), "--url", hook.url, "--rewrite"]) == 0
        assert exit_code(["replay", str(tmp_path), "--url", hook.url]) == 0
        assert exit_code(["replay", str(tmp_path / "new" / "request.json"), "--url", hook.url, "--rewrite"]) == 0
    assert orjson.loads((tmp_path / "new" / "response.json").read_bytes()) == DONE
    assert f"Written to {tmp_path}/new/response.json." in capsys.readouterr().out


def test_a_refusal_that_was_reviewed_is_what_is_expected(tmp_path: Path) -> None:
    a_case(tmp_path, recorded(RUNNING), {"refused": "no such thing"})
    with a_hook(b"no such thing", 422) as hook:
        assert exit_code(["replay", str(tmp_path), "--url", hook.url]) == 0


def test_what_was_redacted_may_be_anything_but_nothing_else_may(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    response = {"status": {"at": "postgres://redacted-1@db", "key": "redacted-2"}, "children": []}
    a_case(tmp_path, recorded(RUNNING), response)
    with a_hook({"status": {"at": "postgres://u:p@db", "key": "k"}, "children": []}) as hook:
        assert exit_code(["replay", str(tmp_path), "--url", hook.url]) == 0
    with a_hook({"status": {"at": "postgres://u:p@other", "key": "k"}, "children": []}) as hook:
        assert exit_code(["replay", str(tmp_path), "--url", hook.url]) == 1
    assert '+    "at": "postgres://u:p@other"' in capsys.readouterr().out


def test_one_address_is_one_hook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_case(tmp_path / "a", recorded(RUNNING), DONE)
    a_case(tmp_path / "b", recorded(CUSTOMIZE), {"relatedResources": []})
    with a_hook() as hook:
        assert exit_code(["replay", str(tmp_path), "--url", f"{hook.url}/sync"]) == 2
    assert "is one hook, and there are cases of customize and sync: leave out its path" in capsys.readouterr().err
    assert hook.calls == []


def test_a_hook_that_does_not_run_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with a_hook() as hook:
        pass
    file = a_case(tmp_path, recorded(RUNNING))
    for target in (file, tmp_path):
        assert exit_code(["replay", str(target), "--url", hook.url]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"hangar: {hook.url}/sync cannot be reached: ")
        assert said.endswith("; is the hook running?\n")


def test_a_hook_slower_than_its_time_out_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = recorded(RUNNING)
    request["controller"]["spec"]["hooks"]["sync"]["webhook"]["timeout"] = "50ms"
    with a_hook() as hook:
        hook.delay = 0.5
        assert exit_code(["replay", str(a_case(tmp_path, request)), "--url", hook.url]) == 2
    assert "gave no answer within 0.05 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--url", "localhost:8080"], "localhost:8080 is no URL of a hook: write for example http://127.0.0.1:8080"),
        (["--url", "ftp://host"], "is no URL of a hook"),
        (["--token-file", "t"], "--token-file goes with --url"),
        (["--url", "http://h", "--token-file", "/nowhere/token"], "/nowhere/token: No such file"),
        (["--url", "http://h", "--context", "c.json"], "the one behind --url has its own clock"),
        (["--against", "r.json", "--rewrite"], "leave --against out"),
    ],
)
def test_options_that_do_not_go_together_are_a_mistake(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["replay", str(a_case(tmp_path, recorded(RUNNING))), *options]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff", "käse\n".encode()])
def test_a_token_file_without_a_token_is_a_mistake(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_bytes(content)
    file = str(a_case(tmp_path, recorded(RUNNING)))
    assert exit_code(["replay", file, "--url", "http://h", "--token-file", str(tmp_path / "token")]) == 2
    assert f"{tmp_path}/token " in capsys.readouterr().err


def test_a_controller_without_any_path_asks_for_the_whole_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = recorded(RUNNING)
    request["controller"]["spec"]["hooks"]["sync"]["webhook"] = {}
    assert exit_code(["replay", str(a_case(tmp_path, request)), "--url", "http://127.0.0.1:9"]) == 2
    assert "names no path for sync: give --url the whole address" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"[]", b"null", b'"x"'])
def test_a_file_that_is_no_request_is_not_posted(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "request.json").write_bytes(content)
    with a_hook() as hook:
        assert exit_code(["replay", str(tmp_path / "request.json"), "--url", hook.url]) == 2
        assert exit_code(["replay", str(tmp_path), "--url", hook.url]) == 2
    assert hook.calls == []
    assert "request.json is no request of Metacontroller's" in capsys.readouterr().err
