"""Reads the configuration document that the operator stores in a file (RM-5).

The service and the simulator take the same file, so they read it in the same way. A path may
name anything, even a device without an end; no more is read than a configuration may have.
"""

from __future__ import annotations

from pathlib import Path

from remuda.base.errors import UsageError
from remuda.config.load import TEXT_BYTES_LIMIT, load_configuration
from remuda.config.schema import Configuration


def read_configuration(path: Path) -> Configuration:
    """Return the configuration in a file.

    Raises: UsageError, one line, if it cannot be read, is too large or is no text; ConfigError.
    """
    try:
        with path.open("rb") as file:
            data = file.read(TEXT_BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > TEXT_BYTES_LIMIT:
        raise UsageError(f"cannot read {path}: it has more than {TEXT_BYTES_LIMIT} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
    return load_configuration(text, str(path))
