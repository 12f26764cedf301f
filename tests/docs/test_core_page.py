"""The page that introduces the core says what its code says."""

from __future__ import annotations

import re
from pathlib import Path

import remuda.core.cycle
from remuda.core.messages import gates
from remuda.core.model.asks.blocked import UNBLOCKS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/explanation/the-core-in-15-minutes.md").read_text()


def numbered(text: str) -> list[str]:
    """The numbered lines of a text, whatever their markup and wrapping."""
    begin = text.index("1. Run the timers")
    lines = text[begin : text.index("\n\n", begin)] if "\n\n" in text[begin:] else text[begin:]
    plain = " ".join(lines.replace("`", "").split())
    return re.split(r" (?=\d+\. [A-Z])", plain)


def rows(title: str) -> list[list[str]]:
    """The cells of the rows of the first table below a heading."""
    section = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    table = re.findall(r"^\| (.+) \|$", section, re.MULTILINE)
    return [row.split(" | ") for row in table[1:]]


def test_the_cycle_has_the_same_15_lines_in_the_page_and_in_the_code() -> None:
    in_code = numbered(remuda.core.cycle.__doc__ or "")
    assert len(in_code) == 15
    assert numbered(PAGE) == in_code


def test_the_page_names_every_reason_to_be_blocked() -> None:
    reasons = {reason for ended in UNBLOCKS.values() for reason in ended}
    assert {row[0] for row in rows("Where an ask can be")} == reasons
    assert gates.NODES in reasons


def test_the_page_names_every_event_and_what_it_unblocks() -> None:
    told = {event: tuple(reasons.split(", ")) for event, _, reasons in rows("What unblocks it")}
    assert told == UNBLOCKS
