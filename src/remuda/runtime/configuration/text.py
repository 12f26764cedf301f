"""From bytes of unknown origin to a configuration text, and to the verdict on it.

A file, a pipe or the body of a request may hold anything and have no end. No more is taken from
it than a configuration may have, and what is no text is a fault of the configuration like any
other, told in the same form.
"""

from __future__ import annotations

import sys
from pathlib import Path

from remuda.base.errors import Problem, UsageError
from remuda.config.load import TEXT_BYTES_LIMIT, Verdict, check_configuration


class NotTextError(UsageError):
    """Bytes that are no configuration text; ``line`` counts from 1, 0: no line is to blame."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


def read_file(path: Path) -> bytes:
    """Return what a file holds, cut behind the limit.

    Raises: UsageError, one line, if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(TEXT_BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def read_stdin() -> bytes:
    """Return what standard input holds, cut behind the limit. Raises: UsageError."""
    if sys.stdin is None:
        raise UsageError("cannot read standard input: it is closed")
    try:
        return sys.stdin.buffer.read(TEXT_BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror}") from None


def decode(data: bytes) -> str:
    """Return bytes as a text. Raises: NotTextError if there are too many or they are not UTF-8."""
    if len(data) > TEXT_BYTES_LIMIT:
        raise NotTextError(f"it has more than {TEXT_BYTES_LIMIT} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotTextError("it is not UTF-8 text", line) from None


def judge(data: bytes, source: str) -> Verdict:
    """Return the verdict on a configuration as it was read. Rules: CFG-5, TOOL-1, TOOL-2.

    No bytes at all are the empty text, which stands for the built-in configuration (CFG-2).
    """
    try:
        return check_configuration(decode(data), source)
    except NotTextError as fault:
        column = 1 if fault.line else 0
        hint = "a configuration is a YAML text"
        problem = Problem("", "CFG-5", f"not YAML: {fault}", fault.line, column, hint)
        return Verdict(None, (problem,))
