"""Where the package under test lies: the sources, or a tree whose core is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import remuda

ROOT: Final = Path(__file__).resolve().parents[1]

# What a process that a test starts has to have on its path to run the same build as the test.
PACKAGES: Final = Path(remuda.__file__).resolve().parents[1]
