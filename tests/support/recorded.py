"""The requests that a real Metacontroller sent, as parsed JSON."""

from pathlib import Path

import orjson

from app.kube.hook import JSON

FOLDER = Path(__file__).parent.parent / "fixtures" / "wire"

SYNCS = ("composite-sync-v2-no-children", "composite-sync-v2-3-gated-pods", "composite-sync-v2-running-pods-workloads")
FINALIZES = ("composite-finalize-v2-no-children", "composite-finalize-v2-running-pods")
CUSTOMIZE = "customize-v2"
DECORATOR = "decorator-sync-v2-with-attachment"
RUNNING = SYNCS[-1]


def recorded(name: str) -> JSON:
    """A fresh copy of one recorded request."""
    document: JSON = orjson.loads((FOLDER / f"{name}.json").read_bytes())
    return document
