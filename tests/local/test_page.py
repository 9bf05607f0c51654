"""docs/local-run.md: each line of what is imitated names tests that exist, and every module of the folder is on it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "local-run.md").read_text()
IMITATED = PAGE[PAGE.index("## What it imitates") : PAGE.index("## What it does not imitate")]


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(test_\w+)`", IMITATED)
    written = "\n".join(file.read_text() for file in (ROOT / "tests" / "local").rglob("test_*.py"))
    assert len(named) > 80
    assert [name for name in named if f"def {name}(" not in written] == []
    assert len(set(named)) == len(named)


def test_every_line_of_what_is_imitated_names_a_test() -> None:
    rows = [line for line in IMITATED.splitlines() if line.startswith("| ") and line != "| seen | test |"]
    assert [row for row in rows if "`test_" not in row] == []


def test_every_module_is_on_the_page() -> None:
    parts = PAGE[PAGE.index("## How it is put together") : PAGE.index("## What it imitates")]
    helpers = {"__init__", "values", "selectors", "errors", "client", "backoff", "durations", "timeline"}
    modules = {file.stem for file in (ROOT / "app" / "local").rglob("*.py")} - helpers
    assert {module for module in modules if f"`{module}`" not in parts} == set()
