"""Amounts of resources, spelled as Kueue spells them in messages and in status."""

import math
from fractions import Fraction

from app.kube import quantities

_BYTES = frozenset({"memory", "ephemeral-storage"})


def spelled(resource: str, amount: Fraction) -> str:
    """CPU in cores or milli-cores, bytes under binary suffixes, everything else as a plain number."""
    if resource == "cpu":
        return quantities.canonical(f"{math.ceil(amount * 1000)}m")
    whole = math.ceil(amount)
    if (resource in _BYTES or resource.startswith("hugepages-")) and whole and whole % 1024 == 0:
        return quantities.multiply("1Ki", whole // 1024)
    return quantities.canonical(str(whole))
