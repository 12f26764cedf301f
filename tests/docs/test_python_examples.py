"""The Python API's examples are as short as they are said to be, and need nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.docs.examples import blocks_of

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorials/schedule-from-python.md"
README = ROOT / "README.md"


def scripts(page: Path) -> list[str]:
    """The programs of a page that use the Python API."""
    return [
        block.text
        for block in blocks_of(page)
        if block.language == "python" and not block.note and "from remuda import" in block.text
    ]


def test_a_gang_and_why_an_ask_waits_take_25_lines() -> None:
    (gang,) = [each for each in scripts(TUTORIAL) if "explain" in each]
    assert "TaskGroup(" in gang
    assert gang.count("\n") <= 25


def test_the_first_example_of_the_readme_is_a_few_lines() -> None:
    (first,) = scripts(README)
    assert first.count("\n") <= 10
    assert "explain" in first


def test_the_scripts_import_nothing_but_the_public_api() -> None:
    for page in (TUTORIAL, README):
        for script in scripts(page):
            imported = [
                node.module if isinstance(node, ast.ImportFrom) else "import"
                for node in ast.walk(ast.parse(script))
                if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            assert imported == ["remuda"], script
