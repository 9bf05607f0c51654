"""One sync in one process against the floor: parsing the request and serialising the answer, and nothing else.

Run it with `.venv/bin/python -m benchmarks.floor [--sizes 1,10,100,1000] [--seconds 2]`. It prints a table; it never
fails on a time. Both sides run in turn with the cyclic collector off, and the median of their ratios is quoted.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable

import orjson

from app.modeldeployment import CONTROLLER
from app.settings import ControllerSettings
from app.wire.answers import encode_sync
from app.wire.requests import parse_sync
from tests.support.builders import NOW
from tests.support.realistic import a_busy_deployment

SETTINGS = ControllerSettings(cluster_id="local")


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(pods: int, seconds: float) -> tuple[float, float, float, int, int]:
    """Medians in seconds of sync and floor, the median ratio, and the bytes of request and answer."""
    body = orjson.dumps(a_busy_deployment(pods).request())

    def sync() -> bytes:
        request = parse_sync(body, CONTROLLER, "sync")
        return encode_sync(CONTROLLER.sync(request, NOW, SETTINGS), request, CONTROLLER, "sync")[0]

    answer = sync()
    parsed_answer = orjson.loads(answer)

    def floor() -> None:
        orjson.loads(body)
        orjson.dumps(parsed_answer)

    gc.collect()
    gc.disable()
    pairs: list[tuple[float, float]] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(pairs) < 15:
        pairs.append((timed(sync), timed(floor)))
    gc.enable()
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return ours, theirs, ratio, len(body), len(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1,10,100,1000", help="observed Pods per request")
    parser.add_argument("--seconds", type=float, default=2.0, help="time per size")
    options = parser.parse_args()
    print("  pods  request KB  answer KB    sync ms   floor ms   ratio   above the floor ms")
    for pods in (int(size) for size in options.sizes.split(",")):
        ours, theirs, ratio, size, answer = measure(pods, options.seconds)
        print(
            f"{pods:6d} {size / 1000:11.1f} {answer / 1000:10.1f} {ours * 1000:10.3f} {theirs * 1000:10.3f}"
            f" {ratio:7.2f} {(ours - theirs) * 1000:20.3f}"
        )


if __name__ == "__main__":
    main()
