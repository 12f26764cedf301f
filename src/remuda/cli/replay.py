"""The command ``remuda replay``: repeat a recording and say whether the decisions are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from remuda.runtime.replay import SegmentResult

EXAMPLES: Final = """
Examples:

  remuda serve --demo --duration 10s --record demo.jsonl

  remuda replay demo.jsonl

  remuda replay /var/lib/remuda/journal
"""


def replay(
    file: Annotated[
        Path,
        typer.Argument(
            help="A recording written by 'remuda serve --record', or the directory of a journal."
        ),
    ],
) -> None:
    """Repeat a recording or a journal and compare all decisions.

    A file has a segment for each process that recorded to it. An incomplete segment is repeated as
    far as it goes.

    Exit code 0: all effects are the same; 1: they differ, and the output names the first place;
    2: the file cannot be read, or lines of it were lost, added or moved.
    """
    from remuda.runtime import replay as recording  # noqa: PLC0415 - keeps help fast

    if file.is_dir():
        _replay_journal(file)
        return
    result = recording.replay(file)
    if not result.same:
        print(f"{file}: different at {result.difference}")
        raise typer.Exit(1)
    several = len(result.segments) > 1
    for number, segment in enumerate(result.segments, start=1):
        place = f"{file}: segment {number} (line {segment.line})" if several else f"{file}"
        print(f"{place}: {segment.inputs} inputs, {_told(segment)}")
        print(f"digest {segment.digest}")


def _replay_journal(directory: Path) -> None:
    """Repeat the segments of a journal, up to the first that differs."""
    from remuda.runtime.journals.repeating import replay_journal  # noqa: PLC0415 - as above

    for found in replay_journal(directory):
        result = found.result
        if result is None:
            print(f"{found.path}: not repeated: {found.skipped}")
            continue
        if result.difference:
            print(f"{found.path}: different at {result.difference}")
            raise typer.Exit(1)
        last = found.first + result.inputs - 1
        print(f"{found.path}: inputs {found.first} to {last}, {_told(result)}")


def _told(segment: SegmentResult) -> str:
    """Return what is told about a segment without a difference."""
    torn = f"; torn {segment.torn}" if segment.torn else ""
    during = ", during one more input" if segment.unfinished else ""
    return f"all effects the same{torn}{during}"
