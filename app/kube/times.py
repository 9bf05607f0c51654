"""Kubernetes timestamps: RFC 3339 in UTC with whole seconds."""

from datetime import UTC, datetime
from math import ceil

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def parse(text: object) -> datetime | None:
    """The time that `text` states, or None where it states none (absent, not a string, not RFC 3339)."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def render(moment: datetime) -> str:
    """`moment` as Kubernetes writes it, for example `2026-11-29T12:00:00Z`."""
    return moment.astimezone(UTC).strftime(_FORMAT)


def until(moment: datetime, now: datetime) -> float:
    """Whole seconds from `now` to `moment`, rounded up; 0 or less where it has passed."""
    return float(ceil((moment - now).total_seconds()))
