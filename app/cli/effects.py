"""What becomes of the children, the parent and the next call when Metacontroller takes an answer."""

from collections.abc import Iterator

from app.kube.hook import JSON
from app.kube.pods import mapping

_MOST_NAMED = 5


def on_children(
    root: JSON, observed: JSON, wanted: dict[str, dict[str, JSON]], *, finalizing: bool
) -> tuple[list[str], list[str]]:
    """What happens to the children, and what about it is easily not meant."""
    live = {
        (key, name)
        for key, group in observed.items()
        for name, child in mapping(group).items()
        if "deletionTimestamp" not in mapping(mapping(child).get("metadata"))
    }
    there = {(key, name) for key, group in observed.items() for name in mapping(group)}
    asked = {(key, name) for key, group in wanted.items() for name in group}
    effect = [
        f"{verb} {_named(found)}"
        for verb, found in (("makes", asked - there), ("keeps or updates", asked & there), ("deletes", live - asked))
        if found
    ]
    warnings = list(_child_warnings(root, observed, asked))
    if live and not asked and not finalizing:
        warnings.append("it lists no child, so every one of them is deleted")
    return effect or ["no child is wanted and none is there"], warnings


def _child_warnings(root: JSON, observed: JSON, asked: set[tuple[str, str]]) -> Iterator[str]:
    space = mapping(root.get("metadata")).get("namespace", "")
    for key in sorted({key for key, _ in asked} - observed.keys()):
        yield f"{key} is no declared child kind: what is made of it is never seen again, and never deleted"
    for key, name in sorted(asked):
        if not name.rpartition("/")[2]:
            yield f"a {key} has no metadata.name: Metacontroller fails on it"
        elif space and "/" in name and name.partition("/")[0] != space:
            yield f"{key} {name} is in another namespace than its parent, whose garbage collection takes it away"


def in_words(parts: list[str], answer: JSON, observed: JSON) -> str:
    """One sentence of `parts` and of what the answer asks for beside children."""
    seconds = answer.get("resyncAfterSeconds", 0)
    if answer.get("finalized"):
        left = sum(len(mapping(group)) for group in observed.values())
        parts.append(f"lets the parent go, with {count(left, 'child', 'children')} still there")
    if seconds > 0:
        parts.append(f"calls again in {seconds:g} s")
    return f"takes this answer: {'; '.join(parts)}"


def _named(found: set[tuple[str, str]]) -> str:
    names = [f"{key.partition('.')[0]} {name}" for key, name in sorted(found)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 child`, `2 children`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
