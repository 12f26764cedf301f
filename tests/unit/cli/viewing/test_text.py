"""What a terminal is shown of a text that somebody else wrote."""

from __future__ import annotations

import pytest

from remuda.base.texts import shown
from remuda.cli.viewing.text import cut, width

# Japanese, each letter of which takes two columns, and an e with an accent in two characters.
WIDE = "\u65e5\u672c"
ACCENT = "e\u0301"


@pytest.mark.remuda_rule("EXT-76")
@pytest.mark.parametrize(
    "text, told",
    [
        ("root.a", "root.a"),
        ("d\u00e9j\u00e0 vu", "d\u00e9j\u00e0 vu"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("a\u2066b\u200bc\ufeff", r"a\u2066b\u200bc\ufeff"),
        ("\x9b31m", r"\x9b31m"),
        ("\ud800", r"\ud800"),
        ("a\u2028b\xa0c", r"a\u2028b\xa0c"),
    ],
)
def test_what_cannot_be_printed_is_an_escape(text: str, told: str) -> None:
    assert shown(text) == told
    assert shown(text).isprintable()


def test_columns_are_those_of_a_terminal() -> None:
    assert [width(text) for text in ("", "abc", WIDE, ACCENT, "\x1b[31mab\x1b[0m")] == [
        0,
        3,
        4,
        1,
        2,
    ]


@pytest.mark.parametrize(
    "text, room, told",
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc\u2026"),
        (WIDE + "x", 4, WIDE[0] + "\u2026"),
        (ACCENT * 3, 2, ACCENT + "\u2026"),
        ("abc", 0, ""),
    ],
)
def test_a_long_text_is_cut_to_the_room_there_is(text: str, room: int, told: str) -> None:
    assert cut(text, room) == told
    assert width(told) <= room
