"""Each benchmark with tiny sizes: it runs, and its table has the columns that docs/performance.md explains."""

import os
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import floor, hooks, http, local_run, memory, stages
from benchmarks.client import Client
from benchmarks.plot import Bars, drawn
from benchmarks.requests import settled

PAGE = (Path(__file__).parent.parent.parent / "docs" / "performance.md").read_text()
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to read processes from")


def rows(text: str) -> list[list[str]]:
    """The cells of a Markdown table: the header, then the rows."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def documented(header: list[str]) -> bool:
    return header in [row for row in rows(PAGE) if row[0] == header[0]]


def test_the_floor_is_compared_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    floor.main(["--sizes", "1,3", "--seconds", "0"])
    header, *found = rows(capsys.readouterr().out)
    assert documented(header)
    assert [row[0] for row in found] == ["1", "3"]
    assert all(float(row[header.index("ratio")]) > 0 for row in found)


def test_the_stages_of_a_sync_add_up_to_it() -> None:
    found = dict(zip(stages.STAGES, stages.measure(3, 0), strict=True))
    assert all(found[stage] > 0 for stage in stages.WATCHED)
    body, _ = settled(3)
    spent: dict[str, float] = {}
    with stages.stopwatches(spent):
        *parts, whole = stages.once(body, spent)
    assert sum(parts) == pytest.approx(whole)


def test_the_stages_are_printed_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    stages.main(["--sizes", "1,3", "--seconds", "0"])
    header, *found = rows(capsys.readouterr().out)
    assert documented(header)
    assert [row[0] for row in found] == ["1", "3"]


@needs_proc
def test_memory_is_that_of_the_worker_after_so_many_syncs(capsys: pytest.CaptureFixture[str]) -> None:
    memory.main(["--pods", "1", "--marks", "20,40", "--reference", "20"])
    header, *found = rows(capsys.readouterr().out)
    assert documented([cell.replace("20", "1,000") for cell in header])
    assert [row[0] for row in found] == ["20", "40"]
    assert found[0][2] == "1.000"
    assert all(float(row[1]) > 10 for row in found)


@needs_proc
def test_hooks_are_compared_through_http_and_left_out_with_a_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = tmp_path / "plot.svg"
    before = os.sched_getaffinity(0)
    http.main(["--sizes", "1,2", "--seconds", "0.1", "--rounds", "2", "--connections", "2", "--plot", str(picture)])
    assert os.sched_getaffinity(0) == before
    said = capsys.readouterr().out
    header, *found = rows(said)
    assert [row[0] for row in found] == ["1", "2"]
    assert "Hangar : http.server" in header
    if shutil.which("go"):
        assert documented(header)
        assert len(bars(picture.read_text())) == 2 * 3
    else:
        assert "left out: no go command" in said
        assert not picture.exists()


def test_the_local_run_counts_what_it_wrote() -> None:
    found = local_run.measure(2, 2)
    assert found.writes > 2 * (1 + 2)
    assert found.simulated > 0


def test_without_go_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(hooks.Unavailable, match="install Go"):
        hooks.go_binary()


def test_a_hook_that_answers_something_else_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"status": {}, "children": []}')
    with hooks.plain_hook(tmp_path, None) as hook:
        assert Client(hook.port, "/1", [b"{}"], 1).answer() == b'{"status": {}, "children": []}'
        with pytest.raises(RuntimeError, match=r"a hook answered .*HTTP/1\.1 404"):
            Client(hook.port, "/2", [b"{}"], 1).answer()


def test_bars_are_as_tall_as_their_values_and_say_them() -> None:
    picture = drawn(Bars("A & B", ["one", "two"], {"A": [1.0, 2.0], "B": [0.5, 4.0]}, line=1.0))
    assert [round(bar / bars(picture)[0], 3) for bar in bars(picture)] == [1.0, 0.5, 2.0, 4.0]
    assert all(f">{value:.2f}<" in picture for value in (1.0, 2.0, 0.5, 4.0))


def bars(picture: str) -> list[float]:
    """The heights of the bars in a chart, group by group."""
    rectangles = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")  # noqa: S314 - our own
    return [float(found.attrib["height"]) for found in rectangles if found.attrib["height"] != "11"]


def test_every_benchmark_and_its_picture_are_on_the_page() -> None:
    folder = Path(floor.__file__).parent
    runnable = {path.stem for path in folder.glob("*.py") if '__name__ == "__main__"' in path.read_text()}
    assert runnable == {"floor", "stages", "http", "memory", "local_run"}
    assert {name for name in runnable if f"-m benchmarks.{name}" not in PAGE} == set()
    for picture in re.findall(r"!\[[^]]+]\(([^)]+)\)", PAGE):
        assert bars((folder.parent / "docs" / picture).read_text())
