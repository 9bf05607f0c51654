"""A caller that is slow to send its request, or says nothing, is cut off after a bounded time."""

import select
import socket
import time
from collections.abc import Iterator

import orjson
import pytest

from app.server.background import running
from app.settings import ServerSettings
from tests.server.served import closed, connected, head, received
from tests.support.recorded import RUNNING, recorded
from tests.support.service import an_app

PATH = "/keeper/sync"
BODY = orjson.dumps(recorded(RUNNING))
SETTINGS = ServerSettings(read_seconds=1, max_body_bytes=10_000_000)


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """A connection to a service that gives its callers one second."""
    with running(an_app(server=SETTINGS), settings=SETTINGS) as url, connected(url) as found:
        yield found


def trickled(connection: socket.socket, data: bytes) -> None:
    """Sends a byte now and then, until the other side has had enough.

    It looks before each byte: one that is sent after the other side has closed makes the system forget its answer.
    """
    for byte in data:
        if select.select([connection], [], [], 0.1)[0]:
            return
        connection.send(bytes([byte]))


def test_a_connection_on_which_nothing_is_said_is_closed(connection: socket.socket) -> None:
    assert closed(connection)


def test_headers_that_trickle_in_are_cut_off_with_a_sentence(connection: socket.socket) -> None:
    trickled(connection, head(PATH, 10) * 10)
    status, headers, said = received(connection)
    assert (status, headers["connection"]) == (408, "close")
    assert said == "The request's headers did not arrive within 1 s (HANGAR_READ_SECONDS)."
    assert closed(connection)


@pytest.mark.parametrize("length", [len(BODY), None])
def test_a_body_that_trickles_in_is_cut_off_with_a_sentence(connection: socket.socket, length: int | None) -> None:
    connection.sendall(head(PATH, length) + (b"" if length else b"1000\r\n"))
    trickled(connection, BODY)
    status, headers, said = received(connection)
    assert (status, headers["connection"]) == (408, "close")
    sentence, _, came = said.partition(": ")
    assert sentence == "The request's body did not arrive within 1 s (HANGAR_READ_SECONDS)"
    assert came.endswith(f" of {length} bytes came." if length else " bytes came.")
    assert closed(connection)


def test_a_body_that_was_refused_and_never_ends_is_cut_off(connection: socket.socket) -> None:
    connection.sendall(head("/nowhere", 5_000_000) + BODY)
    assert received(connection)[0] == 404
    trickled(connection, BODY)
    assert closed(connection)


def test_an_empty_line_between_two_calls_does_not_hold_the_connection_for_ever(connection: socket.socket) -> None:
    connection.sendall(head(PATH, len(BODY)) + BODY)
    assert received(connection)[0] == 200
    connection.sendall(b"\r\n")
    assert closed(connection)


def test_the_time_counts_for_each_call_and_not_between_them(connection: socket.socket) -> None:
    for _ in range(2):
        connection.sendall(head(PATH, len(BODY)) + BODY)
        assert received(connection)[0] == 200
        time.sleep(1.5)
    connection.sendall(head(PATH, len(BODY))[:-10])
    time.sleep(0.6)
    connection.sendall(head(PATH, len(BODY))[-10:])
    time.sleep(0.6)
    connection.sendall(BODY)
    assert received(connection)[0] == 200


def test_calls_that_are_sent_without_waiting_are_all_answered(connection: socket.socket) -> None:
    connection.sendall((head(PATH, len(BODY)) + BODY) * 3 + head(PATH, len(BODY)))
    time.sleep(0.5)
    connection.sendall(BODY)
    answers = b""
    while answers.count(b"HTTP/1.1 200 OK") < 4:
        more = connection.recv(65536)
        assert more, answers
        answers += more
