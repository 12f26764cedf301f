"""How much room a text takes on a terminal, and a text cut to the room that there is."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# What stands for the part of a text for which there is no room.
CUT: Final = "\N{HORIZONTAL ELLIPSIS}"

_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;]*m")


def width(text: str) -> int:
    """Return the number of columns that a text takes; sequences for colour take none."""
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def cut(text: str, room: int) -> str:
    """Return a text that takes at most ``room`` columns; an ellipsis stands for the rest."""
    if width(text) <= room:
        return text
    if room < 1:
        return ""
    taken, used = [], 1
    for letter in text:
        used += _columns(letter)
        if used > room:
            break
        taken.append(letter)
    return "".join(taken) + CUT


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
