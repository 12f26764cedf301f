"""Rules, citations and marks agree; and the program that says so sees when they do not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.package import PACKAGES, ROOT
from tools import rules, traces
from tools.marks import Mark, marks_of

GOOD = """
import pytest

@pytest.mark.remuda_rule("RES-5", "RES-6")
def test_sum():
    assert 1 + 1 == 2
"""


def marks(source: str) -> list[Mark]:
    return marks_of(source, "t.py")


def faults(source: str) -> list[str]:
    return rules.mark_faults(marks(source), {"RES-5": "40", "RES-6": "40"})


def test_every_decision_has_a_number_of_its_own() -> None:
    text = (ROOT / "docs/spec/README.md").read_text(encoding="utf-8")
    numbers = Counter(re.findall(r"^\| (\d+) \|", text, re.MULTILINE))
    assert len(numbers) > 100
    assert [number for number, count in numbers.items() if count > 1] == []


def test_the_chapters_define_as_many_rules_as_the_overview_says() -> None:
    told = {
        prefix: int(number)
        for prefix, number in re.findall(
            r"^\| ([A-Z]+(?:-[A-Z])?) \| [\d, ]+ \| (\d+) \|",
            (rules.SPEC / "00-overview.md").read_text(),
            re.MULTILINE,
        )
    }
    found = Counter(rule.rstrip("0123456789").rstrip("-") for rule in rules.defined())
    assert told == dict(found)
    assert told["RES"] == 57


@pytest.mark.parametrize(
    "text,ids",
    [
        ("Rules: SI-31.", ["SI-31"]),
        ("SI-31..33", ["SI-31", "SI-33"]),
        ("RES-1, 2, 4", ["RES-1", "RES-2", "RES-4"]),
        ("REST-34/35", ["REST-34", "REST-35"]),
        ("defect D-C15", ["D-C15"]),
        ("ADR-2, UTF-8 and SHA-256", []),
    ],
)
def test_citations_are_read_from_running_text(text: str, ids: list[str]) -> None:
    assert list(rules.cited(text)) == ids


def test_a_citation_without_definition_is_named() -> None:
    path = rules.SPEC / "40-resources.md"
    lines = rules.dangling([path], {})
    assert lines[0].startswith("docs/spec/40-resources.md:")
    assert any(line.endswith("RES-8 is defined in no chapter of docs/spec") for line in lines)


def test_a_mark_with_assertion_and_known_rules_is_fine() -> None:
    assert marks(GOOD) == [Mark("t.py:4", "test_sum", ("RES-5", "RES-6"), asserts=True)]
    assert faults(GOOD) == []


def test_a_mark_without_assertion_is_refused() -> None:
    assert faults(GOOD.replace("assert 1 + 1 == 2", "print(2)")) == [
        "t.py:4: test_sum is tied to a rule and asserts nothing"
    ]


@pytest.mark.parametrize(
    "body", ["with pytest.raises(ValueError): int('x')", "assert_equal(1, 1)", "core.check()"]
)
def test_other_forms_of_assertion_count(body: str) -> None:
    assert faults(GOOD.replace("assert 1 + 1 == 2", body)) == []


def test_a_mark_naming_an_unknown_rule_is_refused() -> None:
    fault = "t.py:4: RES-999 is defined in no chapter of docs/spec"
    assert faults(GOOD.replace("RES-6", "RES-999")) == [fault]


def test_a_mark_without_literal_ids_is_refused() -> None:
    fault = "t.py:4: a remuda_rule mark needs rule IDs as literal texts"
    assert faults(GOOD.replace('"RES-5", "RES-6"', "*IDS")) == [fault]


def test_a_mark_on_a_class_speaks_for_each_of_its_tests() -> None:
    source = """
@pytest.mark.remuda_rule("RES-5")
class TestSum:
    def test_one(self):
        assert True
    def test_two(self):
        pass
"""
    assert faults(source) == ["t.py:2: test_two is tied to a rule and asserts nothing"]


def test_a_mark_elsewhere_speaks_for_the_module() -> None:
    source = 'TestMachine = mark.remuda_rule("RES-5")(Machine.TestCase)\n'
    assert faults(source) == ["t.py:1: the module is tied to a rule and asserts nothing"]
    assert faults(source + "def invariant(): assert True\n") == []


def test_only_passing_tests_verify_rules(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = remuda_rule: x\n")
    (tmp_path / "test_sample.py").write_text(
        "import pytest\n"
        "@pytest.mark.remuda_rule('RES-1')\n"
        "def test_good(): assert True\n"
        "@pytest.mark.remuda_rule('RES-2')\n"
        "def test_bad(): assert False\n"
        "@pytest.mark.remuda_rule('RES-3')\n"
        "def test_skipped(): pytest.skip('not here')\n"
    )
    report = tmp_path / "rules.json"
    command = [sys.executable, "-m", "pytest", "-q", f"--rules-report={report}"]
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert json.loads(report.read_text()) == ["RES-1"]


def test_the_table_counts_covered_rules_per_chapter_without_defects() -> None:
    lines = rules.table(rules.defined(), {"RES-1", "RES-2"}, set(), verbose=False)
    resources = next(line for line in lines if line.startswith("40-resources"))
    assert resources.split()[1:] == ["2", "of", "57", "rules", "have", "a", "passing", "test"]
    assert len(lines) == 13


def test_the_verbose_table_names_what_is_missing() -> None:
    known = rules.defined()
    covered = {rule for rule in known if rule != "RES-7"}
    lines = rules.table(known, covered, set(), verbose=True)
    assert [line.strip() for line in lines if "without" in line] == ["without: RES-7"]


CHAPTER = """
- **RES-1** A sum. *Ours:* what is
  declined elsewhere is done here.
- **RES-2** A difference, over
  two lines. *Ours:* declined (README, decision 1).

| Rule | Meaning |
|---|---|
| **RES-3** | a product; *ours:* exact |
| **RES-4** | a quotient. *Ours:* declined |

**RES-5** Roots. `Ours:` declined.

Ours: declined, of no rule.

- **RES-6** A power.
- **RES-7** A logarithm.
- **RES-8** What requests are declined. Some is declined.
"""

DECISIONS = """
| # | Rules | Decision | Why |
|---|---|---|---|
| 1 | RES-8 | RES-6 is declined: no need. RES-7 and RES-9 are declined, too | declined |
| 2 | RES-8 | Requests are declined as RES-8 says | RES-1 is declined |
"""


def test_a_rule_is_declined_if_its_text_or_a_decision_says_so(tmp_path: Path) -> None:
    (tmp_path / "40-resources.md").write_text(CHAPTER)
    (tmp_path / "README.md").write_text(DECISIONS)
    found = rules.declined(tmp_path)
    assert found == {"RES-2", "RES-4", "RES-5", "RES-6", "RES-7", "RES-9"}


def test_a_declined_rule_counts_as_declined_and_not_as_shown_by_a_test() -> None:
    known = rules.defined()
    lines = rules.table(known, {"RES-1", "RES-2"}, {"RES-2", "RES-3"}, verbose=True)
    place = next(number for number, line in enumerate(lines) if line.startswith("40-resources"))
    counted, without, apart = lines[place : place + 3]
    assert counted.split(maxsplit=1)[1] == "1 of   57 rules have a passing test, 2 declined"
    assert not {"RES-1", "RES-2", "RES-3"} & set(without.split())
    assert apart.strip() == "declined: RES-2 RES-3"


def test_a_requirement_is_not_shown_by_rules_that_are_all_declined() -> None:
    known = rules.defined()
    seed = next(each for each in rules.requirements(known) if each.rules_only and each.rules[1:])
    covered, first = set(seed.rules), {seed.rules[0]}
    for refused, missing in ((first, False), (covered, True)):
        lines = rules.table(known, covered, refused, verbose=True)
        without = next(line for line in lines if line.strip().startswith("without: SEED"))
        assert (seed.id in without.split()) is missing


def test_this_repository_declines_the_times_of_sorting() -> None:
    assert rules.declined() == {"MET-11"}


TRACED = """
- **RES-1** A sum.
- **RES-2** *Not code: examples.* One and one is two.
- **RES-3** *Replaced by RES-1 and RES-5.* A sum of two.
- **RES-4** A root. *Ours:* declined.

## Texts
*Not code: the reference does so.*

- **RES-6** A text.
| **RES-7** | *Not code: a target.* fast |

## Amounts
- **RES-5** An amount, **D-C1**, as in RES-1.
"""


def traced(tmp_path: Path, source: str) -> list[str]:
    """What is wrong with the rules that a file implements, by the chapter above."""
    (tmp_path / "40-resources.md").write_text(TRACED)
    (tmp_path / "README.md").write_text("")
    texts = traces.texts_of(source, "t.py")
    return traces.faults(texts, rules.defined(tmp_path), rules.not_implemented(tmp_path))


SOUND = '''
"""A module (rules: RES-3)."""

# Implements: RES-1.
LIMIT = 1

def amount():
    """Return an amount. Implements: RES-5 (Ours). Rules: RES-1."""
'''


def test_the_specification_says_why_no_code_implements_a_rule(tmp_path: Path) -> None:
    assert traced(tmp_path, SOUND) == []
    assert rules.not_implemented(tmp_path) == {
        "RES-2": "not code: examples.",
        "RES-3": "replaced by RES-1 and RES-5",
        "RES-4": "declined",
        "RES-6": "not code: the reference does so.",
        "RES-7": "not code: a target.",
        "D-C1": "a defect of the reference",
    }
    assert rules.replaced(tmp_path) == {"RES-3": ["RES-1", "RES-5"]}


@pytest.mark.parametrize(
    "before,after,fault",
    [
        (
            "Implements: RES-5 (Ours).",
            "Implements: RES-5, RES-1.",
            "t.py:4: implements RES-1, as t.py:8 does: one place only",
        ),
        (
            "Implements: RES-5",
            "Rules: RES-5",
            "docs/spec/40-resources.md: nothing in src says that it implements RES-5",
        ),
        (
            "Implements: RES-1.",
            "Implements: RES-1, RES-999.",
            "t.py:4: implements RES-999, which no chapter of docs/spec defines",
        ),
        (
            "Implements: RES-1.",
            "Implements: RES-1, RES-3.",
            "t.py:4: implements RES-3, which docs/spec says is replaced by RES-1 and RES-5",
        ),
        (
            "Implements: RES-1.",
            "Implements: RES-1, RES-2.",
            "t.py:4: implements RES-2, which docs/spec says is not code: examples.",
        ),
        (
            "Implements: RES-1.",
            "Implements: RES-1, all of it.",
            "t.py:4: 'Implements:' takes rule IDs with commas between, and a stop",
        ),
    ],
)
def test_a_rule_with_two_places_or_none_is_noticed(
    tmp_path: Path, before: str, after: str, fault: str
) -> None:
    assert before in SOUND
    assert traced(tmp_path, SOUND.replace(before, after)) == [fault]


def test_an_id_that_is_cited_and_not_implemented_does_not_count(tmp_path: Path) -> None:
    source = SOUND.replace("Implements: RES-5 (Ours). Rules: RES-1.", "See RES-5.")
    assert traced(tmp_path, source) == [
        "docs/spec/40-resources.md: nothing in src says that it implements RES-5"
    ]


def test_comments_of_neighbouring_lines_and_long_docstrings_are_read_as_one() -> None:
    source = '''
# One. Implements: RES-1,
# RES-2 (as in
# chapter 40). Two.
x = 1  # Implements: RES-3.

def f():
    """Do it.

    Implements: RES-4,
    RES-5.
    """
'''
    found = [rule for text in traces.texts_of(source, "t.py") for rule in traces.implemented(text)]
    assert found == ["RES-4", "RES-5", "RES-1", "RES-2", "RES-3"]


@pytest.mark.parametrize(
    "said",
    [
        "RES-5 to RES-8",
        "RES-5 to 8",
        "RES-5..8",
        "RES-5…8",
        "RES-5\u2013RES-8",
        "RES-5\n# to RES-8",
    ],
)
def test_a_range_of_rules_in_code_is_noticed(said: str) -> None:
    texts = traces.texts_of(f"# As {said} say.\n", "t.py")
    faults = [fault for text in texts for fault in traces.range_faults(text, {"RES"})]
    assert len(faults) == 1
    assert faults[0].startswith("t.py:1: 'RES-5")
    assert faults[0].endswith("hides rules: write each ID, or name the chapter")


@pytest.mark.parametrize(
    "said", ["RES-5, RES-8", "``RES-5..8``", "PSC-1993-3 to 5", "steps 5 to 8"]
)
def test_what_is_no_range_of_rules_is_let_through(said: str) -> None:
    texts = traces.texts_of(f"# As {said} say.\n", "t.py")
    assert [fault for text in texts for fault in traces.range_faults(text, {"RES"})] == []


def test_a_rule_is_replaced_by_one_that_is_in_force(tmp_path: Path) -> None:
    text = TRACED.replace("Replaced by RES-1 and RES-5", "Replaced by RES-1 and RES-4")
    (tmp_path / "40-resources.md").write_text(text)
    (tmp_path / "README.md").write_text("")
    assert rules.replacement_faults(rules.defined(tmp_path), tmp_path) == [
        "docs/spec/40-resources.md: RES-3 is replaced by RES-4, which is no rule in force"
    ]
