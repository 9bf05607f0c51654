"""How long the local control plane takes until many deployments are Ready: all of it in one process, hook included.

Run it with `.venv/bin/python -m benchmarks.local_run [--deployments 500] [--pods 4]`. It prints a table; it never fails
on a time. The aim is 500 deployments of 4 Pods in under 60 seconds of real time on two cores.
"""

import argparse
import time
from dataclasses import dataclass

from app.cli.cluster import local_cluster
from app.kube.hook import JSON
from app.local.plane import Plane
from app.local.table import Change

KIND = "ModelDeployment.hangar.dev/v1alpha1"


@dataclass(frozen=True)
class Result:
    """One run: seconds of the wall clock, of this process's CPU and of simulated time, and the writes of the store."""

    wall: float
    cpu: float
    simulated: float
    writes: int


def deployment(number: int, pods: int) -> JSON:
    role = {"name": "server", "replicas": pods, "resources": {"limits": {"nvidia.com/gpu": 1}}}
    return {
        "apiVersion": "hangar.dev/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": f"model-{number}", "namespace": f"team-{number % 10}"},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM", "version": "0.12.0"},
            "roles": [role],
        },
    }


class Waiting:
    """The deployments that are not Ready."""

    def __init__(self, plane: Plane) -> None:
        self.names: set[str] = set()
        plane.store.watch(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.resource.key == KIND:
            ready = change.new.get("status", {}).get("phase") == "Ready"
            (self.names.discard if ready else self.names.add)(change.new["metadata"]["name"])


def measure(deployments: int, pods: int) -> Result:
    wall, cpu = time.perf_counter(), time.process_time()
    with local_cluster() as cluster:
        waiting = Waiting(cluster.plane)
        for number in range(deployments):
            cluster.plane.apply(deployment(number, pods))
        assert cluster.plane.run_until(lambda: not waiting.names, 3600), f"not Ready: {sorted(waiting.names)[:5]}"
        assert len(cluster.plane.all_of("Pod.v1")) == deployments * pods
        last = cluster.plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "last"}})
        return Result(
            time.perf_counter() - wall,
            time.process_time() - cpu,
            cluster.plane.clock.elapsed,
            int(last["metadata"]["resourceVersion"]),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=500)
    parser.add_argument("--pods", type=int, default=4, help="of each deployment")
    options = parser.parse_args()
    found = measure(options.deployments, options.pods)
    print("deployments    Pods   real s    CPU s   simulated s   writes   writes per real s")
    print(
        f"{options.deployments:11d} {options.deployments * options.pods:7d} {found.wall:8.1f} {found.cpu:8.1f}"
        f" {found.simulated:13.1f} {found.writes:8d} {found.writes / found.wall:19.0f}"
    )


if __name__ == "__main__":
    main()
