"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, text: str, *, rights: int = 0o600, new: bool = False) -> None:
    """Write a file; what was there before stays until all of it is on the disk.

    ``rights``: as ``chmod`` takes them; by default its owner alone may read it. ``new``: there must
    be no such file. Raises: OSError, FileExistsError among them, and nothing has changed then.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
            os.fchmod(out.fileno(), rights)
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        if new:
            os.link(name, path)
        else:
            Path(name).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
