"""What the Python API needs of whatever runs the core for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias

from remuda.config.schema import Configuration
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.library.records import Rejection
from remuda.runtime.driver import Question
from remuda.runtime.requests import Request

# The one resource manager behind this API.
RM_ID: Final = "python"

# Hears all that the core did, in order.
Tell: TypeAlias = Callable[[Sequence[Effect]], None]


class Engine(Protocol):
    """A core with its time, in which one resource manager is registered."""

    @property
    def may_wait(self) -> bool:
        """Whether the caller may wait for answers here."""
        ...

    def send(self, request: Request) -> Sequence[Rejection]:
        """Hand a request over; returns what was refused, as far as the caller may wait for it."""
        ...

    def now_ns(self) -> int:
        """Return the time of the core, in nanoseconds."""
        ...

    def view(self, query: Query) -> View:
        """Answer a read-only question."""
        ...

    def answer_on_copy(self, question: Question) -> bytes:
        """Answer a question on a copy of the core, which it may use up. Raises: RemudaError."""
        ...

    def configure(self, configuration: Configuration) -> None:
        """Replace the configuration; with a ConfigError nothing changes."""
        ...

    def stop(self) -> None:
        """End; repeating is harmless."""
        ...


def no_records() -> bool:
    """Event records are left out; they are four of five effects."""
    return False
