"""Keys of a terminal as they are pressed, and the second screen of the terminal."""

from __future__ import annotations

import codecs
import os
import re
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# A second screen of the terminal, and back to the one that was there before.
_ENTER: Final = "\x1b[?1049h\x1b[?25l"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"

ESCAPE: Final = "escape"

# The terminal is gone, or its input has ended.
ENDED: Final = "ended"

# Names of keys, by what a terminal sends for them; all others are letters.
_KEYS: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x1b[7~": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
    "\x1b[8~": "end",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[Z": "back tab",
    "\t": "tab",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
}

# One key that sends several letters: a control sequence, or one letter after "ESC O".
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~])")

# How long the rest of a sequence may take; a person's Escape has no rest.
_REST_SECONDS: Final = 0.05


@contextmanager
def whole_terminal() -> Iterator[None]:
    """Use the second screen, and get keys as they are pressed; all is as before afterwards."""
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    sys.stdout.write(_ENTER)
    try:
        tty.setcbreak(keyboard)
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


class Keyboard:
    """The keys of a terminal. ``source``: the descriptor that they are read from."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._letters = ""
        self._ended = False

    def key(self, seconds: float) -> str:
        """Return the next key: a letter or a name, "" if none was pressed in that time.

        A sequence that is not known is dropped as a whole, and returned as "".
        """
        if not self._letters:
            self._read(seconds)
        if not self._letters:
            return ENDED if self._ended else ""
        if self._letters[0] == "\x1b":
            return self._sequence()
        letter, self._letters = self._letters[0], self._letters[1:]
        return _KEYS.get(letter, letter)

    def _read(self, seconds: float) -> None:
        """Read what was typed; wait for it at most so long."""
        if self._ended or not select.select([self._source], [], [], seconds)[0]:
            return
        try:
            found = os.read(self._source, 1_024)
        except OSError:  # the other side of the terminal is gone
            found = b""
        self._ended = not found
        self._letters += self._decoder.decode(found)

    def _sequence(self) -> str:
        """Take the letters of one key that begin with an Escape, or the Escape."""
        if len(self._letters) == 1:
            self._read(_REST_SECONDS)
        found = _SEQUENCE.match(self._letters)
        whole = found[0] if found else "\x1b"
        self._letters = self._letters[len(whole) :]
        return ESCAPE if whole == "\x1b" else _KEYS.get(whole, "")
