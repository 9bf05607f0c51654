"""Tables of Markdown, and the fields of a schema as rows of one."""

from collections.abc import Iterable, Iterator, Sequence

from app.kube.hook import JSON


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fields(schema: JSON, path: str = "") -> Iterator[tuple[str, JSON]]:
    """Every field below a structural schema with its own schema, depth first: `roles[].name` and the like."""
    for name, part in schema["properties"].items():
        items = part.get("items", part)
        here = f"{path}{name}{'[]' if part.get('type') == 'array' else ''}"
        yield here, part
        if "properties" in items:
            yield from fields(items, f"{here}.")
