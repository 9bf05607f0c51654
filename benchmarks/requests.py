"""What is measured with: the request of a steady deployment, its answer, and how medians are taken."""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import orjson

from app.kube.hook import JSON, SyncRequest
from app.modeldeployment import CONTROLLER
from app.settings import ControllerSettings
from app.wire.answers import encode_sync
from app.wire.requests import parse_sync
from tests.support.builders import NOW
from tests.support.realistic import a_busy_deployment

SIZES = (1, 10, 100, 1000)
SETTINGS = ControllerSettings(cluster_id="local")


def parsed(body: bytes) -> SyncRequest:
    return parse_sync(body, CONTROLLER, "sync")


def answered(body: bytes) -> bytes:
    """One sync as the service does it, from bytes to bytes."""
    request = parsed(body)
    return encode_sync(CONTROLLER.sync(request, NOW, SETTINGS), request, CONTROLLER, "sync")[0]


def settled(pods: int, name: str = "qwen") -> tuple[bytes, bytes]:
    """A request whose answer changes nothing any more, with that answer: what a hook is mostly asked.

    It is the sync of a deployment of `pods` ready Pods, each as large as recorded ones are (about 14 KB).
    """
    request: JSON = replace(a_busy_deployment(pods), name=name).request()
    request["parent"]["status"] = orjson.loads(answered(orjson.dumps(request)))["status"]
    body = orjson.dumps(request)
    return body, answered(body)


def timed(call: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@contextmanager
def collector_off() -> Iterator[None]:
    """No cyclic collection in the block, as in the service while it answers."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def rounds(seconds: float, fewest: int) -> Iterator[int]:
    """Numbers of rounds for about `seconds`, and at least `fewest`."""
    until = time.perf_counter() + seconds
    number = 0
    while number < fewest or time.perf_counter() < until:
        yield number
        number += 1


def columns(rows: Sequence[Sequence[float]]) -> list[float]:
    """The median of each column."""
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right, whose columns line up on a terminal too."""
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", *lines[1:]])


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the benchmark's own description."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def options(description: str | None, *, seconds: float) -> argparse.ArgumentParser:
    """A parser with the two options that every benchmark over sizes has."""
    asked = parser(description)
    asked.add_argument("--sizes", type=_sizes, default=SIZES, help="observed Pods per request: 1,10,100,1000")
    asked.add_argument("--seconds", type=float, default=seconds, help="time per size")
    return asked


def _sizes(text: str) -> tuple[int, ...]:
    found = tuple(int(size) for size in text.split(","))
    if min(found) < 1:
        raise argparse.ArgumentTypeError("sizes are at least 1")
    return found
