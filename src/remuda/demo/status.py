"""The one status line of the demo: live on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from shutil import get_terminal_size
from typing import Final, Protocol, TextIO

from remuda.demo.cluster import Counters

# Seconds over which the placement rate is averaged.
RATE_SECONDS: Final = 5.0

# Between two parts of the line.
_GAP: Final = "  "


class RateMeter:
    """Measures how fast a counter grew lately."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque([(0.0, 0)])

    def per_second(self, now: float, count: int) -> float:
        """Note a count and return its growth per second over the last RATE_SECONDS."""
        self._samples.append((now, count))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RATE_SECONDS:
            self._samples.popleft()
        then, before = self._samples[0]
        return (count - before) / (now - then) if now > then else 0.0


def describe(counters: Counters, rate: float, utilisation: Mapping[str, int]) -> str:
    """Return the status as one line; ``utilisation`` is in percent per resource type.

    The most important parts come first, because a narrow terminal shows only those that fit.
    """
    parts = [
        f"running {counters.running}",
        f"pending {counters.pending}",
        f"placed {rate:.0f}/s",
    ]
    if counters.refused:
        parts.append(f"refused {counters.refused}")
    scarcest_first = sorted(utilisation.items(), key=lambda entry: (-entry[1], entry[0]))
    parts += [f"{name.rpartition('/')[2]} {percent}%" for name, percent in scarcest_first]
    parts += [f"nodes {counters.nodes}", f"jobs {counters.jobs}"]
    return _GAP.join(parts)


class Display(Protocol):
    """A place for the status line; ``seconds``: the time between two lines."""

    seconds: float

    def show(self, line: str) -> None:
        """Replace the line shown before."""
        ...

    def close(self) -> None:
        """Leave the last line in place."""
        ...


class PlainDisplay:
    """Prints a line every few seconds, for files and pipes."""

    seconds = 5.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, line: str) -> None:
        """Print the line."""
        print(line, file=self._stream, flush=True)

    def close(self) -> None:
        """Do nothing, since each line was printed at once."""


class LiveDisplay:
    """Rewrites one line of a terminal."""

    seconds = 0.25

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, line: str) -> None:
        """Draw the parts of the line that fit the width of the terminal."""
        # One column stays free: erasing in the last one would take what was written there.
        room = get_terminal_size().columns - 1
        if len(line) > room:
            line = line[: room + len(_GAP)].rpartition(_GAP)[0]
        # Back to the first column, the line, and whatever was longer before is erased.
        self._stream.write(f"\r{line}\x1b[K")
        self._stream.flush()

    def close(self) -> None:
        """Leave the last line, and begin a new one."""
        self._stream.write("\n")
        self._stream.flush()


def display(stream: TextIO | None = None) -> Display:
    """Return the display that fits ``stream``; stderr by default, stdout is for the address."""
    stream = stream or sys.stderr
    return LiveDisplay(stream) if stream.isatty() else PlainDisplay(stream)
