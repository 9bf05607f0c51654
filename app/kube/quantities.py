"""Kubernetes quantities, exactly: no float ever holds a CPU or a byte.

A quantity keeps its family of suffixes (binary `Ki`, decimal `k`, exponent `e3`) and is written as the API server
stores it: a whole number under the largest suffix that leaves no fraction. Nothing is finer than a billionth; what
would be is rounded up, as the API server does.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"": 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
# Far beyond what the API server can hold (2^63), and small enough that a power of ten stays cheap.
_LARGEST_EXPONENT = 30
_NANO = 10**9


def parse(quantity: int | str) -> Fraction:
    """The value of `quantity` in its base unit (cores, bytes, cards). Raises ValueError where it is none."""
    return _read(str(quantity))[0]


@lru_cache(maxsize=1024)
def multiply(quantity: int | str, factor: int) -> str:
    """`quantity` times `factor` in the spelling of the API server. Raises ValueError where it is no quantity."""
    value, family = _read(str(quantity))
    return _write(value * factor, family)


def canonical(quantity: int | str) -> str:
    """`quantity` in the spelling of the API server: `1000m` is `1`. Raises ValueError where it is no quantity."""
    return multiply(quantity, 1)


def spell(value: Fraction, like: int | str) -> str:
    """`value` as the API server would write it beside `like`: in its family of suffixes. Raises ValueError."""
    return _write(value, _read(str(like))[1])


def _read(text: str) -> tuple[Fraction, str]:
    match = _FORM.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4] or ""
    number = Fraction(int(f"{whole}{fraction}"), 10 ** len(fraction))
    if suffix in _BINARY and suffix:
        scale, family = Fraction(2 ** _BINARY[suffix]), "binary"
    elif suffix in _DECIMAL:
        scale, family = Fraction(10) ** _DECIMAL[suffix], "decimal"
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > _LARGEST_EXPONENT:
            raise ValueError(f"{text!r} is out of range")
        scale, family = Fraction(10) ** exponent, "exponent"
    return (-number if sign == "-" else number) * scale, family


def _write(value: Fraction, family: str) -> str:
    if family == "binary" and abs(value) >= 1024:
        return _largest(_up(value), {suffix: 2**power for suffix, power in _BINARY.items()})
    nanos = _up(value * _NANO)
    if family == "exponent":
        return _largest(nanos, {f"e{power}" if power else "": 10 ** (power + 9) for power in range(-9, 28, 3)})
    return _largest(nanos, {suffix: 10 ** (power + 9) for suffix, power in _DECIMAL.items()})


def _up(value: Fraction) -> int:
    """Away from zero, to a whole number."""
    return math.ceil(value) if value >= 0 else math.floor(value)


def _largest(amount: int, suffixes: dict[str, int]) -> str:
    """`amount` as a whole number of the largest unit that divides it."""
    if amount == 0:
        return "0"
    return max(
        ((unit, f"{amount // unit}{suffix}") for suffix, unit in suffixes.items() if amount % unit == 0),
        key=lambda found: found[0],
    )[1]
