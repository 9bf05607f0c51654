"""One sync in one process against the floor: parsing the request and serialising the answer, and nothing else.

Run it with `.venv/bin/python -m benchmarks.floor`. It prints a table; it never fails on a time. Both sides run in turn
with the cyclic collector off, and the median of their ratios is quoted.
"""

import statistics
from collections.abc import Sequence

import orjson

from benchmarks.requests import answered, collector_off, columns, options, rounds, settled, table, timed


def measure(pods: int, seconds: float) -> tuple[str, ...]:
    """One row: kilobytes, medians of sync and floor, the median of their ratios, and what is above the floor."""
    body, answer = settled(pods)
    parsed_answer = orjson.loads(answer)

    def floor() -> None:
        orjson.loads(body)
        orjson.dumps(parsed_answer)

    with collector_off():
        pairs = [(timed(lambda: answered(body)), timed(floor)) for _ in rounds(seconds, 15)]
    ours, least = columns(pairs)
    ratio = statistics.median(sync / floor for sync, floor in pairs)
    return (
        str(pods),
        f"{len(body) / 1000:.1f}",
        f"{len(answer) / 1000:.1f}",
        f"{ours * 1000:.3f}",
        f"{least * 1000:.3f}",
        f"{ratio:.2f}",
        f"{(ours - least) * 1000:.3f}",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    chosen = options(__doc__, seconds=2.0).parse_args(arguments)
    header = ("Pods", "request KB", "answer KB", "sync ms", "floor ms", "ratio", "above the floor ms")
    print(table(header, [measure(pods, chosen.seconds) for pods in chosen.sizes]))


if __name__ == "__main__":
    main()
