"""Faults in what a person wrote, as values that events report to that person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from remuda.base.texts import shortened

# Characters of a text from outside that are shown.
SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: where it is, what is wrong, what to do about it.

    ``error``: whether the whole is refused because of it; otherwise the rest takes effect.
    """

    where: str
    problem: str
    advice: str
    error: bool = False

    def __str__(self) -> str:
        """Return the finding as one line."""
        return f"{self.where}: {self.problem}; {self.advice}"


def shown(text: object) -> str:
    """Return a value from outside on one line and shortened; texts in quotes, others as JSON."""
    if not isinstance(text, str):
        return shortened(msgspec.json.encode(text).decode(), SHOWN)
    return repr(shortened(text, SHOWN))


def one_line(findings: Iterable[Finding]) -> str:
    """Return findings as one line."""
    return " | ".join(str(each) for each in findings)
