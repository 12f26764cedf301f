"""Worlds that failed once, shortened to a few steps: they do not fail any more.

Each file of ``scripts`` was written by ``python -m tools.simtest`` and says in its first lines what
failed. ``python -m tools.simtest --replay FILE`` runs one alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.simulation.faults.script import read
from tests.simulation.faults.world import failing

SCRIPTS: Final = sorted((Path(__file__).parent / "scripts").glob("*.script"))


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_a_world_that_failed_once_does_not_fail(file: Path) -> None:
    found = failing(read(file.read_text(encoding="utf-8")))
    assert found is None, found.text


def test_there_are_scripts() -> None:
    assert SCRIPTS
