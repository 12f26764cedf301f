"""The command ``remuda snapshot``: the state at a moment of a recording as a file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError

EXAMPLES: Final = """
Examples:

  remuda snapshot run.jsonl --at 40 --output state.snapshot

  remuda snapshot state.snapshot
"""

_File = Annotated[
    Path,
    typer.Argument(help="A snapshot, which is shown; with --output a recording."),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write a snapshot here."),
]
_At = Annotated[
    int | None,
    typer.Option(
        metavar="COUNT",
        min=1,
        help="After so many inputs of the last segment of the recording; by default after all.",
    ),
]


def snapshot(file: _File, output: _Output = None, at: _At = None) -> None:
    """Write the state of a scheduler to a file, or show such a file.

    The state is that after some inputs of a recording. A file is read by the version that wrote it,
    in either build and with any Python. What is shown was read and checked whole.

    Exit code 0: done; 1: the recording has other decisions; 2: the file is none, is damaged or
    was written by another version.
    """
    from remuda.runtime import replay, snapshots  # noqa: PLC0415 - keeps help fast

    if output is None:
        if at is not None:
            raise UsageError("--at is for a recording; say with --output where the state goes")
        header, scheduler = snapshots.read(file)
        print(f"{file}: written by remuda {header.version} ({header.build}), at {header.at_ns} ns")
        for name, number in snapshots.counts(scheduler).items():
            print(f"{number} {name}")
        return
    reached = replay.state_after(file, at)
    header = snapshots.write(output, reached.scheduler, reached.now_ns)
    told = ", ".join(f"{number} {name}" for name, number in header.counts.items())
    print(f"{output}: after {reached.inputs} inputs: {told}")
