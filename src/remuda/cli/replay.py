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

    Exit code 0: the same; 1: they differ, and where first; 2: the file cannot be read
    or lines of it were lost, added or moved.
    """
    from remuda.runtime import replay as recording  # noqa: PLC0415 - keeps help fast

    result = recording.replay(file)
    if not result.same:
        print(f"{file}: different at {result.difference}")
        raise typer.Exit(1)
    tail = "; the recording breaks off during one more" if result.unfinished else ""
    print(f"{file}: {result.inputs} inputs, all effects the same{tail}")
    print(f"digest {result.digest}")
