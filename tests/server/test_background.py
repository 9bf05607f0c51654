"""The application behind real sockets: uvicorn, uvloop and httptools, in a thread."""

import socket
from pathlib import Path

import httpx
import orjson
import pytest

from app.server.background import LOOPBACK, NotServing, running
from app.settings import ServerSettings
from tests.support.recorded import RUNNING, recorded
from tests.support.service import an_app


def test_a_recorded_request_is_answered_over_a_socket() -> None:
    with running(an_app()) as url:
        response = httpx.post(f"{url}/keeper/sync", content=orjson.dumps(recorded(RUNNING)))
        assert response.status_code == 200
        assert "server" not in response.headers
    with pytest.raises(httpx.ConnectError):
        httpx.post(f"{url}/keeper/sync", content=b"")


def test_a_large_body_that_is_turned_away_unread_still_gets_its_sentence(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("right")
    app = an_app(server=ServerSettings(token_file=str(tokens), max_body_bytes=1000))
    large = b"x" * 5_000_000
    with running(app) as url, httpx.Client(base_url=url) as client:
        unknown = client.post("/keeper/sync", content=large)
        assert (unknown.status_code, unknown.text[:23]) == (401, "The bearer token is mis")
        too_large = client.post("/keeper/sync", content=large, headers={"Authorization": "Bearer right"})
        assert (too_large.status_code, too_large.text[:20]) == (413, "The request exceeds ")
        # The connection is still good for the next call.
        assert client.post("/keeper/sync", content=b"{", headers={"Authorization": "Bearer right"}).status_code == 400


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(NotServing, match=f"cannot listen on {LOOPBACK} port {port}: Address already in use"),
            running(an_app(), port=port),
        ):
            pytest.fail("it was served twice")
