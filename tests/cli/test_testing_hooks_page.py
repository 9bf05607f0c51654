"""docs/testing-hooks.md: every command of the page does what the page says, and its Python is in the example."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from app.cli.main import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing-hooks.md").read_text()
EXAMPLE = ROOT / "examples" / "other-hook"
PORT = "8083"

_SHIM = '#!/bin/sh\nexec "{python}" {arguments} "$@"\n'


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder in which the page's commands run: the example, and `scripts/` that use this environment."""
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "other-hook", ignore=shutil.ignore_patterns("__pycache__"))
    pytest_arguments = f'-m pytest -p no:cacheprovider -c "{ROOT}/pyproject.toml" --rootdir "{tmp_path}"'
    for name, arguments in (("hangar", "-m app"), ("test", pytest_arguments)):
        script = tmp_path / "scripts" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(_SHIM.format(python=sys.executable, arguments=arguments))
        script.chmod(0o755)
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(  # noqa: S603 - the page's own commands
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def port(clone: Path) -> Iterator[str]:
    """The port of the example's hook, started as the page's first command does."""
    started, *_ = blocks("sh")
    port, words = free_port(), started.removesuffix(" &\n").split()
    assert words[1:] == ["examples/other-hook/hook.py", "--port", PORT]
    command = [sys.executable, *words[1:-1], port]
    with subprocess.Popen(command, cwd=clone, stdout=subprocess.PIPE, text=True) as hook:  # noqa: S603
        try:
            assert hook.stdout is not None
            assert hook.stdout.readline() == f"http://127.0.0.1:{port}\n"
            yield port
        finally:
            hook.terminate()


def test_the_commands_of_the_page_run_one_after_the_other(clone: Path, port: str) -> None:
    _, record, replay, folder, tests = (block.replace(PORT, port) for block in blocks("sh"))
    recorded = run(record, clone)
    assert (recorded.returncode, recorded.stderr) == (0, "")
    assert (clone / "good-evening" / "response.json").is_file()
    replayed = run(replay, clone)
    assert replayed.returncode == 0
    assert replayed.stdout == (clone / "good-evening" / "response.json").read_text()
    assert replayed.stderr in blocks("text")
    compared = run(folder, clone)
    assert (compared.returncode, compared.stdout.splitlines()[-1]) == (0, "2 fixtures: 2 equal")
    tested = run(tests, clone)
    assert tested.returncode == 0, tested.stdout
    assert re.search(r" \d+ passed in ", tested.stdout)


def test_the_piped_log_of_the_page_is_recorded_too(clone: Path) -> None:
    ended = run("cat examples/other-hook/metacontroller.log | scripts/hangar record - --output good-evening", clone)
    assert ended.returncode == 0
    assert "| scripts/hangar record -\n--output good-evening`" in PAGE


def test_the_python_of_the_page_is_that_of_the_example() -> None:
    example = {line.strip() for line in (EXAMPLE / "test_greeting.py").read_text().splitlines()}
    shown = [line.partition("  #")[0].strip() for block in blocks("python") for line in block.splitlines()]
    assert len(shown) > 15
    assert [line for line in shown if line and line not in example] == []


def test_the_recorded_fixtures_are_those_of_the_log(clone: Path) -> None:
    """Who reads the page gets what lies in the repository."""
    run("scripts/hangar record examples/other-hook/metacontroller.log --last 9 --output all", clone)
    recorded = {path.read_text() for path in clone.glob("all/*/request.json")}
    kept = {path.read_text() for path in EXAMPLE.glob("fixtures/*/request.json")}
    assert len(kept) == 2
    assert kept < recorded


@pytest.mark.parametrize(
    ("page", "others"),
    [
        ("testing-hooks.md", {"--zap-log-level", "--port"}),
        ("fixtures.md", {"--zap-log-level", "--rewrite-fixtures", "--api-key", "--hf-token"}),
    ],
)
def test_the_options_that_the_pages_name_are_there(page: str, others: set[str]) -> None:
    commands = get_command(app)
    assert isinstance(commands, TyperGroup)
    known = {
        option for name in ("record", "replay") for given in commands.commands[name].params for option in given.opts
    }
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", (ROOT / "docs" / page).read_text()))
    assert named - others <= known
    assert len(named & known) > 3
