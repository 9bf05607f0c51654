"""What Kubernetes' own, typed kinds lose on their way through the API server."""

from typing import Any

# Maps that the server's Go types drop when they are empty.
_OMITTED_EMPTY = frozenset(
    {"annotations", "labels", "nodeSelector", "limits", "requests", "selector", "matchLabels", "data", "binaryData"}
)


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
