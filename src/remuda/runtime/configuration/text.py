"""Turns bytes of unknown origin into a configuration text and judges it.

A file, a pipe or the body of a request may contain anything and have no end. No more bytes are read
than a configuration may have. Bytes that are no text are a fault of the configuration like any
other, reported in the same form by all commands.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from remuda.base.errors import ERROR, ConfigError, Problem, UsageError
from remuda.config.compose import TEXT_BYTES_LIMIT
from remuda.config.load import Verdict, check_configuration
from remuda.config.schema import Configuration


def read_file(path: Path) -> bytes:
    """Return the content of a file, cut after the size limit.

    Raises: UsageError, one line, if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(TEXT_BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def read_regular_file(path: Path) -> bytes:
    """Return the content of a regular file, cut after the size limit; a pipe might block for ever.

    Raises: UsageError, one line, if it cannot be read or is something else.
    """

    def without_waiting(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)

    try:
        with open(path, "rb", opener=without_waiting) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(TEXT_BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    raise UsageError(f"cannot read {path}: it is not a regular file")


def read_stdin() -> bytes:
    """Return the content of standard input, cut after the size limit. Raises: UsageError."""
    if sys.stdin is None:
        raise UsageError("cannot read standard input: it is closed")
    try:
        return sys.stdin.buffer.read(TEXT_BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror}") from None


def read_text(path: Path) -> str:
    """Return the text of a file, whatever it says.

    Raises: UsageError, one line, if it cannot be read; ConfigError if it is no text or too long.
    """
    return text_of(read_file(path), str(path))


def text_of(data: bytes, source: str) -> str:
    """Return bytes of a source as text. Raises: ConfigError if they are none, or too many."""
    text = _decoded(data)
    if isinstance(text, Problem):
        raise ConfigError([text], source)
    return text


def judge(data: bytes, source: str) -> Verdict:
    """Return the verdict on a configuration as it was read. Rules: CFG-5, TOOL-1, TOOL-2.

    No bytes are the empty text, which means the built-in configuration (CFG-2).
    """
    text = _decoded(data)
    return (
        Verdict(None, (text,)) if isinstance(text, Problem) else check_configuration(text, source)
    )


def read_configuration(path: Path) -> Configuration:
    """Return the configuration in a file; an empty file means the built-in one (CFG-2).

    Raises: UsageError, one line, if it cannot be read; ConfigError.
    """
    return _accepted(read_file(path), path)


def read_configuration_again(path: Path) -> Configuration:
    """Return the new content of a file, which must be regular and not empty.

    An editor may empty a file just before it writes it, and does not mean the built-in
    configuration.

    Raises: UsageError, one line, if it cannot be read or is empty; ConfigError.
    """
    data = read_regular_file(path)
    if not data:
        raise UsageError(f"{path} is empty")
    return _accepted(data, path)


def _accepted(data: bytes, path: Path) -> Configuration:
    """Return the configuration in a text. Raises: ConfigError."""
    verdict = judge(data, str(path))
    if verdict.configuration is None:
        raise ConfigError([each for each in verdict.problems if each.severity == ERROR], str(path))
    return verdict.configuration


def _decoded(data: bytes) -> str | Problem:
    """Return bytes as a text, or a problem if they are too many or not UTF-8."""
    hint = "a configuration is a YAML text"
    if len(data) > TEXT_BYTES_LIMIT:
        reason = f"not YAML: it has more than {TEXT_BYTES_LIMIT} bytes"
        return Problem("", "CFG-5", reason, hint=hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem("", "CFG-5", "not YAML: it is not UTF-8 text", line, 1, hint)
