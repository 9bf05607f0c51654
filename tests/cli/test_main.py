"""The command line itself: help, version, and mistakes as one sentence with exit code 2."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app import __version__
from app.cli.main import app, exit_code

PROJECT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fly"], "No such command 'fly'"),
        (["replay"], "Missing argument"),
        (["serve", "--port", "http"], "Invalid value for '--port'"),
        (["replay", "--nope", "x"], "No such option"),
        (["replay", "/nowhere/request.json"], "/nowhere/request.json: No such file or directory"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("hangar: ")
    assert words.lower() in said.err.lower()
    assert said.err.count("\n") == 1


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == f"hangar {__version__}\n"


def test_hangar_alone_shows_what_it_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([]) == 2
    shown = capsys.readouterr().out
    assert all(
        f"\n  {command.name or command.callback.__name__} " in shown
        for command in app.registered_commands
        if command.callback
    )


@pytest.mark.parametrize("command", [[sys.executable, "-m", "app"], [str(Path(sys.executable).with_name("hangar"))]])
def test_both_ways_to_start_it_end_with_its_exit_code(command: list[str]) -> None:
    ended = subprocess.run(  # noqa: S603 - our own interpreter
        [*command, "fly"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (2, "hangar: No such command 'fly'.\n")
    assert not re.search("Traceback", ended.stdout + ended.stderr)
