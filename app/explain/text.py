"""An explanation as lines for a terminal."""

from collections.abc import Iterator

from app.explain.answer import Explanation, Finding, Holder


def lines(found: Explanation) -> Iterator[str]:
    """The lines, without colour; each sentence is one line, so that it can be searched for."""
    yield found.summary
    yield from _section("It has", found.got)
    for finding in found.waits:
        yield ""
        yield from _finding(finding)
    yield from _section("To know", found.notes)
    yield from _section("Not read, so nothing is said of it", found.unread)


def _section(title: str, items: tuple[str, ...]) -> Iterator[str]:
    if items:
        yield ""
        yield f"{title}:"
        yield from (f"  {item}" for item in items)


def _finding(finding: Finding) -> Iterator[str]:
    yield f"{finding.about}, {finding.reason}:" if finding.reason else f"{finding.about}:"
    yield from (f"  {sentence}" for sentence in finding.sentences)
    if finding.holders:
        yield "  It is held by:"
        yield from (f"    {_holder(holder)}" for holder in finding.holders)
    yield from (f"  {sentence}" for sentence in finding.release)
    if finding.to_do:
        yield f"  To do: {finding.to_do}"
    for command in finding.commands:
        yield f"    # {command.why}"
        yield f"    {command.line}"


def _holder(holder: Holder) -> str:
    amounts = ", ".join(f"{amount} {resource}" for resource, amount in holder.amounts.items())
    count = f" in {holder.workloads} Workloads" if holder.workloads > 1 else ""
    priority = f"priority {holder.priority}" + (f" ({holder.priority_class})" if holder.priority_class else "")
    return (
        f"{amounts or 'an amount that Kueue does not state'}{count}: {holder.who}, {priority}, {holder.cluster_queue}"
    )
