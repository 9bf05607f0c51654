"""Asking the controller directly, and reading its answer."""

from datetime import datetime

import orjson

from app.kube.hook import JSON, SyncAnswer, SyncRequest
from app.modeldeployment import CONTROLLER
from app.settings import ControllerSettings
from tests.support.builders import NOW

SETTINGS = ControllerSettings(cluster_id="local", kueue=True)


def request_of(envelope: JSON) -> SyncRequest:
    """An envelope as the wire hands it on."""
    return SyncRequest(envelope["parent"], envelope["children"], envelope["related"], envelope["finalizing"])


def answer(envelope: JSON, now: datetime = NOW) -> SyncAnswer:
    """The controller's answer to a sync envelope."""
    return CONTROLLER.sync(request_of(envelope), now, SETTINGS)


def encoded(found: SyncAnswer) -> bytes:
    """An answer as bytes, keys in the order in which they were written."""
    return orjson.dumps([found.status, found.children, found.resync_after_seconds, found.finalized])


def returned(found: SyncAnswer) -> set[tuple[str, str]]:
    """(kind, name) of every child in an answer."""
    return {(child["kind"], child["metadata"]["name"]) for child in found.children}


def observed_live(envelope: JSON) -> set[tuple[str, str]]:
    """(kind, name) of every child that was observed and is not terminating."""
    return {
        (item["kind"], item["metadata"]["name"])
        for found in envelope["children"].values()
        for item in found.values()
        if "deletionTimestamp" not in item["metadata"]
    }


def condition(found: SyncAnswer, kind: str) -> tuple[str, str]:
    """(status, reason) of a condition, or ("", "") where it is absent."""
    for item in found.status["conditions"]:
        if item["type"] == kind:
            return item["status"], item["reason"]
    return "", ""
