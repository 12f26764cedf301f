"""The one status line of the demo: live on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from typing import Final, Protocol, TextIO

from remuda.demo.cluster import Counters

# Seconds over which the placement rate is averaged.
RATE_SECONDS: Final = 5.0


class RateMeter:
    """How fast a counter grew lately."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque([(0.0, 0)])

    def per_second(self, now: float, count: int) -> float:
        """Note a count and return its growth per second over the last RATE_SECONDS."""
        self._samples.append((now, count))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RATE_SECONDS:
            self._samples.popleft()
        then, before = self._samples[0]
        return (count - before) / (now - then) if now > then else 0.0


def describe(address: str, counters: Counters, rate: float, utilisation: Mapping[str, int]) -> str:
    """Return the status as one line; ``utilisation`` is in percent per resource type.

    What matters most comes first and fits 80 columns: a narrow terminal cuts the end.
    """
    parts = [
        address,
        f"nodes {counters.nodes}",
        f"running {counters.running}",
        f"pending {counters.pending}",
        f"placed {rate:.0f}/s",
    ]
    scarcest_first = sorted(utilisation.items(), key=lambda entry: (-entry[1], entry[0]))
    parts += [f"{name.rpartition('/')[2]} {percent}%" for name, percent in scarcest_first]
    parts.append(f"jobs {counters.jobs}")
    if counters.refused:
        parts.append(f"refused {counters.refused}")
    return "  ".join(parts)


class Display(Protocol):
    """Where the status line goes; ``seconds`` is how often it wants one."""

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
        """Nothing is held back."""


class LiveDisplay:
    """Rewrites one line of a terminal."""

    seconds = 0.25

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console  # noqa: PLC0415 - only terminals pay for it
        from rich.live import Live  # noqa: PLC0415

        self._live = Live(console=Console(file=stream), auto_refresh=False)
        self._live.start()

    def show(self, line: str) -> None:
        """Draw the line, cut to the width of the terminal."""
        from rich.text import Text  # noqa: PLC0415

        self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

    def close(self) -> None:
        """Give the terminal back."""
        self._live.stop()


def display(stream: TextIO | None = None) -> Display:
    """Return the display that fits ``stream``; stderr by default, stdout is for the address."""
    stream = stream or sys.stderr
    return LiveDisplay(stream) if stream.isatty() else PlainDisplay(stream)
