"""Tables at the width of a terminal, and what a list that is watched shows."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.cli.server import NotReachableError, RefusedError, WrongRequestError
from remuda.cli.viewing import watching
from remuda.cli.viewing.columns import Kind
from remuda.cli.viewing.kinds import KINDS, kind_of
from remuda.cli.viewing.selecting import Wanted, in_order
from remuda.cli.viewing.tables import Screen, Table, screen_of
from remuda.cli.viewing.text import width
from tests.unit.cli.viewing.canned import APPLICATION, NODE, QUEUE

NODES = kind_of("nodes")
LONG = {**NODE, "nodeID": "a-name-that-is-longer-than-all-others.example", "hostName": "\u65e5" * 9}


def lines(kind: Kind, rows: list[Any], screen: Screen) -> tuple[list[str], list[str]]:
    """The lines of a table, and the titles that are left out."""
    table = Table(kind.shown_columns(wide=False), screen, 1767225700000000000)
    return table.lines([table.cells(row) for row in rows]), table.left_out


@pytest.mark.parametrize("room", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("name, row", [("nodes", LONG), ("queues", QUEUE), ("apps", APPLICATION)])
def test_no_line_is_wider_than_the_terminal(name: str, row: Any, room: int) -> None:
    kind = kind_of(name)
    found, left_out = lines(kind, [row], Screen(room))
    assert max(map(width, found)) <= room
    titles = [column.title for column in kind.shown_columns(wide=False)]
    assert {title for title in titles if title not in found[0].split()} == set(left_out)


def test_a_pipe_has_every_cell_whole() -> None:
    found, left_out = lines(NODES, [LONG, NODE], Screen())
    assert left_out == []
    assert [line.split()[0] for line in found] == ["NODE", LONG["nodeID"], "n1"]
    assert found[1].index("Ready") == found[2].index("Ready") == found[0].index("STATE")


def test_numbers_end_in_the_same_column() -> None:
    rows = [{**NODE, "utilized": {"memory": each}} for each in (5, 100)]
    found, _ = lines(NODES, rows, Screen())
    assert [line[-5:] for line in found] == ["  USE", "   5%", " 100%"]


def test_later_batches_keep_the_columns_of_the_first() -> None:
    table = Table(NODES.shown_columns(wide=False), Screen(), 0)
    first = table.lines([table.cells(LONG)])
    second = table.lines([table.cells(NODE)])
    assert (len(first), len(second)) == (2, 1)
    assert second[0].index("Ready") == first[1].index("Ready")


def test_only_a_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "61")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert screen_of(StringIO()) == Screen()
    assert (screen_of(Terminal()).room, screen_of(Terminal()).colours) == (61, True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen_of(Terminal()).colours
    draining = {**NODE, "schedulable": False}
    found, _ = lines(NODES, [draining], Screen(0, 0, colours=True))
    assert "\x1b[33mDraining\x1b[0m" in found[1]
    plain, _ = lines(NODES, [draining], Screen())
    assert width(found[1]) == len(plain[1])


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_columns_of_a_kind_have_names_of_their_own(kind: Kind) -> None:
    assert len({column.key for column in kind.columns}) == len(kind.columns)
    assert len({column.title for column in kind.columns}) == len(kind.columns)
    assert all(column.needs for column in kind.columns if kind.needs)


def test_names_of_kinds_are_clear() -> None:
    names = [name for kind in KINDS for name in (kind.name, kind.singular, *kind.aliases)]
    assert len(set(names)) == len(names)


@pytest.mark.remuda_rule("EXT-77")
def test_too_many_rows_to_sort_are_refused() -> None:
    rows = [({**NODE, "nodeID": str(at)}, at) for at in range(2_500)]
    with pytest.raises(UsageError, match="more than 100 rows; add --limit"):
        list(in_order(rows, NODES, Wanted(sort_by="name"), most=100))
    few = in_order(rows, NODES, Wanted(sort_by="-name", limit=2), most=2_000)
    assert list(few) == [999, 998]


def test_a_frame_is_drawn_over_the_one_before() -> None:
    out = StringIO()
    frame = watching.Frame(out)
    frame.draw(["a", "b"], Screen(80, 10))
    frame.draw(["c"], Screen(80, 10))
    assert out.getvalue() == "\x1b[Ka\n\x1b[Kb\n\x1b[J" + "\x1b[2A\r\x1b[Kc\n\x1b[J"


def test_a_frame_on_a_terminal_of_another_size_begins_at_the_top() -> None:
    out = StringIO()
    frame = watching.Frame(out)
    frame.draw(["a", "b"], Screen(80, 10))
    frame.draw(["c"], Screen(40, 10))
    frame.draw(["d"], Screen(40, 10))
    assert out.getvalue() == (
        "\x1b[Ka\n\x1b[Kb\n\x1b[J" + "\x1b[H\x1b[J\x1b[Kc\n\x1b[J" + "\x1b[1A\r\x1b[Kd\n\x1b[J"
    )


def test_a_terminal_is_not_overfull() -> None:
    rows = [{**NODE, "nodeID": f"n{at}"} for at in range(30)]
    screen = Screen(80, 10)
    table = Table(NODES.shown_columns(wide=False), screen, 0)
    found = watching.drawn(table, rows, screen)
    assert len(found) < 10
    assert found[-1] == "... and 23 more"


def test_only_rows_that_differ_are_changes() -> None:
    changes = watching.Changes(NODES, NODES.columns)
    other = {**NODE, "nodeID": "n2"}
    assert changes.among([NODE, other]) == [NODE, other]
    assert changes.among([NODE, other]) == []
    moved = {**other, "schedulable": False}
    assert changes.among([NODE, moved]) == [moved]
    assert changes.among([NODE]) == []
    assert changes.among([NODE, moved]) == [moved]


class EndedError(Exception):
    """Ends a loop that has no end."""


def test_a_server_that_goes_away_is_called_again(capsys: pytest.CaptureFixture[str]) -> None:
    silent = NotReachableError("nobody answers")
    # One that was started again answers, but has no partition yet.
    empty = WrongRequestError("Partition not found", 404)
    steps: list[Exception | None] = [None, silent, silent, None, silent, empty, EndedError()]

    def once() -> None:
        if (step := steps.pop(0)) is not None:
            raise step

    with pytest.raises(EndedError):
        watching.again(1, once, sleep=lambda seconds: None)
    assert capsys.readouterr().err == "remuda: nobody answers; trying again\n" * 2


@pytest.mark.parametrize("steps", [[NotReachableError("nobody")], [None, RefusedError("no more")]])
def test_a_first_failure_or_a_refusal_ends_it(steps: list[RemudaError | None]) -> None:

    def once() -> None:
        if (step := steps.pop(0)) is not None:
            raise step

    with pytest.raises(RemudaError):
        watching.again(1, once, sleep=lambda seconds: None)
    assert steps == []
