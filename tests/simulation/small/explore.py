"""Runs something once for every sequence of choices that it can make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Answers choices: first as a prefix says, then always the first option."""

    def __init__(self, prefix: Sequence[int]) -> None:
        self._prefix = prefix
        self.taken: list[tuple[int, int]] = []

    def of(self, options: Sequence[T]) -> T:
        """Choose one of some options."""
        place = len(self.taken)
        index = self._prefix[place] if place < len(self._prefix) else 0
        self.taken.append((index, len(options)))
        return options[index]


def histories(run: Callable[[Choices], None]) -> Iterator[list[int]]:
    """Run for each sequence of choices; yield what was chosen, after each run."""
    prefix: list[int] = []
    while True:
        choices = Choices(prefix)
        run(choices)
        yield [index for index, _ in choices.taken]
        taken = choices.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        prefix = [index for index, _ in taken[:-1]] + [taken[-1][0] + 1]
