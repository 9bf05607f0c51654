"""The hook, tested in two ways: by recorded requests, and against a control plane in this process.

The hook runs as a process of its own, so it may be written in any language.
"""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.cases import Case, cases
from app.cli.posting import RunningHook
from app.local import Plane
from app.local.network import CallFault

HERE = Path(__file__).parent
GREETING, CONFIG_MAP, EVENT = "Greeting.example.com/v1", "ConfigMap.v1", "Event.v1"


@contextmanager
def the_hook(port: int = 0) -> Iterator[str]:
    """The hook as a process that ends with the block; yields its address."""
    command = [sys.executable, str(HERE / "hook.py"), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def a_free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def a_cluster(hook: str) -> Iterator[Plane]:
    """A control plane that serves Greetings and holds one; its calls of the hook's Service go to that address."""
    crd, controller, greeting = (
        yaml.safe_load((HERE / name).read_text()) for name in ("crd.yaml", "controller.yaml", "greeting.yaml")
    )
    with Plane([crd]) as plane:
        plane.network.hosts["greetings.default.svc:8083"] = hook
        plane.apply(controller)
        plane.apply(greeting)
        yield plane


def text(plane: Plane) -> str | None:
    """What the ConfigMap says, or None while there is none."""
    found = plane.get(CONFIG_MAP, "default/ada")
    return found["data"]["text"] if found else None


def stored(plane: Plane, kind: str) -> dict[str, Any]:
    """The one object of that kind."""
    found = plane.get(kind, "default/ada")
    assert found is not None
    return found


def messages(plane: Plane) -> list[str]:
    """What the events of the cluster say."""
    return [event["message"] for event in plane.all_of(EVENT)]


def say(plane: Plane, greeting: str) -> None:
    """Edits the Greeting, as `kubectl apply` would."""
    plane.apply({**stored(plane, GREETING), "spec": {"name": "Ada", "greeting": greeting}})


@pytest.fixture(scope="module")
def hook() -> Iterator[str]:
    with the_hook() as address:
        yield address


@pytest.mark.parametrize("case", cases(HERE / "fixtures"), ids=lambda case: case.folder.name)
def test_the_answer_to_a_recorded_request_stays_what_was_reviewed(case: Case, hook: str) -> None:
    replay = case.replay(RunningHook(hook))
    assert not replay.verdict.refusal
    assert replay.matches, replay.shown


def test_a_greeting_gets_its_text_and_then_nothing_moves(hook: str) -> None:
    with a_cluster(hook) as plane:
        assert plane.run_until(lambda: text(plane) == "Hello, Ada!", limit_seconds=60)
        plane.run_for(60)
        greeting, config_map = stored(plane, GREETING), stored(plane, CONFIG_MAP)
        assert greeting["status"] == {"text": "Hello, Ada!", "written": True, "observedGeneration": 1}
        # A label wakes the hook; a status or a child that differs at each call would be a loop.
        plane.apply({**greeting, "metadata": {**greeting["metadata"], "labels": {"team": "a"}}})
        plane.run_for(60)
        assert stored(plane, GREETING)["status"] == greeting["status"]
        assert stored(plane, CONFIG_MAP) == config_map


def test_a_text_that_somebody_deletes_or_edits_comes_back(hook: str) -> None:
    with a_cluster(hook) as plane:
        plane.run_until(lambda: text(plane) is not None, limit_seconds=60)
        plane.apply({**stored(plane, CONFIG_MAP), "data": {"text": "Go away!"}})
        assert plane.run_until(lambda: text(plane) == "Hello, Ada!", limit_seconds=60)
        plane.delete(CONFIG_MAP, "default/ada")
        assert plane.run_until(lambda: text(plane) == "Hello, Ada!", limit_seconds=60)


def test_a_hook_that_fails_a_few_times_only_delays_an_edit(hook: str) -> None:
    with a_cluster(hook) as plane:
        plane.run_until(lambda: text(plane) == "Hello, Ada!", limit_seconds=60)
        plane.network.fail(CallFault(status=500, body=b"kaput", times=5))
        say(plane, "Good evening")
        assert plane.run_until(lambda: text(plane) == "Good evening, Ada!", limit_seconds=60)
        assert any("unsupported status code: 500 body: kaput" in message for message in messages(plane))


def test_an_edit_that_comes_while_the_hook_is_down_lands_once_it_is_back() -> None:
    port = a_free_port()
    with a_cluster(f"http://127.0.0.1:{port}") as plane:
        with the_hook(port):
            assert plane.run_until(lambda: text(plane) == "Hello, Ada!", limit_seconds=60)
        say(plane, "Good evening")
        plane.run_for(300)
        assert text(plane) == "Hello, Ada!"
        assert any("connection refused" in message for message in messages(plane))
        with the_hook(port):
            assert plane.run_until(lambda: text(plane) == "Good evening, Ada!", limit_seconds=1200)
