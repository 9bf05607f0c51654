"""A Pod that ends: it leaves its Service first, lets go of its callers, and finishes what it has begun."""

import os
import signal
import socket
import time

import httpx
import orjson
import pytest

from tests.server.served import PATH, PATIENCE, REQUEST, Served, closed, head, received, serving
from tests.support.realistic import a_busy_deployment


def begun(served: Served, body: bytes = REQUEST) -> socket.socket:
    """A call of which half has been sent."""
    connection = served.connected()
    connection.sendall(head(PATH, len(body)) + body[: len(body) // 2])
    return connection


def idle(served: Served) -> socket.socket:
    """A connection on which a call has been answered, and that is kept alive."""
    connection = served.connected()
    connection.sendall(head(PATH, len(REQUEST)) + REQUEST)
    status, headers, _ = received(connection)
    assert (status, headers.get("connection")) == (200, None)
    return connection


def refused(served: Served) -> bool:
    try:
        served.connected().close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_pod_that_ends_leaves_its_service_before_it_stops_answering() -> None:
    with serving("--no-auth", HANGAR_DRAIN_SECONDS="2") as served:
        served.await_ready()
        served.process.terminate()
        served.until("draining")
        assert served.get("/readyz").text == "draining"
        assert served.get("/healthz").status_code == 200
        assert served.sync().status_code == 200
        assert served.process.wait(timeout=PATIENCE) == 0


def test_a_second_signal_ends_the_drain() -> None:
    with serving("--no-auth", HANGAR_DRAIN_SECONDS="600") as served:
        served.await_ready()
        served.process.terminate()
        served.until("draining")
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=PATIENCE) == 0


def test_a_caller_that_keeps_its_connection_is_sent_to_another_pod_while_calls_are_still_taken() -> None:
    """A Service takes an endpoint from new connections only: without this, the last call would meet a closed one."""
    with serving("--no-auth", HANGAR_DRAIN_SECONDS="600") as served, httpx.Client(base_url=served.hooks) as client:
        served.await_ready()
        assert "connection" not in client.post(PATH, content=REQUEST).headers
        served.process.terminate()
        served.until("draining")
        deadline = time.monotonic() + PATIENCE
        while (response := client.post(PATH, content=REQUEST)).headers.get("connection") != "close":
            assert time.monotonic() < deadline, "connections are kept alive"
        assert response.status_code == 200
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=PATIENCE) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_calls_that_have_begun_are_answered_and_others_turned_away_at_the_end(workers: str) -> None:
    with serving("--no-auth", "--workers", workers) as served:
        served.await_ready()
        for _ in range(int(workers)):
            served.until("Started server process")
        kept = [idle(served) for _ in range(4)]
        calls = [begun(served) for _ in range(6)]
        served.process.terminate()
        served.until("Waiting for connections to close")
        assert all(closed(connection) for connection in kept)
        deadline = time.monotonic() + PATIENCE
        while not refused(served):
            assert time.monotonic() < deadline, "callers still connect, and would wait for nobody"
        for call in calls:
            call.sendall(REQUEST[len(REQUEST) // 2 :])
            status, headers, _ = received(call)
            assert (status, headers["connection"]) == (200, "close")
            call.close()
        assert served.process.wait(timeout=PATIENCE) == 0
        for connection in kept:
            connection.close()


def test_the_largest_call_that_is_being_worked_on_is_answered() -> None:
    body = orjson.dumps(a_busy_deployment(1000).request())
    with serving("--no-auth") as served:
        served.await_ready()
        with served.connected() as call:
            call.sendall(head(PATH, len(body)) + body)
            served.process.terminate()
            status, _, answer = received(call)
        assert status == 200
        assert len(orjson.loads(answer)["children"]) > 1000
        assert served.process.wait(timeout=PATIENCE) == 0


def test_a_caller_that_never_finishes_does_not_keep_the_pod_from_ending() -> None:
    with serving("--no-auth", HANGAR_SHUTDOWN_SECONDS="2") as served:
        served.await_ready()
        with begun(served) as call:
            served.process.terminate()
            status, _, said = received(call)
            assert (status, said[:59]) == (408, "The request's body did not arrive within 2 s (HANGAR_READ_S")
        assert served.process.wait(timeout=PATIENCE) == 0


def test_a_worker_that_hangs_does_not_keep_the_pod_from_ending() -> None:
    with serving("--no-auth", HANGAR_DRAIN_SECONDS="1", HANGAR_SHUTDOWN_SECONDS="1") as served:
        served.await_ready()
        (worker,) = served.workers()
        served.process.terminate()
        served.until("draining")
        os.kill(worker, signal.SIGSTOP)
        served.until("killing worker")
        assert served.process.wait(timeout=PATIENCE) == 0
