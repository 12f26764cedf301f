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


def shell_lines(page: Path) -> list[str]:
    """All that a page has readers type, as they read it."""
    blocks = [block for block in blocks_of(page) if block.language == "sh"]
    return [line for block in blocks for line in block.text.splitlines()]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/first-run.md"])
def test_a_newcomer_is_told_how_the_program_gets_on_the_path(page: str) -> None:
    lines = shell_lines(ROOT / page)
    first = next(place for place, line in enumerate(lines) if line.startswith("remuda "))
    (told,) = (place for place, line in enumerate(lines) if "source .venv/bin/activate" in line)
    assert lines[0].startswith("make run")
    assert 0 < told < first


def test_what_is_read_over_rest_is_short_and_laid_out_for_people() -> None:
    plain = ("/metrics", "/stack", "/debug/", "/readyz", "/events/stream", "https://")
    shown = 0
    for page in PAGES:
        for block in blocks_of(page):
            text = block.text.replace("\\\n", "\N{NULL}") if block.language == "sh" else ""
            for command in text.splitlines():
                if command.startswith("curl "):
                    shown += 1
                    assert all(len(line) <= 90 for line in command.split("\N{NULL}")), command
                    if not any(each in command for each in plain):
                        assert command.endswith("| python3 -m json.tool"), command
    assert shown > 10


def test_dots_stand_for_anything() -> None:
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert matches("a\n...\nd\n", "a\nd\n")
    assert not matches("a\nd\n", "a\nb\nd\n")
    assert not matches("a\n...\nd\n", "a\nb\n")
    assert matches("a ... c\n", "a b c\n")
    assert not matches("a ... c\n", "a\nb c\n")
