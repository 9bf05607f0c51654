"""The API server's audit log: who wrote what. What is not in it was not written."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.kube.hook import JSON

# Writes alone, each once, without their bodies.
POLICY: JSON = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]}],
}


@dataclass(frozen=True)
class Write:
    """One write, also one that was refused or changed nothing."""

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int

    @classmethod
    def of(cls, line: JSON) -> "Write":
        """The write that a line of the log tells of."""
        about = line.get("objectRef", {})
        resource = "/".join(part for part in (about.get("resource", ""), about.get("subresource", "")) if part)
        code = line.get("responseStatus", {}).get("code", 0)
        return cls(
            line["user"]["username"], line["verb"], resource, about.get("namespace", ""), about.get("name", ""), code
        )


class AuditLog:
    """The log of one API server."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def here(self) -> int:
        """A place in the log, to ask later what came after it."""
        return self._path.stat().st_size

    def since(self, place: int, concerns: Callable[[Write], bool]) -> list[Write]:
        """The writes after a place that concern the caller."""
        with self._path.open("rb") as log:
            log.seek(place)
            lines = log.read().splitlines()
        writes = (Write.of(json.loads(line)) for line in lines)
        return [write for write in writes if concerns(write)]
