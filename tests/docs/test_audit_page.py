"""The page on the audit log has the table of the code, and all fields of a line."""

from __future__ import annotations

import json
import re
from pathlib import Path

from remuda.telemetry.audit.records import DEEDS, Line, Record

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/audit-log.md").read_text()


def rows(section: str) -> dict[str, str]:
    """The first two cells of the rows of a table."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", text, re.MULTILINE))


def test_the_page_has_all_deeds_with_their_meanings() -> None:
    assert rows("Deeds") == dict(DEEDS)


def test_the_page_has_all_fields_in_their_order() -> None:
    record = Record("start", "done", "a", "b", "c", "d", "e", "f", "g")
    assert list(rows("Fields")) == list(json.loads(Line(1, record, 1, 1).encoded()))
