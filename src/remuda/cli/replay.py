"""The command ``remuda replay``: repeat a recording and say whether the decisions are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

EXAMPLES: Final = """
Examples:

  remuda serve --demo --duration 10s --record demo.jsonl

  remuda replay demo.jsonl
"""


def replay(
    file: Annotated[Path, typer.Argument(help="A recording written by 'remuda serve --record'.")],
) -> None:
    """Repeat a recording and compare all decisions.

    A file has a segment for each process that recorded to it. An incomplete segment is repeated as
    far as it goes.

    Exit code 0: all effects are the same; 1: they differ, and the output names the first place;
    2: the file cannot be read, or lines of it were lost, added or moved.
    """
    from remuda.runtime import replay as recording  # noqa: PLC0415 - keeps help fast

    result = recording.replay(file)
    if not result.same:
        print(f"{file}: different at {result.difference}")
        raise typer.Exit(1)
    several = len(result.segments) > 1
    for number, segment in enumerate(result.segments, start=1):
        place = f"{file}: segment {number} (line {segment.line})" if several else f"{file}"
        torn = f"; torn {segment.torn}" if segment.torn else ""
        during = ", during one more input" if segment.unfinished else ""
        print(f"{place}: {segment.inputs} inputs, all effects the same{torn}{during}")
        print(f"digest {segment.digest}")
