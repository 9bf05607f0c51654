"""Tokens from a file: rotation without a restart, and no lock-out while a Secret is being swapped."""

import os
from pathlib import Path

import pytest

from app.server.auth import Tokens
from app.settings import SettingsError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("\n one \r\n\ntwo")
    return path


def test_blank_lines_and_spaces_are_no_tokens(file: Path) -> None:
    tokens = Tokens(str(file))
    assert tokens.allow("Bearer one")
    assert tokens.allow("Bearer two")
    assert not tokens.allow("Bearer ")
    assert not tokens.allow("Bearer")


def test_a_changed_file_counts_from_the_next_call(file: Path) -> None:
    tokens = Tokens(str(file))
    file.write_text("two\nthree")
    assert tokens.allow("Bearer three")
    assert not tokens.allow("Bearer one")


def test_a_secret_that_is_swapped_by_its_link_is_noticed(tmp_path: Path) -> None:
    for name, token in (("old", "one"), ("new", "two")):
        (tmp_path / name).write_text(token)
        os.utime(tmp_path / name, (0, 0))
    link = tmp_path / "tokens"
    link.symlink_to("old")
    tokens = Tokens(str(link))
    (tmp_path / "swap").symlink_to("new")
    (tmp_path / "swap").rename(link)
    assert tokens.allow("Bearer two")


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda path: path.write_text("\n"), lambda path: path.write_bytes(b"\xff")]
)
def test_a_file_that_is_spoilt_later_locks_nobody_out(
    file: Path, spoil: object, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(str(file))
    spoil(file)  # type: ignore[operator]
    assert tokens.allow("Bearer one")
    assert tokens.allow("Bearer two")
    assert [record.getMessage()[:25] for record in caplog.records] == ["keeping the bearer tokens"]


@pytest.mark.parametrize(("content", "words"), [(None, "No such file"), (b"", "holds no token"), (b"\xff", "as text")])
def test_a_service_does_not_start_on_a_file_without_tokens(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "tokens"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=words):
        Tokens(str(path))
