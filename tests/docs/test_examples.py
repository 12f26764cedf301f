"""Every example in the README and under docs/ works as shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.examples import Reader, blocks_of, has_examples, matches

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.parent.name not in {"spec", "adr"}
]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if has_examples(page)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_examples_of(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    try:
        for block in blocks_of(page):
            reader.follow(block)
    finally:
        reader.close()


def test_the_readme_has_both_kinds_of_examples() -> None:
    languages = [block.language for block in blocks_of(ROOT / "README.md") if not block.note]
    assert languages.count("python") >= 2
    assert "sh" in languages


def test_dots_stand_for_anything() -> None:
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert matches("a\n...\nd\n", "a\nd\n")
    assert not matches("a\nd\n", "a\nb\nd\n")
    assert not matches("a\n...\nd\n", "a\nb\n")
    assert matches("a ... c\n", "a b c\n")
    assert not matches("a ... c\n", "a\nb c\n")
