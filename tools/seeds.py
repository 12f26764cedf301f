"""Tie the requirements of the founding documents to tests: the SEED lines of chapter 00.

A line reads ``- SEED-38 requirement → SI-13, RES-1..3``. It is tied when a test carries its own
mark, or when every rule it points to has a test. A line that points to sections, to a file or to
a paragraph as well needs a mark of its own: a program cannot see that a section is kept.

A line that is not tied stands in docs/spec/open.md, with the rules that are missing and the reason.
That file may only shrink: an entry whose line is tied, or that names a rule with a test, is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

_LINE = re.compile(r"^- (SEED-\d+) .*→ (.*)$", re.MULTILINE)
_ENTRY = re.compile(r"^\| (SEED-\d+) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_REMARK = re.compile(r"\([^)]*\)|⚠")
# `SI-31..45`, `REST-34/35`, `SI-3, 4`; of a range every number between counts.
_SPAN = re.compile(r"\b([A-Z]+-[A-Z]?)(\d+)((?:(?:\.\.|/|, )\d+(?![\w.%:]))*)")
_NUMBER = re.compile(r"(\.\.|/|, )(\d+)")
_BETWEEN = re.compile(r"[\s,]*")
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Seed:
    """One requirement: the rules it points to, and whether it points to nothing else."""

    id: str
    rules: tuple[str, ...]
    rules_only: bool

    def missing(self, tested: AbstractSet[str]) -> list[str]:
        """The rules it points to that no test is tied to."""
        return [rule for rule in self.rules if rule not in tested]

    def tied(self, tested: AbstractSet[str]) -> bool:
        """Whether a test shows it: one of its own, or one for each of its rules."""
        by_rules = self.rules_only and bool(self.rules) and not self.missing(tested)
        return self.id in tested or by_rules


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list of what is open."""

    id: str
    rules: tuple[str, ...]
    reason: str


def seeds(overview: str, known: AbstractSet[str]) -> list[Seed]:
    """The requirements in the text of chapter 00; ``known`` are the rules that exist."""
    return [_seed(seed_id, target, known) for seed_id, target in _LINE.findall(overview)]


def _seed(seed_id: str, target: str, known: AbstractSet[str]) -> Seed:
    plain = _REMARK.sub("", target)
    rules = dict.fromkeys(rule for rule in named(plain) if rule in known)
    return Seed(seed_id, tuple(rules), _BETWEEN.fullmatch(_SPAN.sub("", plain)) is not None)


def named(text: str) -> Iterator[str]:
    """Rule IDs in a text; of a range every number between its ends, whether it exists or not."""
    for prefix, first, rest in _SPAN.findall(text):
        last = int(first)
        yield f"{prefix}{last}"
        for how, number in _NUMBER.findall(rest):
            start = last + 1 if how == ".." else int(number)
            last = int(number)
            yield from (f"{prefix}{each}" for each in range(start, last + 1))


def entries(text: str) -> list[Entry]:
    """The lines of the list of what is open."""
    return [Entry(seed, tuple(named(rules)), why) for seed, rules, why in _ENTRY.findall(text)]


def faults(lines: Iterable[Seed], listed: Iterable[Entry], tested: AbstractSet[str]) -> list[str]:
    """One line for each requirement that is neither tied nor open, and each stale entry."""
    known = {seed.id: seed for seed in lines}
    found: list[str] = []
    seen: set[str] = set()
    for entry in listed:
        if entry.id in seen:
            found.append(f"{entry.id} is listed twice")
        seen.add(entry.id)
        found += _entry_faults(entry, known.get(entry.id), tested)
    return [
        *(f"docs/spec/open.md: {fault}" for fault in found),
        *(
            f"docs/spec/00-overview.md: {seed.id} has no test and is not in open.md"
            f" (without a test: {', '.join(seed.missing(tested)) or 'what is not a rule'})"
            for seed in known.values()
            if seed.id not in seen and not seed.tied(tested)
        ),
    ]


def _entry_faults(entry: Entry, seed: Seed | None, tested: AbstractSet[str]) -> Iterator[str]:
    if seed is None:
        yield f"{entry.id} is no line of chapter 00"
        return
    if seed.tied(tested):
        yield f"{entry.id} has a test now: take the entry out"
        return
    missing = seed.missing(tested)
    for rule in entry.rules:
        if rule not in missing:
            why = "has a test now" if rule in tested else f"is none of those of {seed.id}"
            yield f"{entry.id}: {rule} {why}: take it out of the entry"
    yield from (
        f"{entry.id}: {rule} has no test and is not named"
        for rule in missing
        if rule not in entry.rules
    )
    if not entry.reason.strip(f" {_NOTHING}"):
        yield f"{entry.id} has no reason"
