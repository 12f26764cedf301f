"""The words that were retired, what is said instead, and where the ban holds.

Each thing has one word. The glossary of docs/spec/00-overview.md has the words; here are those they
replaced, so that none comes back. Decisions, ADRs and the changelog tell history and may use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
GLOSSARY: Final = ROOT / "docs/spec/00-overview.md"

# Where the core's words hold, and its tests. Elsewhere a benchmark or a JSON object has a shape.
CORE: Final = ("src/remuda/core/", "tests/unit/core/")
EVERYWHERE: Final = ("src/", "tests/", "tools/", "docs/")

# Pages for people; the others tell history or are the specification itself.
PAGES: Final = ("docs/explanation", "docs/how-to", "docs/reference")

# They name what is retired.
_EXEMPT: Final = ("tools/glossary.py", "tests/architecture/test_tidy.py")


@dataclass(frozen=True)
class Retired:
    """Words that are not used any more; ``instead``: a term of the glossary.

    A word counts in prose and as a part of a name, in any case: ``lane`` in ``_first_lane`` and
    ``LaneKey``. ``exact``: only as this name, letter by letter. ``classes``: only as the name of a
    class. ``modules``: only as the name of a module or package.
    """

    words: tuple[str, ...]
    instead: str
    where: tuple[str, ...] = CORE
    exact: bool = False
    classes: bool = False
    modules: bool = False


RETIRED: Final = (
    Retired(("lane", "lanes"), "class queue", EVERYWHERE),
    Retired(("strand", "strands"), "limit group", EVERYWHERE),
    Retired(("shape", "shapes"), "ask class"),
    Retired(("account", "accounts"), "limit set"),
    Retired(("claim", "claims"), "reservation class"),
    Retired(("HOME",), "stage", exact=True),
    Retired(("shaken", "unsettled"), "mark", EVERYWHERE),
    Retired(("hearing", "hearings"), "victim answers"),
    Retired(("looking",), "ask findings", modules=True),
    Retired(("park", "parks", "parked", "parking"), "blocked", EVERYWHERE),
    Retired(("Wait", "Hold", "Pause", "Await", "Postpone"), "decision", classes=True),
    Retired(("standing",), "sort key"),
    Retired(("tally", "tallies"), "leaf counts"),
    Retired(("rebuffed",), "blocked", EVERYWHERE),
    Retired(("rouse", "roused", "rouses", "rousing"), "gained room", EVERYWHERE),
    Retired(("ripe", "ripen", "ripens", "ripened", "ripening", "ripeness"), "preemption age"),
    Retired(("starved",), "waiting classes"),
)

# The words in names and in prose: of waits_for_lane, LaneKey and "a lane" each has one.
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAMES: Final = re.compile(r"[A-Za-z_]\w*")
_CLASS: Final = re.compile(r"\s*class (\w+)")
_LINKS: Final = re.compile(r"\]\([^)]*\)")


@cache
def terms() -> frozenset[str]:
    """Return what the glossary explains, in small letters."""
    text = GLOSSARY.read_text()
    section = text[text.index("## 4 Glossary") : text.index("## 5 ")]
    cells = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    found = {re.sub(r"\s*\(.*?\)", "", term).strip() for cell in cells for term in cell.split(",")}
    return frozenset(term.lower() for term in found)


def unknown_replacements(retired: tuple[Retired, ...] = RETIRED) -> Iterator[str]:
    """Find what is said instead of a retired word and has no line in the glossary."""
    for entry in retired:
        if entry.instead not in terms():
            yield f"'{entry.instead}', said for '{entry.words[0]}', is not in {GLOSSARY.name}"


def retired_words(name: str, source: str) -> Iterator[str]:
    """Find retired words in a file of Python or a page. ``name``: its path from the root."""
    if name in _EXEMPT:
        return
    entries = [entry for entry in RETIRED if name.startswith(entry.where)]
    yield from _in_path(name, entries)
    banned = {word: entry for entry in entries if _is_plain(entry) for word in entry.words}
    exact = {word: entry for entry in entries if entry.exact for word in entry.words}
    classes = {word: entry for entry in entries if entry.classes for word in entry.words}
    for number, line in enumerate(source.splitlines(), 1):
        text = _LINKS.sub("]", line) if name.endswith(".md") else line
        found = [part for part in _PARTS.findall(text) if part.lower() in banned]
        for word in dict.fromkeys(found):
            yield _fault(f"{name}:{number}", word, banned[word.lower()])
        for word in dict.fromkeys(_NAMES.findall(text)):
            if word in exact:
                yield _fault(f"{name}:{number}", word, exact[word])
        if (begun := _CLASS.match(line)) and begun[1] in classes:
            yield _fault(f"{name}:{number}", begun[1], classes[begun[1]])


def pages() -> list[tuple[str, str]]:
    """Return path and text of every page for people."""
    paths = [path for folder in PAGES for path in (ROOT / folder).rglob("*.md")]
    return [(str(path.relative_to(ROOT)), path.read_text()) for path in sorted(paths)]


def _in_path(name: str, entries: list[Retired]) -> Iterator[str]:
    """Find retired words in the names of a module and its packages."""
    parts = {part for part in re.split(r"[/_.]", name.removesuffix(".py")) if part}
    for entry in entries:
        if entry.modules or _is_plain(entry):
            for word in entry.words:
                if word in parts:
                    yield _fault(name, word, entry)


def _is_plain(entry: Retired) -> bool:
    return not (entry.exact or entry.classes or entry.modules)


def _fault(place: str, word: str, entry: Retired) -> str:
    return f"{place}: '{word}' is retired, say '{entry.instead}' (glossary of {GLOSSARY.name})"
