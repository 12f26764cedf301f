"""The identities of allocations the scheduler makes (CYC-18, SI-35)."""

from __future__ import annotations

import pytest

from tests.unit.core.door import Caller

ONE = {"vcore": 1}


@pytest.mark.remuda_rule("CYC-18", "SI-44")
def test_the_number_counts_what_was_reported_for_the_ask(door: Caller) -> None:
    door.ask("app", "k", ONE, 4)
    assert door.place(1) == [("k-0", "n1")]
    door.existing("app", "mine", "n1", ONE, key="k")
    # Two of four are pending, so the next one is 4 - 2.
    assert door.place() == [("k-2", "n1"), ("k-3", "n1")]


@pytest.mark.remuda_rule("CYC-18", "SI-41")
def test_the_number_counts_what_was_reported_before_the_ask(door: Caller) -> None:
    for identity in ("x", "y"):
        door.existing("app", identity, "n1", ONE, key="k")
    door.ask("app", "k", ONE, 4)
    assert door.place() == [("k-2", "n1"), ("k-3", "n1")]
