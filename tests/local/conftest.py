"""One scripted hook for the whole run of tests, and a fresh world for each test."""

from collections.abc import Iterator

import pytest

from tests.local.scripted import ScriptedHook, World, a_world, serving


@pytest.fixture(scope="session")
def served_hook() -> Iterator[ScriptedHook]:
    with serving() as hook:
        yield hook


@pytest.fixture
def world(served_hook: ScriptedHook) -> Iterator[World]:
    with a_world(served_hook) as world:
        yield world


@pytest.fixture
def hook(world: World) -> ScriptedHook:
    return world.hook
