"""The problems of one configuration text, collected while it is read and checked.

A user wants to see every fault at once, but a hostile text must not produce a million of them,
so collecting ends at a limit, and texts taken from the file are cut and kept to one line.
"""

from __future__ import annotations

from typing import Final

from remuda.base.errors import WARNING, ConfigError, Problem
from remuda.config.tree import Node

PROBLEMS_LIMIT: Final = 200
_TEXT_LIMIT: Final = 400
_WORD_LIMIT: Final = 64


class Findings:
    """Collects errors in the order in which they are found, which is that of section 6.8.

    ``warnings`` concern legal settings that are mostly mistakes.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []
        self._reported: set[tuple[int, int, str, str]] = set()
        self._unread: list[str] = []

    def add(self, node: Node, path: str, rule: str, message: str, hint: str) -> None:
        """Note one error at a node; raises ConfigError when there are too many.

        A repeated error at the same place is left out: an alias shows the place again.
        """
        reported = (node.line, node.column, rule, message)
        if reported in self._reported:
            return
        self._reported.add(reported)
        self.errors.append(
            Problem(one_line(path), rule, one_line(message), node.line, node.column, one_line(hint))
        )
        if len(self.errors) >= PROBLEMS_LIMIT:
            hint = "correct the first problems and try again"
            self.errors.append(Problem("", "CFG-5", "further problems are not shown", hint=hint))
            self.raise_if_any()

    def add_unread(self, node: Node, path: str, rule: str, message: str, hint: str) -> None:
        """Note an error that leaves the value at a path, or a key of it, out of the draft."""
        if len(self._unread) < PROBLEMS_LIMIT:
            self._unread.append(path)
        self.add(node, path, rule, message, hint)

    def unread(self, path: str, *keys: str) -> bool:
        """Whether the file has more at a path than its draft, so that a missing value is no error.

        That is so if it could not be read, or has an unknown key, or if one of ``keys`` below
        it, or something in them, could not be read. Beyond the limit everything counts as such.
        """
        if len(self._unread) >= PROBLEMS_LIMIT:
            return True
        below = tuple(f"{path}.{key}" for key in keys) if self._unread else ()
        return any(one == path or one.startswith(below) for one in self._unread)

    def warn(self, node: Node, path: str, rule: str, message: str, hint: str) -> None:
        """Note one warning at a node; beyond the limit they are dropped."""
        if len(self.warnings) < PROBLEMS_LIMIT:
            where = one_line(path)
            self.warnings.append(
                Problem(
                    where, rule, one_line(message), node.line, node.column, one_line(hint), WARNING
                )
            )

    def raise_if_any(self) -> None:
        """Raise ConfigError if an error was noted."""
        if self.errors:
            raise ConfigError(self.errors, self.source)


def cut(word: str) -> str:
    """Return as much of a name or value as a problem shows of it."""
    return word[:_WORD_LIMIT]


def one_line(text: str) -> str:
    """Return a text cut to a readable length, without line breaks or control characters."""
    short = text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT] + "..."
    return short if short.isprintable() else "".join(c if c.isprintable() else " " for c in short)
