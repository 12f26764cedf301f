"""What several tests of the local node need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

# Where control groups of version 2 are, alone or beside those of version 1.
ROOTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


@pytest.fixture
def real_group() -> Iterator[Path]:
    """A control group, with or without controllers, in which processes may be."""
    root = next((each for each in ROOTS if (each / "cgroup.procs").exists()), None)
    if root is None:
        pytest.skip("there are no control groups of version 2")
    found = root / f"remuda-test-{os.getpid()}"
    try:
        found.mkdir()
    except OSError:
        pytest.skip("no control group can be made here")
    yield found
    with suppress(FileNotFoundError):
        found.rmdir()
