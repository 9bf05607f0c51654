"""What Prometheus scrapes. With several workers the values live in files of a shared folder, one set per process."""

import platform
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from app import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# One more series per histogram and counter, which says no more than that the process started.
disable_created_metrics()  # type: ignore[no-untyped-call]

_CALL = ("controller", "hook")
_SIZES = tuple(1024 * 4**power for power in range(10))  # 1 KiB to 256 MiB

CALL_SECONDS = Histogram(
    "hangar_hook_call_seconds",
    "Time from a call's headers to its answer, by outcome: answered, not_modified, refused, failed.",
    (*_CALL, "outcome"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REQUEST_BYTES = Histogram("hangar_hook_request_bytes", "Size of request bodies.", _CALL, buckets=_SIZES)
RESPONSE_BYTES = Histogram("hangar_hook_response_bytes", "Size of response bodies.", _CALL, buckets=_SIZES)
NOT_MODIFIED = Counter("hangar_hook_not_modified", "Calls answered with 304 because the answer is the same.", _CALL)
REFUSALS = Counter("hangar_hook_refusals", "Calls that were refused, by reason.", ("reason",))


class _BuildInfo(Collector):
    """Which version answers; computed at the scrape, so that it needs no process to have set it."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        found = GaugeMetricFamily(
            "hangar_build_info", "Always 1; the labels say what runs.", labels=("version", "python")
        )
        found.add_metric((__version__, platform.python_version()), 1)
        yield found


def rendered(shared_folder: Path | None) -> bytes:
    """All metrics in Prometheus' text format: of the workers behind `shared_folder`, or else of this process."""
    own = CollectorRegistry()
    own.register(_BuildInfo())
    if shared_folder is None:
        return generate_latest(REGISTRY) + generate_latest(own)
    MultiProcessCollector(own, path=str(shared_folder))  # type: ignore[no-untyped-call]
    return generate_latest(own)
