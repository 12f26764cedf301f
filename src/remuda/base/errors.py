"""The kinds of failure, each named after whose fault it is.

A caller's or user's fault carries what is wrong, where, and what to do about it, so that the
edges can answer it without a traceback. Only `InvariantViolation` means the scheduler itself is
wrong. Refusals that the scheduler interface specifies are effects, not exceptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.message import message


class RemudaError(Exception):
    """Base of every failure that the program did not cause and that one line can describe."""


class UsageError(RemudaError):
    """A bad file, option or argument of a command: one line, exit code 2."""


class ProtocolError(RemudaError):
    """A caller at an edge broke the protocol (wrong order, unknown session, missing field)."""


class SnapshotError(UsageError):
    """Bytes or a file are no snapshot that this build can read: one line says why (EXT-40)."""


class InvariantViolation(AssertionError):  # noqa: N818 - the established name of the concept
    """Our own fault: a state that the scheduler must never reach was found."""


ERROR: Final = "error"
WARNING: Final = "warning"


@message
class Problem:
    """One fault of a configuration text.

    ``path`` names the element (``partitions[0].queues[1].name``, counted from 0), ``rule`` the
    broken rule (``CFG-61``), ``message`` what is wrong and ``hint`` what to do. ``line`` and
    ``column`` count from 1; 0 means the position is not known. A ``warning`` is legal and mostly a
    mistake; an ``error`` makes the text invalid.
    """

    path: str
    rule: str
    message: str
    line: int = 0
    column: int = 0
    hint: str = ""
    severity: str = ERROR

    def text(self, source: str) -> str:
        """Return the fault as one line that starts with ``source:line:column``."""
        where = f"{source}:{self.line}:{self.column}" if self.line else source
        what = f"{self.path}: {self.message}" if self.path else self.message
        hint = f"; {self.hint}" if self.hint else ""
        return f"{where}: {what} [{self.rule}]{hint}"


class ConfigError(RemudaError):
    """A queue configuration is refused; ``problems`` holds every fault, most important first.

    The first problem is the one reported as ``reason`` where only one fits (CFG, section 6.8).
    ``str()`` gives one line per problem.
    """

    def __init__(self, problems: Sequence[Problem], source: str = "<config>") -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.source = source
        super().__init__("\n".join(problem.text(source) for problem in self.problems))
