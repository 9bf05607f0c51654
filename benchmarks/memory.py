"""What a worker holds on to: its resident memory after 1,000 syncs and after 10,000, through HTTP.

Run it with `.venv/bin/python -m benchmarks.memory`; it takes some minutes and needs Linux's /proc. The syncs are of
twenty deployments in turn, so that a cache by name or content would show. It prints a table and never fails on a size.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks import hooks
from benchmarks.client import Client
from benchmarks.requests import parser, settled, table

DEPLOYMENTS = 20
CONNECTIONS = 4


def resident(pid: int) -> int:
    """A process's resident memory in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise hooks.Unavailable(f"the system does not tell how much memory process {pid} has")


def measure(pods: int, marks: Sequence[int]) -> list[tuple[int, int]]:
    """Resident bytes of the one worker after so many syncs of `pods` Pods; `marks` rise."""
    bodies = [settled(pods, f"model-{number}")[0] for number in range(DEPLOYMENTS)]
    with ExitStack() as running:
        hook = running.enter_context(hooks.hangar(None))
        client = Client(hook.port, hook.path, bodies, CONNECTIONS)
        found, done = [], 0
        for mark in marks:
            client.times(mark - done)
            done = mark
            found.append((mark, resident(hook.worker())))
        return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    asked = parser(__doc__)
    asked.add_argument("--pods", type=int, default=100, help="observed Pods per request")
    asked.add_argument("--marks", default="0,1000,2000,5000,10000", help="numbers of syncs after which to look")
    asked.add_argument("--reference", type=int, default=1000, help="the mark to which the others are compared")
    chosen = asked.parse_args(arguments)
    found = dict(measure(chosen.pods, [int(mark) for mark in chosen.marks.split(",")]))
    reference = found[chosen.reference]
    rows = [[f"{mark:,}", f"{size / 2**20:.1f}", f"{size / reference:.3f}"] for mark, size in found.items()]
    print(table(("syncs", "resident MiB", f"relative to {chosen.reference:,}"), rows))


if __name__ == "__main__":
    main()
