"""The options that the commands which show something share."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from remuda.base.errors import UsageError
from remuda.cli.viewing import completing
from remuda.cli.viewing.output import Output

PartitionOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--partition",
        "-p",
        metavar="NAME",
        help="Partition to look at.",
        autocompletion=completing.partitions,
    ),
]
RmOption: TypeAlias = Annotated[
    str,
    typer.Option(metavar="ID", help="Resource manager, if several have a partition of that name."),
]
KindArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="KIND", help="A kind of 'remuda get'.", autocompletion=completing.kinds),
]
QueueOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--queue",
        "-q",
        metavar="PATH",
        help="Only this queue and those below it.",
        autocompletion=completing.queues,
    ),
]
UserOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        help="Only what belongs to this user.",
        autocompletion=completing.users,
    ),
]
OutputOption: TypeAlias = Annotated[
    Output, typer.Option("--output", "-o", help="How it is written.")
]
SortOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Such as age or used.memory; -COLUMN: highest first.",
        autocompletion=completing.columns,
    ),
]
LimitOption: TypeAlias = Annotated[
    int, typer.Option(metavar="COUNT", min=0, help="At most so many; 0: all.")
]
EveryOption: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="How often to read again.")
]

_EVERY_LEAST: Final = 0.1
_EVERY_MOST: Final = 3_600.0


def check_every(seconds: float) -> float:
    """Return the seconds between two readings. Raises: UsageError."""
    if not _EVERY_LEAST <= seconds <= _EVERY_MOST:
        raise UsageError(
            f"--every is {seconds:g}; it has to be from {_EVERY_LEAST:g} to {_EVERY_MOST:g} seconds"
        )
    return seconds
