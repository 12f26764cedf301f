"""What the commands share that ask what would happen: how long to look ahead, how to answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import typer

from remuda.base.errors import UsageError

# How long a trial may look ahead, in seconds: an hour of a busy scheduler takes longer than a copy
# may work.
WITHIN_LIMIT: Final = 86_400


class Output(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"


OutputOption: TypeAlias = Annotated[
    Output, typer.Option(help="Lines for people, or one JSON object.")
]


def seconds_text(within: float) -> str:
    """Return a number of seconds as the HTTP API takes it. Raises: UsageError."""
    if not 0 <= within <= WITHIN_LIMIT:
        raise UsageError(f"--within is {within:g}; it has to be from 0 to {WITHIN_LIMIT} seconds")
    return f"{within:.9f}"
