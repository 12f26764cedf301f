"""The page on the reference's defects and the tests of tests/museum tell the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tests/museum").glob("test_*.py"))
PAGE = (ROOT / "docs/reference/museum.md").read_text()
RELEASE = re.compile(r"\breference\b|\b1\.\d\b")


def written(path: Path) -> list[ast.FunctionDef]:
    """The tests of a file, in their order."""
    found = ast.parse(path.read_text()).body
    return [
        node
        for node in found
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def sentences(test: ast.FunctionDef) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    return [" ".join(part.split()) for part in (ast.get_docstring(test) or "").split("\n\n")]


def rules(test: ast.FunctionDef) -> list[str]:
    """The rules a test is tied to."""
    marks = [mark for mark in test.decorator_list if "remuda_rule" in ast.unparse(mark)]
    return [ast.literal_eval(word) for mark in marks for word in getattr(mark, "args", ())]


def row(path: Path, test: ast.FunctionDef) -> str:
    """The row of a test."""
    name = test.name.removeprefix("test_").replace("_", " ")
    link = f"[{path.stem.removeprefix('test_')}](../../tests/museum/{path.name})"
    return f"| {' | '.join([name, *sentences(test), ', '.join(rules(test)), link])} |"


def rows(text: str) -> list[str]:
    """The rows of all tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| Name |")]


ALL = [(path, test) for path in FILES for test in written(path)]
NAMES = [f"{path.stem}-{test.name}" for path, test in ALL]


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    expected = [row(path, test) for path, test in ALL]
    shown = rows(PAGE)
    assert sorted(set(expected) - set(shown)) == []  # rows to add
    assert sorted(set(shown) - set(expected)) == []  # rows to remove
    assert len(shown) == len(expected) >= 40


def test_no_name_is_used_twice() -> None:
    names = [test.name for _, test in ALL]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("test", [test for _, test in ALL], ids=NAMES)
def test_a_docstring_says_what_the_reference_does_and_then_what_remuda_does(
    test: ast.FunctionDef,
) -> None:
    theirs, ours = sentences(test)
    assert RELEASE.search(theirs)
    assert not RELEASE.search(ours)
    assert theirs.endswith(".")
    assert ours.endswith(".")
    assert rules(test)
