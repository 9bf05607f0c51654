"""More work than can be done is sent away in the one way that Metacontroller repeats quietly."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx
import orjson
import pytest

from app.server.limits import Load
from app.server.outcomes import Refused
from app.settings import ServerSettings
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
