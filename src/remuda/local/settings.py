"""What `remuda serve` was told about its local node."""

from __future__ import annotations

from pathlib import Path

from remuda.base.message import message


@message
class LocalSettings:
    """``directory``: that of the state. ``stored``: the service has a queue file of its own.

    ``bounds``: auto, off, or the directory of the control group in which tasks get theirs.
    """

    directory: Path
    stored: bool = False
    bounds: str = "auto"
