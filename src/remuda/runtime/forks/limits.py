"""The limits of copies of the process, and the errors of those that exceed them (rules: EXT-43)."""

from __future__ import annotations

from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message


@message
class ForkLimits:
    """How much copies may use.

    ``copies``: how many callers may have a copy at one time. ``seconds``: how long a copy may take,
    with all copies that it makes itself. ``memory_mib``: how much memory a copy may take beyond
    that of the process when it was made; as much has to be available. ``answer_mib``: how large an
    answer may be.
    """

    copies: int = 2
    seconds: float = 30.0
    memory_mib: int = 1_024
    answer_mib: int = 64


FORK_LIMITS: Final = ForkLimits()

# How many copies a copy makes at one time.
COPIES_AT_ONCE: Final = 2

# How much less urgent than the process its copies are; 19 is the most.
NICENESS: Final = 10


class ForksBusyError(RemudaError):
    """There is no room for another copy now; the same call may succeed later."""


class ForkFailedError(RemudaError):
    """A copy ended without an answer: it took too long, took too much memory, or has a fault."""


class ForkFaultError(ForkFailedError):
    """The work in a copy raised an error that is a fault of ours; the text is not for callers."""
