"""Where the time of one sync goes, stage by stage.

Run it with `.venv/bin/python -m benchmarks.stages`. It prints a table of medians; it never fails on a time. The stages
are timed where they are called, so nothing is counted twice. `check` is what the wire does to a parsed body before the
controller sees it, and `between` is what the controller does outside of its stages.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any
from unittest.mock import patch

from app.modeldeployment import CONTROLLER, controller
from app.wire import requests as wire
from app.wire.answers import encode_sync
from benchmarks.requests import SETTINGS, collector_off, columns, options, parsed, rounds, settled, table
from tests.support.builders import NOW

# Stage, and the function that is it: the module that calls it and its name there.
WATCHED = {
    "parse": (wire, "_envelope"),
    "observe": (controller, "observe"),
    "render": (controller, "_render"),
    "plan": (controller, "make_plan"),
    "children": (controller, "children"),
    "status": (controller, "fold"),
}
STAGES = ("parse", "check", "observe", "render", "plan", "children", "status", "between", "serialise", "whole")


@contextmanager
def stopwatches(spent: dict[str, float]) -> Iterator[None]:
    """Times every watched function into `spent`, in seconds."""
    with ExitStack() as patched:
        for stage, (module, name) in WATCHED.items():
            patched.enter_context(patch.object(module, name, _watched(stage, getattr(module, name), spent)))
        yield


def _watched(stage: str, call: Callable[..., Any], spent: dict[str, float]) -> Callable[..., Any]:
    def watched(*arguments: Any, **named: Any) -> Any:
        start = perf_counter()
        try:
            return call(*arguments, **named)
        finally:
            spent[stage] += perf_counter() - start

    return watched


def once(body: bytes, spent: dict[str, float]) -> list[float]:
    """Seconds of one sync, in the order of `STAGES`."""
    spent.update(dict.fromkeys(WATCHED, 0.0))
    begun = perf_counter()
    request = parsed(body)
    read = perf_counter()
    answer = CONTROLLER.sync(request, NOW, SETTINGS)
    decided = perf_counter()
    encode_sync(answer, request, CONTROLLER, "sync")
    written = perf_counter()
    found = spent | {"serialise": written - decided, "whole": written - begun}
    found["check"] = read - begun - spent["parse"]
    found["between"] = decided - read - sum(spent.values()) + spent["parse"]
    return [found[stage] for stage in STAGES]


def measure(pods: int, seconds: float) -> list[float]:
    """Median milliseconds, in the order of `STAGES`."""
    body, _ = settled(pods)
    spent: dict[str, float] = {}
    with stopwatches(spent), collector_off():
        return [median * 1000 for median in columns([once(body, spent) for _ in rounds(seconds, 15)])]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    chosen = options(__doc__, seconds=3.0).parse_args(arguments)
    rows = [[str(pods), *(f"{value:.3f}" for value in measure(pods, chosen.seconds))] for pods in chosen.sizes]
    print(table(("Pods", *(f"{stage} ms" for stage in STAGES)), rows))


if __name__ == "__main__":
    main()
