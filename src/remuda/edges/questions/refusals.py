"""Why a question gets no answer: the causes, and the texts that both edges show.

Each edge turns a cause into a status of its own.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

PARTITION_NOT_FOUND: Final = "Partition not found"
QUEUE_NOT_FOUND: Final = "Queue not found"
APPLICATION_NOT_FOUND: Final = "Application not found"
ASK_NOT_FOUND: Final = "Ask not found"
MANAGER_NOT_FOUND: Final = "Resource manager not found"
CALLER_BUSY: Final = "Another question of the caller is being answered; try again when it is done"
NO_COPIES: Final = "The scheduler cannot be copied on this machine, so nothing can be tried out"
SCARCE_MEMORY: Final = "The scheduler runs short of memory; ask for less, or try again later"


class Cause(Enum):
    """What kind of refusal it is.

    ``WRONG``: the question is not one that can be answered. ``NOT_FOUND``: what it is about does
    not exist for the caller. ``BUSY``: the same question may be answered later. ``IMPOSSIBLE``:
    this process never answers it.
    """

    WRONG = auto()
    NOT_FOUND = auto()
    BUSY = auto()
    IMPOSSIBLE = auto()


class UnansweredError(Exception):
    """A question that is not answered: its cause, and one line for the caller."""

    def __init__(self, cause: Cause, text: str) -> None:
        super().__init__(text)
        self.cause = cause
        self.text = text


def invalid(value: str, name: str) -> UnansweredError:
    """Return the refusal of the value of an option (REST-13)."""
    return UnansweredError(Cause.WRONG, f'{value} is not a valid value for "{name}"')
