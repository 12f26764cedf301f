"""Where the package under test lies: the sources, or a tree whose core is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import remuda
from remuda.runtime.build import core_build

ROOT: Final = Path(__file__).resolve().parents[1]

# What a process that a test starts has to have on its path to run the same build as the test.
PACKAGES: Final = Path(remuda.__file__).resolve().parents[1]

# For tests that plant faults. What they show of the workloads and of the comparison holds for
# both builds, which play the same workloads.
replaces_functions = pytest.mark.skipif(
    core_build() == "compiled",
    reason="replaces functions of the core, which compiled callers never look up again",
)
