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
from tools import rules
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


def test_marks_and_citations_of_this_repository_hold() -> None:
    assert rules.mark_faults(rules.all_marks(), rules.defined()) == []
    assert rules.dangling(rules.citing_files(), rules.defined()) == []


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
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert json.loads(report.read_text()) == ["RES-1"]


def test_the_table_counts_covered_rules_per_chapter_without_defects() -> None:
    lines = rules.table(rules.defined(), {"RES-1", "RES-2"}, verbose=False)
    resources = next(line for line in lines if line.startswith("40-resources"))
    assert resources.split()[1:] == ["2", "of", "57", "rules", "have", "a", "passing", "test"]
    assert len(lines) == 13


def test_the_verbose_table_names_what_is_missing() -> None:
    known = rules.defined()
    covered = {rule for rule in known if rule != "RES-7"}
    lines = rules.table(known, covered, verbose=True)
    assert [line.strip() for line in lines if "without" in line] == ["without: RES-7"]
