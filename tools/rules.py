"""Tie tests to the numbered rules of docs/spec, and say how far they reach.

A test carries ``@pytest.mark.remuda_rule("RES-5")`` for each rule whose outcome it asserts.
Without a program that reads the marks they would soon be decoration, so this one

- prints per chapter how many rules have a passing test (it runs the marked tests), and how many are
  declined: a test that shows the absence of what a rule asks for does not show the rule,
- refuses a mark on a test without an assertion, and a mark naming an unknown rule (--check),
- refuses a requirement of chapter 00 that has no test and is not listed as open (--check),
- finds rule IDs that code and documents cite and no chapter defines (--check),
- refuses a rule that is not implemented in exactly one place of src, unless docs/spec says why, and
  ranges of rules in code, which nobody finds (--check),
- counts the rules per chapter and prefix (--counts).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from tools import seeds, traces
from tools.marks import Mark, marks_of

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "docs/spec"
OVERVIEW = SPEC / "00-overview.md"
OPEN = SPEC / "open.md"

START = re.compile(r"^(?:[-|] (?:\*\*)?|\*\*)([A-Z]+-[A-Z]?\d+)\b(?!,|\.\.)")
DEFECT = re.compile(r"\*\*(D-[A-Z]\d+)\*\*|\[(UPD-\d+)\]")
SPAN = re.compile(
    r"\b([A-Z]+-[A-Z]?)(\d+)((?:(?:\.\.|…|–|/|, | and | or )\d+(?![\w.%:]| [a-z]))*)"  # noqa: RUF001
)
# Prefixes that look like ours and are not.
FOREIGN = frozenset(
    {"ADR", "BSD", "CVE", "ISO", "KEP", "LGPL", "MPL", "PEP", "RFC", "SHA", "UTF", "YUNIKORN"}
)
DEFECT_PREFIXES = ("D-", "UPD-")
REQUIREMENT_PREFIX = "SEED-"

# How a chapter says of a rule, and a decision of rules, that remuda does not do what they say.
DECLINED_HERE = re.compile(r"\bOurs:[*`]* declined\b")
RULE = re.compile(r"[A-Z]+-[A-Z]?\d+")
DECLINED = re.compile(rf"({RULE.pattern}(?:(?:, | and ){RULE.pattern})*) (?:is|are) declined\b")
# How a chapter says of a rule, or outside of rules of all up to the next heading, that no code
# implements it, and of a rule that others took its place.
NOT_CODE = re.compile(r"\*Not code: ([^*]+)\*")
REPLACED = re.compile(rf"\*Replaced by ({RULE.pattern}(?:(?:, | and ){RULE.pattern})*)\.\*")
DECISION = re.compile(r"^\| \d+ \| [^|]+ \| (.*) \| [^|]* \|$", re.MULTILINE)


def defined(spec: Path = SPEC) -> dict[str, str]:
    """Rule ID -> file name of the chapter that defines it.

    A definition is an ID at the start of a list item, a paragraph or a table row, or a defect
    in bold or brackets.
    """
    rules: dict[str, str] = {}
    for path in chapters(spec):
        for line in path.read_text().splitlines():
            defects = [bold or bracketed for bold, bracketed in DEFECT.findall(line)]
            for rule in [*START.findall(line), *defects]:
                rules.setdefault(rule, path.name)
    return rules


def declined(spec: Path = SPEC) -> set[str]:
    """The rules that remuda does not follow, as their own text or a decision says.

    The text of a rule says ``*Ours:* declined``, a decision ``MET-11 is declined`` or
    ``SI-1, SI-2 and SI-3 are declined``.
    """
    found = {rule for rule, line in _rule_lines(spec) if rule and DECLINED_HERE.search(line)}
    for decision in DECISION.findall((spec / "README.md").read_text()):
        found.update(rule for names in DECLINED.findall(decision) for rule in RULE.findall(names))
    return found


def replaced(spec: Path = SPEC) -> dict[str, list[str]]:
    """The rules that hold no more, with those that took their place."""
    return {
        rule: RULE.findall(found[1])
        for rule, line in _rule_lines(spec)
        if rule and (found := REPLACED.search(line))
    }


def not_implemented(spec: Path = SPEC) -> dict[str, str]:
    """The rules that no code implements, with the reason.

    Those are declined, replaced by others, requirements of chapter 00 (which point to rules),
    descriptions of defects of the reference (the rule beside them says what is done instead), and
    those with the words ``*Not code: why.*`` in their text. Outside of rules, the words are for all
    rules up to the next heading.
    """
    found = {}
    for rule in defined(spec):
        if rule.startswith(REQUIREMENT_PREFIX):
            found[rule] = "a requirement, which points to rules"
        elif rule.startswith(DEFECT_PREFIXES):
            found[rule] = "a defect of the reference"
    for_all = ""
    for rule, line in _rule_lines(spec):
        reason = NOT_CODE.search(line)
        if line.startswith("#"):
            for_all = ""
        elif not rule and reason:
            for_all = reason[1]
        if rule and (reason or for_all):
            found[rule] = f"not code: {reason[1] if reason else for_all}"
    found |= {rule: f"replaced by {' and '.join(by)}" for rule, by in replaced(spec).items()}
    return found | dict.fromkeys(declined(spec), "declined")


def _rule_lines(spec: Path) -> Iterator[tuple[str, str]]:
    """Each line of the chapters, with the rule whose text it belongs to, "" if to none.

    The text of a rule ends with a blank line, a heading or the next rule.
    """
    for path in chapters(spec):
        rule = ""
        for line in path.read_text().splitlines():
            begun = START.findall(line)
            if begun or not line.strip() or line.startswith("#"):
                rule = begun[0] if begun else ""
            yield rule, line


def chapters(spec: Path = SPEC) -> list[Path]:
    """The chapters, in order; their names start with a number."""
    return sorted(spec.glob("[0-9]*.md"))


def cited(text: str) -> Iterator[str]:
    """Rule IDs that a text names; of a range ``SI-31..33`` or a list ``SI-3, 4`` every number."""
    for prefix, first, rest in SPAN.findall(text):
        if prefix.split("-")[0] not in FOREIGN:
            for number in [first, *re.findall(r"\d+", rest)]:
                yield f"{prefix}{number}"


def dangling(paths: Iterable[Path], rules: dict[str, str]) -> list[str]:
    """One line for each rule ID that a file cites and no chapter defines."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {rule} is defined in no chapter of docs/spec"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for rule in sorted(set(cited(line)) - rules.keys())
    ]


def mark_faults(marks: Iterable[Mark], rules: dict[str, str]) -> list[str]:
    """One line for each mark that asserts nothing or names no rule."""
    faults = []
    for mark in marks:
        if not mark.ids:
            faults.append(f"{mark.place}: a remuda_rule mark needs rule IDs as literal texts")
        faults += [
            f"{mark.place}: {rule} is defined in no chapter of docs/spec"
            for rule in mark.ids
            if rule not in rules
        ]
        if not mark.asserts:
            faults.append(f"{mark.place}: {mark.test} is tied to a rule and asserts nothing")
    return faults


def citing_files() -> list[Path]:
    """The files whose citations have to hold."""
    spec = [*SPEC.glob("*.md"), *SPEC.glob("*.proto"), *SPEC.glob("*.yaml")]
    code = [path for path in (ROOT / "src").rglob("*.py") if "pb" not in path.parts]
    documents = [path for path in (ROOT / "docs").rglob("*.md") if path.parent != SPEC]
    return sorted([*spec, *code, *documents, *(ROOT / "proto").rglob("*.proto")])


def source_texts(*folders: str) -> list[traces.Text]:
    """The docstrings and comments of hand-written code below some folders."""
    return [
        text
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "pb" not in path.parts
        for text in traces.texts_of(path.read_text(), str(path.relative_to(ROOT)))
    ]


def trace_faults(rules: dict[str, str]) -> list[str]:
    """One line for each rule without its one place in src, and each range that hides rules."""
    prefixes = {rule.split("-")[0] for rule in rules}
    shipped = source_texts("src")
    return [
        *traces.faults(shipped, rules, not_implemented()),
        *(
            fault
            for text in [*shipped, *source_texts("tests", "tools")]
            for fault in traces.range_faults(text, prefixes)
        ),
    ]


def replacement_faults(rules: dict[str, str], spec: Path = SPEC) -> list[str]:
    """One line for each rule that is replaced by what is no rule, or holds no more itself."""
    elsewhere = not_implemented(spec)
    return [
        f"docs/spec/{rules[rule]}: {rule} is replaced by {other}, which is no rule in force"
        for rule, others in replaced(spec).items()
        for other in others
        if other not in rules or other in elsewhere
    ]


def all_marks() -> list[Mark]:
    """The marks of every test file."""
    return [
        mark
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for mark in marks_of(path.read_text(), str(path.relative_to(ROOT)))
    ]


def requirements(rules: dict[str, str]) -> list[seeds.Seed]:
    """The lines of the checklist in chapter 00."""
    return seeds.seeds(OVERVIEW.read_text(), rules.keys())


def seed_faults(rules: dict[str, str], tested: set[str]) -> list[str]:
    """One line for each requirement without test and reason, and each stale reason."""
    return seeds.faults(requirements(rules), seeds.entries(OPEN.read_text()), tested)


def check() -> int:
    """Print what is wrong with marks, citations and requirements; 1 if anything is."""
    rules = defined()
    marks = all_marks()
    tested = {rule for mark in marks for rule in mark.ids}
    faults = [
        *mark_faults(marks, rules),
        *dangling(citing_files(), rules),
        *seed_faults(rules, tested),
        *trace_faults(rules),
        *replacement_faults(rules),
    ]
    for fault in faults:
        print(fault)
    return int(bool(faults))


def counts() -> int:
    """Print chapter, prefix and number of rules."""
    tally = Counter((name, rule.rstrip("0123456789")) for rule, name in defined().items())
    for (chapter, prefix), number in sorted(tally.items()):
        print(f"{chapter} {prefix} {number}")
    return 0


def verified() -> tuple[set[str], bool]:
    """Run the marked tests; the IDs that a passing one is tied to, and whether all passed."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "rules.json"
        options = ["-q", "--tb=no", "-m", "remuda_rule and not long", f"--rules-report={report}"]
        done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, check=False)
        rules = set(json.loads(report.read_text())) if report.exists() else set()
        return rules, done.returncode == 0


def table(
    rules: dict[str, str], covered: set[str], refused: AbstractSet[str], *, verbose: bool
) -> list[str]:
    """The lines of the report: per chapter covered and all rules, defects not counted.

    A requirement of chapter 00 is covered, too, when all rules it points to are. Rules that are
    declined (``refused``) count apart, whatever tests are tied to them. A requirement loses nothing
    by one of those, as long as it points to others.
    """
    shown = covered - refused
    shown |= {
        seed.id
        for seed in requirements(rules)
        if seed.tied(shown | refused) and (seed.id in shown or shown.intersection(seed.rules))
    }
    lines = []
    for path in chapters():
        own = [
            rule
            for rule, chapter in rules.items()
            if chapter == path.name and not rule.startswith(DEFECT_PREFIXES)
        ]
        apart = [rule for rule in own if rule in refused]
        missing = [rule for rule in own if rule not in shown | refused]
        done = len(own) - len(missing) - len(apart)
        line = f"{path.stem:<28}{done:>5} of {len(own):>4} rules have a passing test"
        lines.append(f"{line}, {len(apart)} declined" if apart else line)
        if verbose and missing:
            lines.append(f"    without: {' '.join(missing)}")
        if verbose and apart:
            lines.append(f"    declined: {' '.join(apart)}")
    return lines


def report(*, verbose: bool) -> int:
    """Run the marked tests and print the table; 1 on a bad mark or if not all of them pass."""
    rules = defined()
    faults = mark_faults(all_marks(), rules)
    for fault in faults:
        print(fault)
    if faults:
        return 1
    covered, passed = verified()
    print("\n".join(table(rules, covered, declined(), verbose=verbose)))
    if not passed:
        print("rules: not all marked tests pass; rules that only those verify are not counted")
    return int(not passed)


def main() -> int:
    """Do what the arguments say; without any, run and report."""
    parser = argparse.ArgumentParser(prog="rules", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="judge marks and citations only")
    parser.add_argument("--counts", action="store_true", help="count rules per prefix")
    parser.add_argument("--verbose", action="store_true", help="name the rules without a test")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    if arguments.counts:
        return counts()
    return report(verbose=arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
