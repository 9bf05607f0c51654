"""Health, readiness and metrics on their own port."""

from pathlib import Path

import httpx
import pytest

from app import __version__
from app.server.operations import Readiness, create_operations
from tests.support.recorded import RUNNING, recorded
from tests.support.service import an_app, exchanges, sync


def get(path: str, readiness: Readiness, folder: Path | None = None) -> httpx.Response:
    return exchanges(create_operations(lambda: readiness.word, folder), [("GET", path, b"", {})])[0]


def test_a_pod_gets_no_calls_before_it_can_answer_nor_once_it_drains() -> None:
    readiness = Readiness()
    assert (get("/readyz", readiness).status_code, get("/readyz", readiness).text) == (503, "starting")
    readiness.accepting = True
    assert (get("/readyz", readiness).status_code, get("/readyz", readiness).text) == (200, "ready")
    readiness.draining = True
    assert (get("/readyz", readiness).status_code, get("/readyz", readiness).text) == (503, "draining")


def test_a_draining_pod_is_not_restarted() -> None:
    readiness = Readiness()
    readiness.draining = True
    assert get("/healthz", readiness).status_code == 200


def test_metrics_say_how_long_how_much_and_why_not() -> None:
    app = an_app()
    sync(app, recorded(RUNNING))
    sync(app, [])
    text = get("/metrics", Readiness()).text
    assert 'hangar_hook_call_seconds_count{controller="keeper",hook="sync",outcome="answered"}' in text
    assert 'hangar_hook_call_seconds_count{controller="keeper",hook="sync",outcome="refused"}' in text
    assert 'hangar_hook_request_bytes_sum{controller="keeper",hook="sync"}' in text
    assert 'hangar_hook_response_bytes_sum{controller="keeper",hook="sync"}' in text
    assert 'hangar_hook_refusals_total{reason="unreadable"}' in text
    assert 'hangar_build_info{python="' in text
    assert f'version="{__version__}"' in text


def test_metrics_are_served_before_any_worker_has_counted_anything(tmp_path: Path) -> None:
    response = get("/metrics", Readiness(), tmp_path)
    assert response.status_code == 200
    assert "hangar_build_info" in response.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_operations_are_not_on_the_hooks_port(path: str) -> None:
    assert exchanges(an_app(), [("GET", path, b"", {})])[0].status_code == 404
