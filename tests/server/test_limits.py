"""More work than can be done is sent away in the one way that Metacontroller repeats quietly."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, MutableMapping
from contextlib import ExitStack
from typing import Any

import httpx
import orjson
import pytest

from app.server.background import running
from app.server.limits import Load
from app.server.outcomes import Refused
from app.settings import ServerSettings
from tests.server.served import connected, head, received
from tests.support.recorded import CUSTOMIZE, RUNNING, recorded
from tests.support.service import an_app


def test_the_call_beyond_the_limit_is_told_to_come_back_in_a_whole_second() -> None:
    load = Load(max_calls=2, max_bytes=1000)
    with load.taken(1), load.taken(1):
        with pytest.raises(Refused) as refusal, load.taken(1):
            pytest.fail("a third call was taken")
        assert refusal.value.status == 429
        assert int(refusal.value.headers["Retry-After"]) == 1
    with load.taken(1):
        pass


def test_bytes_that_wait_count_too() -> None:
    load = Load(max_calls=10, max_bytes=1000)
    with load.taken(600):
        with load.taken(400):
            pass
        with pytest.raises(Refused), load.taken(401):
            pytest.fail("more bytes were taken than may wait")


def test_a_lone_call_is_taken_whatever_its_size() -> None:
    load = Load(max_calls=1, max_bytes=10)
    with load.taken(10_000):
        pass


def test_a_call_that_fails_gives_its_place_back() -> None:
    load = Load(max_calls=1, max_bytes=10)
    for _ in range(2):
        with pytest.raises(RuntimeError), load.taken(1):
            raise RuntimeError


def test_a_busy_service_still_answers_customize_and_finishes_what_it_began() -> None:
    """Customize is called inside Metacontroller's informers, where a refusal would lose an event."""
    body = orjson.dumps(recorded(RUNNING))

    async def run() -> tuple[httpx.Response, httpx.Response, httpx.Response]:
        arrived, rest = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield body[:10]
            arrived.set()
            await rest.wait()
            yield body[10:]

        transport = httpx.ASGITransport(app=an_app(server=ServerSettings(max_calls=1)))
        async with httpx.AsyncClient(transport=transport, base_url="http://hangar") as client:
            slow = asyncio.create_task(client.post("/keeper/sync", content=slowly()))
            await arrived.wait()
            second = await client.post("/keeper/sync", content=body)
            customize = await client.post("/keeper/customize", content=orjson.dumps(recorded(CUSTOMIZE)))
            rest.set()
            return await slow, second, customize

    slow, second, customize = asyncio.run(run())
    assert (second.status_code, second.headers["retry-after"]) == (429, "1")
    assert customize.status_code == 200
    assert slow.status_code == 200


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_slow_upload_gives_its_place_to_the_next_caller() -> None:
    clock = Clock()
    load = Load(max_calls=2, max_bytes=1000, clock=clock)
    with load.taken(1) as slow:
        clock.now = 10
        with load.taken(1) as quick, load.taken(1):
            assert (slow.gave_way, quick.gave_way) == (True, False)
            with pytest.raises(Refused), load.taken(1):
                pytest.fail("the place was given away twice")
    with load.taken(1), load.taken(1):
        pass


def test_a_slow_upload_is_left_alone_while_there_is_room() -> None:
    clock = Clock()
    load = Load(max_calls=2, max_bytes=1000, clock=clock)
    with load.taken(1) as slow:
        clock.now = 10
        with load.taken(999):
            assert not slow.gave_way
        with load.taken(1000):
            assert slow.gave_way


def test_a_caller_is_not_slow_because_the_service_was_busy() -> None:
    """Were it so, every newcomer would send away the one that has waited longest, and nobody would be answered."""
    clock = Clock()
    load = Load(max_calls=1, max_bytes=1000, clock=clock)
    with load.taken(1) as waiting:
        with load.answering():
            clock.now = 10
        with pytest.raises(Refused), load.taken(1):
            pytest.fail("one more was taken")
        assert not waiting.gave_way


def test_a_body_without_a_length_counts_as_it_arrives() -> None:
    load = Load(max_calls=10, max_bytes=1000)
    with load.taken(0) as one, load.taken(0) as other:
        load.received(one, 600)
        with pytest.raises(Refused), load.taken(401):
            pytest.fail("more bytes were taken than may wait")
        with pytest.raises(Refused):
            load.received(other, 401)
    with load.taken(600), load.taken(400):
        pass


def test_slow_callers_keep_no_sync_from_being_answered() -> None:
    body = orjson.dumps(recorded(RUNNING))
    path, settings = "/keeper/sync", ServerSettings(max_calls=2)
    with running(an_app(server=settings), settings=settings) as url, ExitStack() as opened:
        slow = [opened.enter_context(connected(url)) for _ in range(2)]
        for connection in slow:
            connection.sendall(head(path, len(body)) + body[:100])
        deadline = time.monotonic() + 30
        while (response := httpx.post(url + path, content=body)).status_code != 200:
            assert time.monotonic() < deadline, "slow callers hold all places"
            assert (response.status_code, response.headers["retry-after"]) == (429, "1")
            time.sleep(0.1)
        # One has made room, and the other need not.
        status, headers, _ = received(slow[0])
        assert (status, headers["retry-after"]) == (429, "1")
        assert [httpx.post(url + path, content=body).status_code for _ in range(5)] == [200] * 5
        slow[1].sendall(body[100:])
        assert received(slow[1])[0] == 200


def test_many_large_calls_at_once_are_all_answered_in_the_end() -> None:
    request = recorded(RUNNING)
    request["parent"]["metadata"]["annotations"] = {"large": "x" * 2_000_000}
    body = orjson.dumps(request)
    settings = ServerSettings(max_calls=3, max_body_bytes=3_000_000)
    outcomes: list[list[int]] = []

    def call(url: str) -> None:
        statuses: list[int] = []
        while not statuses or statuses[-1] == 429:
            response = httpx.post(f"{url}/keeper/sync", content=body, timeout=60)
            statuses.append(response.status_code)
            if response.status_code == 429:
                assert response.headers["retry-after"] == "1"
                time.sleep(0.05)
        outcomes.append(statuses)

    with running(an_app(server=settings), settings=settings) as url:
        callers = [threading.Thread(target=call, args=(url,)) for _ in range(16)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert [statuses[-1] for statuses in outcomes] == [200] * 16


def test_a_caller_that_leaves_gives_its_place_back() -> None:
    app = an_app(server=ServerSettings(max_calls=1))

    async def run() -> list[int]:
        async def leave() -> dict[str, str]:
            return {"type": "http.disconnect"}

        statuses: list[int] = []

        async def note(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope = {"type": "http", "method": "POST", "path": "/keeper/sync", "headers": [], "query_string": b""}
        for _ in range(2):
            await app(dict(scope), leave, note)
        return statuses

    assert asyncio.run(run()) == [400, 400]
