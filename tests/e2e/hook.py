"""The hook service as a process: `hangar serve` with a bearer token, on free loopback ports."""

import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families

from app.kube.hook import JSON
from app.settings import PREFIX
from tests.e2e.processes import LOOPBACK, Processes

_NAME = "hangar-serve"


@dataclass(frozen=True)
class HookService:
    """Where the hooks and the operations port are, and the token that callers need."""

    hooks: str
    operations: str
    token: str

    def syncs(self, controller: str) -> int:
        """How many sync calls of a controller were answered so far."""
        text = httpx.get(f"{self.operations}/metrics", trust_env=False, timeout=30).text
        samples = (one for family in text_string_to_metric_families(text) for one in family.samples)
        wanted = {"controller": controller, "hook": "sync"}
        calls = (one for one in samples if one.name == "hangar_hook_call_seconds_count")
        return int(sum(one.value for one in calls if wanted.items() <= one.labels.items()))


@contextmanager
def served(processes: Processes, *, kueue: bool = False) -> Iterator[HookService]:
    """Starts the service, with Kueue switched on where its kinds are served; `processes` ends it."""
    token = secrets.token_urlsafe(32)
    file = processes.folder / "token"
    file.touch(mode=0o600)
    file.write_text(token, encoding="utf-8")
    own = {f"{PREFIX}TOKEN_FILE": str(file), f"{PREFIX}CLUSTER_ID": "e2e", f"{PREFIX}DRAIN_SECONDS": "0"}
    own[f"{PREFIX}KUEUE"] = "true" if kueue else "false"
    others = {key: value for key, value in os.environ.items() if not key.startswith(PREFIX)}
    addresses: list[JSON] = []

    def ready() -> bool:
        addresses[:] = [line for line in _lines(processes) if line.get("message") == "serving"]
        return bool(addresses) and httpx.get(f"{addresses[0]['operations']}/readyz", trust_env=False).is_success

    command = [sys.executable, "-m", "app", "serve", "--host", LOOPBACK, "--port", "0", "--operations-port", "0"]
    processes.start(_NAME, command, ready, environment=others | own)
    yield HookService(addresses[0]["hooks"], addresses[0]["operations"], token)


def _lines(processes: Processes) -> list[JSON]:
    """The complete lines of its log."""
    text = processes.log(_NAME).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.rpartition("\n")[0].splitlines() if line.startswith("{")]
