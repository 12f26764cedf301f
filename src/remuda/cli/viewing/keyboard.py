"""Keys of a terminal as they are pressed, and the second screen of the terminal."""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import sys
import termios
import tty
from contextlib import suppress
from typing import Any, Final, Self

# A second screen of the terminal, on which pasted text comes between marks, and back to the one
# that was there before.
_ENTER: Final = b"\x1b[?1049h\x1b[?2004h\x1b[?25l"
_LEAVE: Final = b"\x1b[?25h\x1b[?2004l\x1b[?1049l"

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

# The beginning of one. No key sends as many letters as the limit.
_BEGUN: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?")
_SEQUENCE_LIMIT: Final = 64

# How long the rest of a sequence may take; a person's Escape has no rest.
_REST_SECONDS: Final = 0.05

# What a terminal sends before and after pasted text.
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"

# A terminal without these marks sends pasted text at once: more letters, and more different ones,
# than a person types while a server answers. A key that is held down is one letter.
_TYPED_AT_ONCE: Final = 20
_TYPED_LETTERS: Final = 5


class WholeTerminal:
    """The second screen, and keys as they are pressed; all is as before afterwards.

    That is so too when a signal ends the process, and while it is suspended with Ctrl-Z.
    ``entered``: how often the screen was taken, which is empty each time.
    """

    def __init__(self) -> None:
        self._keys, self._screen = sys.stdin.fileno(), sys.stdout.fileno()
        self._before = termios.tcgetattr(self._keys)
        self._handlers: dict[int, Any] = {}
        self.entered = 0

    def __enter__(self) -> Self:
        try:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
                self._handle(number)
            self._take()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _handle(self, number: int) -> None:
        """Handle a signal, unless whoever started the process wants it ignored."""
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            self._handlers[number] = before
            signal.signal(number, self._leave)

    def _leave(self, number: int, _: object) -> None:
        """Give the terminal back, and do what the signal does by itself.

        A process that was suspended goes on some day, and takes the terminal again.
        """
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._leave)
        self._take()

    # The descriptor is written to, since a signal may interrupt a writer of sys.stdout.
    def _take(self) -> None:
        os.write(self._screen, _ENTER)
        tty.setcbreak(self._keys)
        self.entered += 1

    def _give_back(self) -> None:
        with suppress(OSError, termios.error):  # the terminal may be gone
            termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)
            os.write(self._screen, _LEAVE)


class Keyboard:
    """The keys of a terminal. ``source``: the descriptor that they are read from.

    Pasted text is no key and is dropped. Implements: EXT-127.
    """

    def __init__(self, source: int) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._letters = ""
        self._ended = False
        self._pasting = False

    def key(self, seconds: float) -> str:
        """Return the next key: a letter or a name, "" if none was pressed in that time.

        A sequence that is not known is dropped as a whole, and returned as "".
        """
        if self._pasting:
            self._read(seconds)
            self._skip_paste()
            return ENDED if self._ended else ""
        if not self._letters:
            self._read(seconds)
        if not self._letters:
            return ENDED if self._ended else ""
        if self._letters[0] == "\x1b":
            return self._sequence()
        letter, self._letters = self._letters[0], self._letters[1:]
        return _KEYS.get(letter, letter)

    def waiting(self) -> bool:
        """Whether more was typed already."""
        if not self._letters:
            self._read(0)
        return bool(self._letters) and not self._pasting

    def _read(self, seconds: float) -> None:
        """Read what was typed; wait for it at most so long."""
        found = self._found(seconds)
        marked = self._pasting or _PASTE in self._letters + found
        if not marked and _at_once(found):
            self._skip_burst()
        else:
            self._letters += found

    def _found(self, seconds: float) -> str:
        """Return what came; wait for it at most so long."""
        if self._ended or not select.select([self._source], [], [], seconds)[0]:
            return ""
        try:
            found = os.read(self._source, 1_024)
        except OSError:  # the other side of the terminal is gone
            found = b""
        self._ended = not found
        return self._decoder.decode(found)

    def _skip_burst(self) -> None:
        """Drop all that comes without a pause."""
        self._letters = ""
        while self._found(_REST_SECONDS):
            pass

    def _skip_paste(self) -> None:
        """Drop pasted text as far as it came, and what follows it at once."""
        _, end, rest = self._letters.partition(_PASTED)
        self._pasting = not end
        # The beginning of the mark may be there already.
        self._letters = rest if end else self._letters[1 - len(_PASTED) :]
        if end and _at_once(rest):
            self._skip_burst()

    def _sequence(self) -> str:
        """Take the letters of one key that begin with an Escape, or the Escape."""
        size = 0
        while size < len(self._letters) < _SEQUENCE_LIMIT and _BEGUN.fullmatch(self._letters):
            size = len(self._letters)
            self._read(_REST_SECONDS)
        if not self._letters:
            return ""
        found = _SEQUENCE.match(self._letters)
        whole = found[0] if found else "\x1b"
        self._letters = self._letters[len(whole) :]
        if whole == _PASTE:
            self._pasting = True
            self._skip_paste()
        return ESCAPE if whole == "\x1b" else _KEYS.get(whole, "")


def _at_once(letters: str) -> bool:
    """Whether so much came at once that nobody typed it."""
    typed = _SEQUENCE.sub("", letters)
    return len(typed) > _TYPED_AT_ONCE and len(set(typed)) > _TYPED_LETTERS
