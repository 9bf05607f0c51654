"""Through HTTP: Hangar beside two hooks that only decode a request and encode an answer of the same content.

Run it with `.venv/bin/python -m benchmarks.http [--plot docs/performance.svg]`. The peers are a Go hook on
`encoding/json` with one processor, and a Python one on `http.server` and `json`; Hangar runs one worker. All get the
same request from the same client over the same number of kept connections, in turn: each round measures every hook for
a moment, and medians over the rounds are printed. It never fails on a time.

Where the machine has more than one processor, all hooks share one and the client has the others. What else runs on the
machine is measured with each round, and the quieter half of the rounds counts; the last line tells how quiet it was.
Ratios are of processor time per call, which sees little of the rest.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks import hooks
from benchmarks.client import Client
from benchmarks.plot import Bars, drawn
from benchmarks.requests import columns, options, settled, table

OURS, REFERENCE = "Hangar", "Go"


@dataclass(frozen=True, slots=True)
class Round:
    """All hooks in turn: calls a second and processor milliseconds per call. `others`: their share of the machine."""

    throughput: dict[str, float]
    cpu: dict[str, float]
    others: float

    def cost(self, name: str) -> float:
        """Milliseconds per call: of the processor, or of the clock where it was too little to be counted."""
        return self.cpu[name] or 1000 / self.throughput[name]


Results = dict[int, list[Round]]


@contextmanager
def separated() -> Iterator[int | None]:
    """The processor of the hooks, while this process keeps to the others; None where there is but one."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        yield None
        return
    before = os.sched_getaffinity(0)
    theirs = min(before)
    os.sched_setaffinity(0, before - {theirs})
    try:
        yield theirs
    finally:
        os.sched_setaffinity(0, before)


def measure(sizes: Sequence[int], seconds: float, rounds: int, connections: int) -> tuple[Results, list[str]]:
    """All hooks at all sizes, and the reasons for which a hook was left out."""
    skipped: list[str] = []
    with tempfile.TemporaryDirectory() as folder, separated() as cpu, ExitStack() as running:
        ours = running.enter_context(hooks.hangar(cpu))
        bodies = {pods: settled(pods)[0] for pods in sizes}
        answers = {pods: Client(ours.port, ours.path, [body], 1).answer() for pods, body in bodies.items()}
        for pods, answer in answers.items():
            Path(folder, f"{pods}.json").write_bytes(answer)
        found = [ours]
        for peer in (hooks.go_hook, hooks.plain_hook):
            try:
                found.append(running.enter_context(peer(Path(folder), cpu)))
            except hooks.Unavailable as reason:
                skipped.append(str(reason))
        results: Results = {}
        for pods, body in bodies.items():
            clients = {
                hook.name: (hook, Client(hook.port, hook.path.format(pods=pods), [body], connections)) for hook in found
            }
            for hook, client in clients.values():
                if _content(client.answer()) != _content(answers[pods]):
                    raise RuntimeError(f"{hook.name} does not answer what Hangar does")
            results[pods] = _rounds(clients, seconds / rounds / len(clients), rounds)
    return results, skipped


def _content(answer: bytes) -> object:
    """An answer without what may differ between two calls: times."""
    document = orjson.loads(answer)
    document["status"].pop("conditions")
    return document


def _rounds(clients: dict[str, tuple[hooks.Running, Client]], seconds: float, rounds: int) -> list[Round]:
    """The quieter half of the rounds."""
    names = list(clients)
    found = []
    for number in range(rounds):
        first = number % len(names)
        throughput, cpu = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        start, busy, ours = time.perf_counter(), hooks.busy_seconds(), _own(clients)
        for name in names[first:] + names[:first]:
            hook, client = clients[name]
            before = hook.cpu_seconds()
            calls, took = client.for_seconds(seconds)
            throughput[name] = calls / took
            cpu[name] = (hook.cpu_seconds() - before) / calls * 1000
        others = (hooks.busy_seconds() - busy) - (_own(clients) - ours)
        share = max(others, 0) / (time.perf_counter() - start) / (os.cpu_count() or 1)
        found.append(Round(throughput, cpu, share))
    return sorted(found, key=lambda one: one.others)[: (rounds + 1) // 2]


def _own(clients: dict[str, tuple[hooks.Running, Client]]) -> float:
    """Processor time of this process and the hooks, in seconds."""
    return time.process_time() + sum(hook.cpu_seconds() for hook, _ in clients.values())


def ratio(rounds: Sequence[Round], name: str, to: str) -> float:
    """The median over the rounds of what one hook answers in a second of processor time, relative to another.

    On a machine that does nothing else it is the ratio of throughputs; on a busy one those depend on who is scheduled.
    """
    return statistics.median(one.cost(to) / one.cost(name) for one in rounds)


def shown(results: Results) -> str:
    """The table: calls a second and processor time per call of each hook, and ratios of the latter."""
    names = _names(results)
    peers = [name for name in names if name != OURS]
    header = ["Pods", *(f"{name} calls/s" for name in names), *(f"{name} CPU ms" for name in names)]
    header += [f"{OURS} : {name}" for name in peers]
    rows = []
    for pods, found in results.items():
        speeds = columns([[one.throughput[name] for name in names] for one in found])
        cpu = columns([[one.cpu[name] for name in names] for one in found])
        row = [str(pods), *(f"{speed:.1f}" for speed in speeds), *(f"{value:.2f}" for value in cpu)]
        rows.append([*row, *(f"{ratio(found, OURS, name):.2f}" for name in peers)])
    return table(header, rows)


def plot(results: Results) -> str:
    """What each hook answers relative to the Go hook, as a picture."""
    groups = [f"{pods:,} Pod{'s' if pods > 1 else ''}" for pods in results]
    values = {name: [ratio(found, name, REFERENCE) for found in results.values()] for name in _names(results)}
    return drawn(Bars("Calls per second of processor time, relative to the Go hook", groups, values, line=1.0))


def _names(results: Results) -> list[str]:
    return list(next(iter(results.values()))[0].throughput)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table and, where asked for, draws the plot."""
    parser = options(__doc__, seconds=60.0)
    parser.add_argument(
        "--rounds", type=int, default=20, help="rounds per size, in each of which every hook is measured"
    )
    parser.add_argument("--connections", type=int, default=4, help="kept connections of the client")
    parser.add_argument("--plot", type=Path, help="draw the ratios into this SVG file")
    chosen = parser.parse_args(arguments)
    results, skipped = measure(chosen.sizes, chosen.seconds, chosen.rounds, chosen.connections)
    print(shown(results))
    for reason in skipped:
        print(f"left out: {reason}")
    noise = max(statistics.median(one.others for one in found) for found in results.values())
    print(f"other processes had at most {noise:.0%} of the machine in the rounds that count")
    if chosen.plot and REFERENCE in _names(results):
        chosen.plot.write_text(plot(results))


if __name__ == "__main__":
    main()
