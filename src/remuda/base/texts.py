"""Texts from outside, as they are shown.

Names come from whoever submits work. On a terminal, a name with escape sequences could hide a line
or answer for another one, and a mark for writing from right to left could reverse what stands
behind it.
"""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters, with dots where it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def shown(text: str) -> str:
    r"""Return a text with ``\x1b`` and the like for each character that cannot be printed.

    Not printable are control characters, line ends, marks of direction, characters without width
    and those that Unicode does not know. All others stay as they are.

    Implements: EXT-76.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
