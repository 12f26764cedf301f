"""Checks by subject: the name of each, the rules it checks, and its needs.

The names are for command lines (``--only asks.*``) and for machines that compare reports, so they
stay; the titles are for people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

# Takes the stage of a check (remuda.conformance.stage.Stage); raises what failures.py has.
Body: TypeAlias = Callable[[Any], None]


class Level(StrEnum):
    """The origin of a rule: the scheduler that is re-created, or remuda alone ([F], [S])."""

    PARITY = "parity"
    REMUDA = "remuda"


class Needs(StrEnum):
    """The needs of a check besides the three streams."""

    EXTENSION = "extension"
    ADMIN = "admin"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Check:
    """One check; ``name`` is ``SUBJECT.WORD``, ``seconds`` how long it waits for timers."""

    name: str
    title: str
    rules: tuple[str, ...]
    level: Level
    needs: tuple[Needs, ...]
    seconds: float
    body: Body

    @property
    def word(self) -> str:
        """Its name within its subject."""
        return self.name.partition(".")[2]

    def matches(self, pattern: str) -> bool:
        """Whether a pattern is its name, its subject, or one of its rules; ``*`` for any text.

        Names have small letters and rules capital ones, so a pattern means only one of them.
        """
        names = (self.name, self.name.partition(".")[0], *self.rules)
        return any(fnmatchcase(name, pattern) for name in names)


class Subject:
    """The checks of one subject, in the order of the report."""

    def __init__(self, word: str, title: str) -> None:
        self.word = word
        self.title = title
        self.checks: list[Check] = []

    def check(
        self,
        word: str,
        title: str,
        *rules: str,
        level: Level = Level.PARITY,
        needs: Sequence[Needs] = (),
        seconds: float = 0.0,
    ) -> Callable[[Body], Body]:
        """Add the decorated function as a check."""

        def add(body: Body) -> Body:
            name = f"{self.word}.{word}"
            self.checks.append(Check(name, title, rules, level, tuple(needs), seconds, body))
            return body

        return add
