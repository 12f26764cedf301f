"""The parts that tools share which run for as long as they may and go on where they ended."""

from __future__ import annotations

import argparse
from pathlib import Path

from remuda.base.duration import SECOND, parse_duration


def seconds(text: str) -> float:
    """Return the seconds of a duration on a command line. Raises: ArgumentTypeError."""
    nanoseconds = parse_duration(text)
    if nanoseconds is None or nanoseconds <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no duration above 0, for example 8h")
    return nanoseconds / SECOND


def write(file: Path, content: bytes) -> None:
    """Write a file at once or not at all."""
    new = file.with_suffix(".new")
    new.write_bytes(content)
    new.replace(file)
