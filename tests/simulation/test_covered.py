"""Each fault and each promise names what is really tried: counts that must be seen, and tests.

A test that is named must be there and must be able to fail: it asserts something itself, or by a
function of its module that it calls.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Final

import pytest

from tests.package import ROOT
from tests.simulation import test_faults as worlds
from tests.simulation.covered import FAULTS, INVARIANTS, OPEN, Covered

ROWS: Final = {**FAULTS, **INVARIANTS}

# What must have been seen after the worlds of each run of the tests.
SEEN: Final = {
    *worlds.MISHAPS,
    *worlds.DEEDS,
    *worlds.GANGS,
    *worlds.PREEMPTIONS,
    *(f"{fate} {message}" for fate in worlds.FATES for message in worlds.MESSAGES),
}


@functools.cache
def functions(file: Path) -> dict[str, ast.FunctionDef]:
    """The functions of a module."""
    found = ast.parse(file.read_text(encoding="utf-8")).body
    return {each.name: each for each in found if isinstance(each, ast.FunctionDef)}


def can_fail(name: str, of: dict[str, ast.FunctionDef], seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function asserts something, or calls one of its module that does."""
    if name not in of or name in seen:
        return False
    nodes = list(ast.walk(of[name]))
    called = [each.func for each in nodes if isinstance(each, ast.Call)]
    raises = any(isinstance(each, ast.Attribute) and each.attr == "raises" for each in called)
    names = [each.id for each in called if isinstance(each, ast.Name)]
    return (
        raises
        or any(isinstance(each, ast.Assert) for each in nodes)
        or any(can_fail(each, of, seen | {name}) for each in names)
    )


def test_no_number_is_left_out() -> None:
    numbers = {f"F{number}" for number in range(1, 46)} | {f"I{n}" for n in range(1, 48)}
    assert set(ROWS) | set(OPEN) == numbers
    assert not set(ROWS) & set(OPEN)


@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_names_is_seen_and_can_fail(row: str) -> None:
    covered: Covered = ROWS[row]
    assert covered.seen or covered.tests
    assert set(covered.seen) <= SEEN
    for test in covered.tests:
        file, _, name = test.partition("::")
        assert name.startswith("test_")
        assert can_fail(name, functions(ROOT / "tests" / f"{file}.py")), test


def test_a_test_without_an_assertion_proves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "def test_idle(): print(idle())\ndef idle(): return idle()\n"
        "def test_itself(): assert 1\ndef test_by_another(): sure()\n"
        "def sure():\n    with pytest.raises(KeyError): pass\n"
    )
    found = functions(file)
    judged = {name: can_fail(name, found) for name in found if name.startswith("test_")}
    assert judged == {"test_idle": False, "test_itself": True, "test_by_another": True}
    assert not can_fail("test_that_is_not_there", found)
