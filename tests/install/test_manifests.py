"""`hangar manifests` and `hangar crds`: what stands in the repository is what the code says."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from app.cli.crds import crds
from app.cli.manifests import manifests
from app.cli.problems import CommandError
from app.install.base import KUSTOMIZATION, files, objects
from app.install.documents import HEADER, stream

ROOT = Path(__file__).parents[2]


def _exit_code(function: Callable[[], None]) -> int:
    try:
        function()
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def test_generated_files_are_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = _exit_code(lambda: manifests(ROOT / "metacontroller", ROOT / "docs", check=True))
    assert (code, capsys.readouterr().err) == (0, "")


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    manifests(tmp_path / "base", tmp_path / "docs")
    before = {path: path.read_text() for path in tmp_path.rglob("*.*")}
    manifests(tmp_path / "base", tmp_path / "docs")
    assert {path: path.read_text() for path in tmp_path.rglob("*.*")} == before
    assert {path.relative_to(tmp_path / "base").as_posix() for path in (tmp_path / "base").rglob("*.yaml")} == {
        str(path) for path in files()
    }


def test_a_check_names_what_differs_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifests(tmp_path, None)
    (tmp_path / "rbac.yaml").write_text("edited")
    (tmp_path / "service.yaml").unlink()
    assert _exit_code(lambda: manifests(tmp_path, None, check=True)) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path / 'rbac.yaml'} differs" in told
    assert f"{tmp_path / 'service.yaml'} differs" in told
    assert "controllers" not in told
    assert (tmp_path / "rbac.yaml").read_text() == "edited"


def test_a_file_that_is_no_longer_generated_is_removed_but_a_hand_written_one_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests(tmp_path, None)
    old, own = tmp_path / "crds" / "old.yaml", tmp_path / "crds" / "own.yaml"
    old.write_text(HEADER + "kind: Old\n")
    own.write_text("kind: Own\n")
    assert _exit_code(lambda: manifests(tmp_path, None, check=True)) == 1
    assert f"{old} is no longer generated" in capsys.readouterr().err
    manifests(tmp_path, None)
    assert (old.exists(), own.exists()) == (False, True)


def test_a_check_of_nothing_says_what_to_name() -> None:
    with pytest.raises(CommandError, match="--output or --docs"):
        manifests(None, None, check=True)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "crds").write_text("in the way")
    with pytest.raises(CommandError, match="crds"):
        manifests(tmp_path, None)


def test_without_a_folder_everything_is_printed_for_kubectl(capsys: pytest.CaptureFixture[str]) -> None:
    manifests()
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert printed == [document for documents in objects().values() for document in documents]


def test_the_kinds_are_printed_for_kubectl(capsys: pytest.CaptureFixture[str]) -> None:
    crds()
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [d["metadata"]["name"] for d in printed] == ["modeldeployments.hangar.dev", "instancetypes.hangar.dev"]


def test_the_base_applies_all_of_its_files_kinds_first() -> None:
    text = {str(path): content for path, content in files().items()}
    resources = yaml.safe_load(text[KUSTOMIZATION])["resources"]
    assert set(resources) == set(text) - {KUSTOMIZATION}
    order = [place for place, _ in groupby(path.split("/")[0] for path in resources)]
    assert order == ["crds", "rbac.yaml", "service.yaml", "controllers"]


def test_generated_yaml_points_at_nothing_and_says_that_it_is_generated() -> None:
    for path, text in files().items():
        assert text.startswith(HEADER), path
        assert not any(line.lstrip("- ").startswith(("&", "*")) for line in text.splitlines()), path
    shared: dict[str, Any] = {"a": 1}
    assert stream([{"x": shared, "y": shared}]) == "x:\n  a: 1\ny:\n  a: 1\n"
