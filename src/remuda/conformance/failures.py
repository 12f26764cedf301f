"""The two ways in which a check ends early: what it saw is wrong, or it has nothing to look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """What was sent, what was expected by which rule, and what came instead; all for people.

    ``sent`` and ``came`` have one line per message or element, oldest first.
    """

    rule: str
    expected: str
    came: tuple[str, ...]
    sent: tuple[str, ...] = ()


class CheckFailedError(Exception):
    """The other side broke a rule."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.rule}: expected {failure.expected}")
        self.failure = failure


class NotApplicableError(Exception):
    """The check needs something that the other side does not serve, or that was not given."""
