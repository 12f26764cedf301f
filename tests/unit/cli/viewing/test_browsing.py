"""The keys of ``remuda top``: what each changes of the list, and what a terminal sends for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from remuda.cli.viewing.browsing import Act, Browsing, Listing
from remuda.cli.viewing.keyboard import ENDED, Keyboard
from remuda.cli.viewing.kinds import kind_of
from remuda.cli.viewing.tables import Screen
from remuda.cli.viewing.text import width

KINDS = [kind_of(name) for name in ("queues", "nodes", "applications", "users")]
SCREEN = Screen(70, 8)
CAPACITY = {"vcore": 40_000, "memory": 40}


def node(number: int, vcore: int, memory: int, state: str = "Ready") -> dict[str, Any]:
    return {
        "nodeID": f"n{number}",
        "hostName": f"host-{number}",
        "schedulable": state == "Ready",
        "isReady": True,
        "capacity": {"vcore": 10_000, "memory": 10},
        "allocated": {"vcore": vcore, "memory": memory},
    }


# By share: n1 (90 %), n4 (80 %), n2 (50 %), n3 (10 %).
NODES = [node(1, 1_000, 9), node(2, 5_000, 1), node(3, 1_000, 1, "Draining"), node(4, 8_000, 2)]


@pytest.fixture
def browsing() -> Browsing:
    found = Browsing(KINDS, Listing(kind_of("nodes")))
    found.take(NODES, CAPACITY)
    found.lines(SCREEN, 0)
    return found


def press(browsing: Browsing, *keys: str) -> Act:
    """Press keys; what is to be read is read."""
    act = Act.DRAW
    for key in keys:
        act = browsing.press(key)
        if act is Act.READ:
            browsing.take(NODES if browsing.listing.kind.name == "nodes" else [], CAPACITY)
        browsing.lines(SCREEN, 0)
    return act


def names(browsing: Browsing) -> list[str]:
    return [row["nodeID"] for row in browsing.rows]


@pytest.mark.remuda_rule("EXT-74")
@pytest.mark.parametrize(
    "keys, name",
    [
        ((), "n1"),
        (("down",), "n4"),
        (("j", "j", "k"), "n4"),
        (("up",), "n1"),
        (("end",), "n3"),
        (("end", "down"), "n3"),
        (("end", "home"), "n1"),
        (("page down",), "n3"),
        (("page down", "page up"), "n1"),
        (("down", "x", "f12", "\x01"), "n4"),
    ],
)
def test_keys_select_a_row(browsing: Browsing, keys: tuple[str, ...], name: str) -> None:
    press(browsing, *keys)
    assert browsing.name() == name
    (marked,) = (line for line in browsing.lines(SCREEN, 0) if line.startswith("> "))
    assert marked.split()[1] == name


@pytest.mark.remuda_rule("EXT-74")
def test_the_marked_row_is_on_the_screen_however_small(browsing: Browsing) -> None:
    for lines in (1, 3, 4, 5, 8, 50):
        for room in (1, 5, 20, 70):
            for key in ("home", "down", "down", "end", "page up", "down"):
                press(browsing, key)
                found = browsing.lines(Screen(room, lines), 0)
                assert [line for line in found if line.startswith(">")], (lines, room, key)
                assert max(map(width, found)) <= max(room, 3)
                assert len(found) <= max(lines - 1, 3)


@pytest.mark.remuda_rule("EXT-74")
@pytest.mark.parametrize(
    "keys, order, about",
    [
        ((), ["n1", "n4", "n2", "n3"], "nodes by share, highest first"),
        (("r",), ["n3", "n2", "n4", "n1"], "nodes by share, lowest first"),
        (("s",), ["n1", "n2", "n3", "n4"], "nodes by name, lowest first"),
        (("s", "r"), ["n4", "n3", "n2", "n1"], "nodes by name, highest first"),
        (("s", "s", "s"), ["n4", "n2", "n1", "n3"], "nodes by used.vcore, highest first"),
        (("s", "s", "s", "s"), ["n1", "n4", "n2", "n3"], "nodes by used.memory, highest first"),
        (("s", "S"), ["n1", "n4", "n2", "n3"], "nodes by share, highest first"),
    ],
)
def test_keys_change_the_order(
    browsing: Browsing, keys: tuple[str, ...], order: list[str], about: str
) -> None:
    press(browsing, *keys)
    assert names(browsing) == order
    assert browsing.lines(SCREEN, 0)[0].startswith(f"{about}; 1 to 4 of 4")


@pytest.mark.remuda_rule("EXT-74")
def test_every_column_comes_once_until_the_first_comes_again(browsing: Browsing) -> None:
    seen = []
    while browsing.listing.sort_by not in seen:
        seen.append(browsing.listing.sort_by)
        press(browsing, "s")
    assert browsing.listing.sort_by == seen[0] == "share"
    assert seen == browsing.listing.columns(CAPACITY)


@pytest.mark.remuda_rule("EXT-74")
def test_a_text_leaves_the_rows_that_have_it(browsing: Browsing) -> None:
    assert press(browsing, "/", *"dxR", "backspace", "backspace", *"Rain", "q") is Act.DRAW
    assert browsing.lines(SCREEN, 0)[0] == "only rows with: dRainq_"
    press(browsing, "backspace", "enter")
    assert names(browsing) == ["n3"]
    assert "with 'dRain'; 1 to 1 of 1" in browsing.lines(SCREEN, 0)[0]
    press(browsing, "/", *"nobody", "enter")
    assert (names(browsing), browsing.name()) == ([], "")
    assert press(browsing, "enter") is Act.DRAW  # there is no row
    assert "; none; " in browsing.lines(SCREEN, 0)[0]
    press(browsing, "escape")
    assert len(names(browsing)) == 4


@pytest.mark.remuda_rule("EXT-74")
def test_a_row_leads_to_a_page_and_back(browsing: Browsing) -> None:
    assert press(browsing, "down", "enter") is Act.READ
    assert browsing.opened == "n4"
    browsing.page = [f"line {number}" for number in range(9)]
    assert browsing.lines(SCREEN, 0)[1] == "line 0"
    press(browsing, "down")
    assert browsing.lines(SCREEN, 0)[1] == "line 1"
    press(browsing, "end")
    assert browsing.lines(SCREEN, 0)[-1] == "line 8"
    press(browsing, "escape")
    assert browsing.lines(SCREEN, 0)[0].startswith("nodes by share")
    assert browsing.name() == "n4"


@pytest.mark.remuda_rule("EXT-74")
def test_the_keys_are_listed(browsing: Browsing) -> None:
    press(browsing, "enter", "?")
    assert browsing.opened == ""
    assert "q  " in "\n".join(browsing.lines(Screen(80, 40), 0))
    press(browsing, "q")


@pytest.mark.remuda_rule("EXT-74")
def test_keys_change_between_the_kinds(browsing: Browsing) -> None:
    press(browsing, "s", "/", "x", "enter", "tab")
    assert browsing.listing == Listing(kind_of("applications"))
    press(browsing, "back tab", "back tab")
    assert browsing.listing.kind.name == "queues"
    press(browsing, "back tab")
    assert browsing.listing.kind.name == "users"
    for number, kind in enumerate(KINDS, 1):
        press(browsing, str(number))
        assert browsing.listing.kind.name == kind.name


@pytest.mark.remuda_rule("EXT-74")
def test_space_pauses_and_goes_on(browsing: Browsing) -> None:
    assert press(browsing, " ") is Act.DRAW
    assert browsing.paused
    assert "; paused; " in browsing.lines(SCREEN, 0)[0]
    assert press(browsing, " ") is Act.READ
    assert not browsing.paused


@pytest.mark.remuda_rule("EXT-74")
@pytest.mark.parametrize("keys", [("q",), ("Q",), ("enter", "q"), ("/", ENDED), (ENDED,)])
def test_keys_that_end_it(browsing: Browsing, keys: tuple[str, ...]) -> None:
    assert press(browsing, *keys) is Act.LEAVE


@pytest.mark.remuda_rule("EXT-76")
def test_hostile_names_and_texts_do_not_reach_the_terminal(browsing: Browsing) -> None:
    hostile = {**NODES[0], "nodeID": "n\x1b[2J\u202e"}
    browsing.take([hostile], {"vcore": 1, "\x1b[31m": 5})
    for keys in ((), ("s",) * 5, ("/", "\u202e", "enter"), ("/",)):
        for key in keys:
            browsing.press(key)
        text = "\n".join(browsing.lines(SCREEN, 0))
        assert "\x1b" not in text
        assert "\u202e" not in text


@pytest.fixture
def terminal() -> Iterator[tuple[int, Keyboard]]:
    ours, its = os.pipe()
    yield its, Keyboard(ours)
    os.close(ours)


def sent(terminal: tuple[int, Keyboard], typed: bytes) -> list[str]:
    """Send what is typed, hang up, and return the keys that were understood."""
    its, keyboard = terminal
    os.write(its, typed)
    os.close(its)
    found = []
    while (key := keyboard.key(5)) != ENDED:
        found.append(key)
    return [key for key in found if key]


@pytest.mark.remuda_rule("EXT-74")
@pytest.mark.parametrize(
    "typed, keys",
    [
        (b"aq", ["a", "q"]),
        (b"\x1b[A\x1bOB\x1b[5~\x1b[6~", ["up", "down", "page up", "page down"]),
        (b"\x1b[Hx\x1b[4~", ["home", "x", "end"]),
        (b"\t\x1b[Z\r\n\x7f\x08", ["tab", "back tab", "enter", "enter", "backspace", "backspace"]),
        ("\u00e9\u65e5".encode(), ["\u00e9", "\u65e5"]),
        (b"\xff", ["\ufffd"]),
        # Keys that are not known: F5, control and arrow, a mouse.
        (b"\x1b[15~a\x1b[1;5Cb\x1b[<0;1;1Mc", ["a", "b", "c"]),
        (b"\x1b", ["escape"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
    ],
)
def test_what_a_terminal_sends(
    terminal: tuple[int, Keyboard], typed: bytes, keys: list[str]
) -> None:
    assert sent(terminal, typed) == keys
    assert terminal[1].key(5) == ENDED


@pytest.mark.remuda_rule("EXT-74")
@pytest.mark.parametrize(
    "first, rest, key",
    [(b"\x1b[", b"A", "up"), (b"\x1b[5", b"~", "page up"), (b"\x1bO", b"H", "home")],
)
def test_a_key_that_comes_in_parts_is_one(
    terminal: tuple[int, Keyboard], first: bytes, rest: bytes, key: str
) -> None:
    """As over a slow network, or where the letters of many keys fill what is read at once."""
    its, keyboard = terminal
    os.write(its, b"x" * (1_024 - len(first)) + first + rest)
    os.close(its)
    found = [keyboard.key(5) for _ in range(1_024 - len(first) + 1)]
    assert found == ["x"] * (1_024 - len(first)) + [key]
    assert keyboard.key(5) == ENDED


@pytest.mark.remuda_rule("EXT-74")
def test_a_sequence_without_an_end_is_not_waited_for_for_ever(
    terminal: tuple[int, Keyboard],
) -> None:
    its, keyboard = terminal
    os.write(its, b"\x1b[" + b"1" * 5_000)
    os.close(its)
    assert [keyboard.key(5) for _ in range(3)] == ["escape", "[", "1"]


def test_a_letter_that_comes_in_parts_is_one(terminal: tuple[int, Keyboard]) -> None:
    its, keyboard = terminal
    os.write(its, b"\xc3")
    assert keyboard.key(0) == ""
    os.write(its, b"\xa9")
    os.close(its)
    assert keyboard.key(5) == "\u00e9"


@pytest.mark.remuda_rule("EXT-127")
@pytest.mark.parametrize(
    "typed, keys",
    [
        (b"a\x1b[200~qS1 and more\x1b[A\x1b[201~b", ["a", "b"]),
        (b"\x1b[200~\x1b[201~\x1b[A", ["up"]),
        # A mark within pasted text is not taken as one by most terminals; what follows is a burst.
        (b"\x1b[200~a\x1b[201~q" + bytes(range(97, 123)), []),
        # The end of a paste did not come.
        (b"\x1b[200~q" * 9, []),
        # A terminal without marks.
        (b"kubectl delete pod queue-1\r", []),
        (b"\x1b[B" * 30, ["down"] * 30),
        (b"jjjjjjjjjjjjjjjjjjjjjjkkkkkkr", [*"jjjjjjjjjjjjjjjjjjjjjjkkkkkkr"]),
    ],
)
def test_pasted_text_is_no_key(
    terminal: tuple[int, Keyboard], typed: bytes, keys: list[str]
) -> None:
    assert sent(terminal, typed) == keys


@pytest.mark.remuda_rule("EXT-127")
def test_a_paste_that_comes_in_parts_is_one(terminal: tuple[int, Keyboard]) -> None:
    its, keyboard = terminal
    found = []
    for part in (b"\x1b[200~q" + b"x" * 5_000, b"q\x1b[20", b"1~j"):
        os.write(its, part)
        found += [keyboard.key(0) for _ in range(10)]
    assert "".join(found) == "j"


@pytest.mark.remuda_rule("EXT-127")
@pytest.mark.parametrize("room", range(1, 8))
@pytest.mark.parametrize("colours", [False, True])
def test_no_line_is_wider_than_a_narrow_terminal(
    browsing: Browsing, room: int, colours: bool
) -> None:
    for keys in ((), ("?",), ("/", "a")):
        for key in keys:
            browsing.press(key)
        lines = browsing.lines(Screen(room, 8, colours), 0)
        assert len(lines) > 2
        assert all(width(line) <= room for line in lines)
