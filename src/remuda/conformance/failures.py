"""The two ways in which a check ends early: it saw a fault, or it cannot be applied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """The requests, the expectation with its rule, and the elements that came; all as text.

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
