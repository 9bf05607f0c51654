"""What Kubernetes' own, typed kinds lose on their way through the API server."""

from typing import Any

from app.kube.hook import JSON

# Maps that the server's Go types drop when they are empty.
_OMITTED_EMPTY = frozenset(
    {"annotations", "labels", "nodeSelector", "limits", "requests", "selector", "matchLabels", "data", "binaryData"}
)


def sent_back(obj: JSON) -> JSON:
    """An object as Kubernetes' own types send it back. Its status is left alone: nobody but its owner writes it."""
    kept: JSON = omit_empty({key: value for key, value in obj.items() if key != "status"})
    return kept | ({"status": obj["status"]} if "status" in obj else {})


def omit_empty(value: Any) -> Any:
    """`value` as Kubernetes' own types send it back: without nulls, empty lists, and the maps it drops when empty."""
    if isinstance(value, list):
        return [omit_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: omit_empty(item) for key, item in value.items()}
    return {key: item for key, item in kept.items() if not _omitted(key, item)}


def _omitted(key: str, value: Any) -> bool:
    return value is None or value == [] or (value == {} and key in _OMITTED_EMPTY)
