"""The memory of interruptions: what is stored reads back as what was meant, within bounds."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.modeldeployment.interruptions import MOST_ENTRIES, REASONS, Interruption, Memory, read, write
from app.modeldeployment.roleplan import delay
from tests.support.builders import NOW


def _memory(*found: Interruption) -> Memory:
    return {item.key: item for item in found}


def _failed(ordinal: int, seconds_ago: int = 0, attempts: int = 1, role: str = "server") -> Interruption:
    return Interruption(role, ordinal, "Failed", NOW - timedelta(seconds=seconds_ago), attempts, "OutOfcpu: full")


interruptions = st.builds(
    Interruption,
    role=st.sampled_from([f"role-{i}" for i in range(10)]),
    ordinal=st.integers(0, 999),
    reason=st.sampled_from(REASONS),
    at=st.integers(0, 5000).map(lambda seconds: NOW - timedelta(seconds=seconds)),
    attempts=st.integers(0, 12),
    message=st.sampled_from(["", "x" * 2000]),
)


def test_replicas_that_failed_alike_in_one_minute_are_one_entry_with_ranges() -> None:
    memory = _memory(*(_failed(ordinal, 10) for ordinal in (0, 1, 2, 7)))
    assert write(memory) == [
        {
            "role": "server",
            "reason": "Failed",
            "seats": "0-2,7",
            "at": "2026-11-29T11:59:50Z",
            "attempts": 1,
            "message": "OutOfcpu: full",
        }
    ]


def test_another_minute_another_count_or_another_role_is_another_entry() -> None:
    memory = _memory(_failed(0), _failed(1, 70), _failed(2, attempts=2), _failed(3, role="other"))
    assert len(write(memory)) == 4


@given(st.lists(interruptions, max_size=40))
def test_every_seat_is_remembered_with_its_reason(found: list[Interruption]) -> None:
    memory = _memory(*found)
    assert read({"interruptions": write(memory)}, NOW).keys() == memory.keys()


@given(st.lists(interruptions, max_size=400))
def test_however_much_happens_there_are_64_entries_and_no_seat_is_forgotten(found: list[Interruption]) -> None:
    memory = _memory(*found)
    stored = write(memory)
    again = read({"interruptions": stored}, NOW)
    assert len(stored) <= MOST_ENTRIES
    assert again.keys() == memory.keys()
    for key, item in memory.items():
        assert again[key].at >= item.at.replace(microsecond=0)
        assert again[key].attempts >= item.attempts or again[key].at > item.at


@given(st.lists(interruptions, max_size=400))
def test_what_is_stored_stays_as_it_is(found: list[Interruption]) -> None:
    stored = write(_memory(*found))
    assert write(read({"interruptions": stored}, NOW)) == stored


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"role": "server", "reason": "Vanished", "seats": "0", "at": "2026-11-29T11:59:50Z"},
        {"role": "server", "reason": "Failed", "seats": "0", "at": "yesterday"},
        {"role": "server", "reason": "Failed", "seats": "x-y,,-", "at": "2026-11-29T11:59:50Z"},
        {"role": "server", "reason": "Failed", "seats": "0", "at": "2026-11-29T11:59:50Z", "attempts": "many"},
        "not an entry",
    ],
)
def test_an_entry_that_cannot_be_read_costs_nothing_but_itself(entry: object) -> None:
    good = {"role": "server", "reason": "Failed", "seats": "3", "at": "2026-11-29T11:59:50Z", "attempts": 1}
    assert list(read({"interruptions": [entry, good]}, NOW)) == [("server", 3, "Failed")]


def test_the_delay_doubles_from_ten_seconds_to_five_minutes() -> None:
    assert [delay(attempts).total_seconds() for attempts in (1, 2, 3, 5, 6, 60)] == [10, 20, 40, 160, 300, 300]


def test_a_clock_that_was_ahead_stretches_no_wait() -> None:
    ahead = write(_memory(_failed(0, seconds_ago=-3600)))
    assert [item.at for item in read({"interruptions": ahead}, NOW).values()] == [NOW]
