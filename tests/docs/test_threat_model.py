"""Each promise of the threat model names rules that its tests check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/threat-model.md"


def promises() -> list[tuple[str, str, str]]:
    """The rows of the table: promise, rules, tests."""
    section = PAGE.read_text().partition("\n## What is promised\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    assert rows[0] == ["promise", "rules", "tests"]
    return [(promise, rules, tests) for promise, rules, tests in rows[1:]]


def test_there_are_promises() -> None:
    assert len(promises()) > 20


@pytest.mark.parametrize("promise, rules, tests", promises())
def test_the_tests_of_a_promise_check_its_rules(promise: str, rules: str, tests: str) -> None:
    paths = [(PAGE.parent / link).resolve() for link in re.findall(r"\]\(([^)]+)\)", tests)]
    assert paths
    checked: set[str] = set()
    for path in paths:
        text = path.read_text()
        assert "def test_" in text
        for mark in re.findall(r"mark\.remuda_rule\(([^)]*)\)", text):
            checked |= set(re.findall(r'"([^"]+)"', mark))
    named = set(rules.split(", ")) - {""}
    assert named - checked == set()
    # No test of the list is there for nothing.
    for path in paths if named else []:
        assert any(f'"{rule}"' in path.read_text() for rule in named), path.name
