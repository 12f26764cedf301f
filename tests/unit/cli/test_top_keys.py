"""What ``remuda top`` reads while keys come faster than a server answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import cast

import pytest

from remuda.cli.server import Server
from remuda.cli.top import _Terminal
from remuda.cli.viewing.browsing import Browsing, Listing
from remuda.cli.viewing.columns import Question
from remuda.cli.viewing.keyboard import Keyboard, WholeTerminal
from remuda.cli.viewing.kinds import kind_of
from tests.unit.cli.viewing.test_browsing import CAPACITY, KINDS, NODES


class Whole:
    """A terminal that nobody suspends."""

    entered = 1


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the rows were sorted by, or what was opened, at each reading."""
    found: list[str] = []

    def read(terminal: _Terminal) -> None:
        browsing = terminal._browsing
        found.append(browsing.opened or browsing.listing.sort_by)
        if not browsing.opened:
            browsing.take(NODES, CAPACITY)

    monkeypatch.setattr(_Terminal, "read", read)
    return found


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ours, its = os.pipe()
    yield ours, its
    os.close(ours)


def serve(pipe: tuple[int, int], keys: bytes) -> Browsing:
    """Show nodes on a terminal on which all these keys have been typed, and no more come."""
    browsing = Browsing(KINDS, Listing(kind_of("nodes")))
    browsing.take(NODES, CAPACITY)
    ours, its = pipe
    os.write(its, keys)
    os.close(its)
    terminal = _Terminal(cast("Server", None), Question(), 3_600.0, browsing)
    terminal.serve(Keyboard(ours), cast("WholeTerminal", Whole()))
    return browsing


@pytest.mark.remuda_rule("EXT-74")
def test_a_key_that_is_held_down_makes_the_server_answer_once(
    pipe: tuple[int, int], reads: list[str]
) -> None:
    browsing = serve(pipe, b"s" * 1_001)
    columns = browsing.listing.columns(CAPACITY)
    assert reads == [columns[1_001 % len(columns)]]


@pytest.mark.remuda_rule("EXT-74")
def test_a_key_that_chooses_a_row_chooses_among_those_that_were_asked_for(
    pipe: tuple[int, int], reads: list[str]
) -> None:
    browsing = serve(pipe, b"sr\r")
    # By name from the last on; by share the first one is n1.
    assert reads[0] == "name"
    assert browsing.opened == "n4"
