"""Each fault and each promise names what is really tried: counts that must be seen, and tests."""

from __future__ import annotations

from typing import Final

import pytest

from tests.package import ROOT
from tests.simulation import test_faults as worlds
from tests.simulation.covered import FAULTS, INVARIANTS, OPEN, Covered

ROWS: Final = {**FAULTS, **INVARIANTS}

# What must have been seen after the worlds of each run of the tests.
SEEN: Final = {
    *worlds.MISHAPS,
    *worlds.DEEDS,
    *worlds.GANGS,
    *worlds.PREEMPTIONS,
    *(f"{fate} {message}" for fate in worlds.FATES for message in worlds.MESSAGES),
}


def test_no_number_is_left_out() -> None:
    numbers = {f"F{number}" for number in range(1, 46)} | {f"I{n}" for n in range(1, 48)}
    assert set(ROWS) | set(OPEN) == numbers
    assert not set(ROWS) & set(OPEN)


@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_names_is_seen_and_exists(row: str) -> None:
    covered: Covered = ROWS[row]
    assert covered.seen or covered.files
    assert set(covered.seen) <= SEEN
    for file in covered.files:
        assert "def test_" in (ROOT / "tests" / file).read_text(encoding="utf-8")
