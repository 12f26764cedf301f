"""What the commands share that look back in a journal."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from remuda.base.duration import SECOND

DirectoryArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="The directory of a journal; see 'remuda serve'.")
]
PartitionOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="Its partition, if there are several.")
]


def time_text(at_ns: int) -> str:
    """Return Unix time in nanoseconds as people read it, in the time zone of the machine.

    It has all nine digits, so that the text, read back, means the same input. Implements: EXT-115.
    """
    seconds, rest = divmod(at_ns, SECOND)
    text = datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(" ", "seconds")
    return f"{text[:19]}.{rest:09d}{text[19:]}"
