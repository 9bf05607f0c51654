"""Quantities: what an InstanceType promises per card is what a Pod asks for, to the byte."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube import quantities

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-6", "e+9"]


@pytest.mark.parametrize(
    ("quantity", "factor", "expected"),
    [
        ("12", 8, "96"),
        (4, 2, "8"),
        ("500m", 3, "1500m"),
        ("0.5", 1, "500m"),
        (".5", 4, "2"),
        ("1000m", 1, "1"),
        ("250", 4, "1k"),
        ("1.5Gi", 2, "3Gi"),
        ("1.5Gi", 1, "1536Mi"),
        ("512Mi", 2, "1Gi"),
        ("1000Mi", 2, "2000Mi"),
        ("0.5Ki", 1, "512"),
        ("128Gi", 8, "1Ti"),
        ("1e3", 2, "2e3"),
        ("12E6", 1, "12e6"),
        ("1e-3", 5, "5e-3"),
        ("1E", 1, "1E"),
        ("+1", 1, "1"),
        ("-1500m", 2, "-3"),
        ("0", 8, "0"),
        ("16Gi", 0, "0"),
    ],
)
def test_a_share_times_the_cards_is_spelled_as_the_api_server_spells_it(
    quantity: int | str, factor: int, expected: str
) -> None:
    assert quantities.multiply(quantity, factor) == expected


@pytest.mark.parametrize(("quantity", "expected"), [("0.1n", "1n"), ("1.0001Mi", "1048681"), ("-0.1n", "-1n")])
def test_what_is_too_fine_is_rounded_up_so_that_a_pod_never_gets_less(quantity: str, expected: str) -> None:
    assert quantities.canonical(quantity) == expected


@pytest.mark.parametrize(
    "text", ["", "Gi", ".", "1.5.5", "1 Gi", "16GiB", "1e1.5", "0x10", "١", "1e999999999", "NaN", "1,5"]
)
def test_what_is_no_quantity_is_refused_by_its_own_words_and_at_once(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a Kubernetes quantity|is out of range"):
        quantities.multiply(text, 1)


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.sampled_from(SUFFIXES), st.integers(min_value=1, max_value=64))
def test_no_byte_or_core_is_lost_or_made_up_by_multiplying(whole: int, part: int, suffix: str, factor: int) -> None:
    quantity = f"{whole}.{part}{suffix}"
    exact = quantities.parse(quantity) * factor
    written = quantities.parse(quantities.multiply(quantity, factor))
    finest = 1 if suffix.endswith("i") and exact >= 1024 else Fraction(1, 10**9)
    assert 0 <= written - exact < finest


@given(st.integers(0, 10**12), st.sampled_from(SUFFIXES))
def test_a_quantity_that_was_written_once_is_written_the_same_again(number: int, suffix: str) -> None:
    once = quantities.canonical(f"{number}{suffix}")
    assert quantities.canonical(once) == once


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [(Fraction(11, 2), "96", "5500m"), (2**31, "64Gi", "2Gi"), (3000, "1k", "3k"), (0, "8", "0"), (8, 1, "8")],
)
def test_a_sum_is_written_as_what_it_stands_beside(value: Fraction, like: int | str, expected: str) -> None:
    assert quantities.spell(Fraction(value), like) == expected
