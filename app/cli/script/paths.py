"""Paths of fields in an object: `spec.roles[decode].image`, `metadata.labels[example.com/team]`, `spec.roles[0]`.

What stands in brackets is, in a list, an index or the `name` of an item; in a map, a key that may hold dots.
"""

import re
from typing import Any

from app.kube.hook import JSON

_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]+)\]")


class PathError(ValueError):
    """A path that cannot be read, or that leads nowhere; the message says which step."""


def put(obj: JSON, path: str, value: Any) -> None:
    """Sets a field; maps on the way are made where they are missing. Raises PathError."""
    *steps, last = _steps(path)
    found: Any = obj
    for step in steps:
        found = _enter(found, step, path)
    if isinstance(found, list):
        found[_index(found, last, path)] = value
    else:
        found[last] = value


def remove(obj: JSON, path: str) -> None:
    """Removes a field or an item of a list. Raises PathError, also where there is none."""
    *steps, last = _steps(path)
    found: Any = obj
    for step in steps:
        found = _enter(found, step, path)
    if isinstance(found, list):
        del found[_index(found, last, path)]
    elif last in found:
        del found[last]
    else:
        raise PathError(f"{path}: there is no {last} to remove")


def _steps(path: str) -> list[str]:
    parts, position = [], 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            break
        parts.append(match[1] or match[2])
        position = match.end()
    if not parts or position < len(path):
        raise PathError(f"{path!r} is no path: write for example spec.roles[decode].image")
    return parts


def _enter(found: Any, step: str, path: str) -> Any:
    inner = found[_index(found, step, path)] if isinstance(found, list) else found.setdefault(step, {})
    if not isinstance(inner, dict | list):
        raise PathError(f"{path}: {step} is neither a map nor a list")
    return inner


def _index(items: list[Any], step: str, path: str) -> int:
    if step.isdecimal() and int(step) < len(items):
        return int(step)
    named = [str(item["name"]) for item in items if isinstance(item, dict) and "name" in item]
    if step not in named:
        known = ", ".join(named) or f"{len(items)} items without names"
        raise PathError(f"{path}: there is no item {step}; there are {known}")
    return next(i for i, item in enumerate(items) if isinstance(item, dict) and item.get("name") == step)
