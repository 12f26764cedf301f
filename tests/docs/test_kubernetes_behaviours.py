"""The table of behaviours is whole, and the tests that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/kubernetes-behaviours.md"
TESTS = ROOT / "tests/kubernetes"
# Section 6 of the description of what upstream tests end to end.
ENTRIES = 120


def rows() -> list[tuple[str, str]]:
    found = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    return [row for row in found if row != ("behaviour", "shown by")]


def test_the_table_has_every_entry() -> None:
    assert len(rows()) == ENTRIES
    counts = re.findall(r"^## .+ \((\d+)\)$", PAGE.read_text(), re.MULTILINE)
    assert sum(map(int, counts)) == ENTRIES


def test_each_test_that_it_names_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)`: `(test_\w+)`", PAGE.read_text())
    assert named
    for file, test in named:
        (path,) = TESTS.rglob(file)
        assert f"def {test}(" in path.read_text(), (file, test)
