"""Files that only the user of this process can read."""

from __future__ import annotations

import os


def private(path: str, flags: int) -> int:
    """Open a file for ``open(..., opener=private)``: if it is made, its owner alone may read it."""
    return os.open(path, flags, 0o600)
