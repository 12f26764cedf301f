"""Real queue configurations of other projects: each gets a verdict, with places and reasons."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from remuda.base.errors import ERROR
from remuda.config.document import document
from remuda.config.load import check_configuration
from tests.unit.config.verdicts import odd

DATA = Path(os.environ.get("REMUDA_DATA") or Path(__file__).parents[4] / "shared" / "data")
CONFIGS = DATA / "queue-configs"

# The files that are refused although they are YAML, by number: the rules that refuse them. They
# are answers of an interface, pieces of documents and files of other releases.
REFUSED = {
    # A sample of the core that its own checks for the wildcard and for parents refuse.
    "029": ["CFG-56", "CFG-55", "CFG-98"],
    # What GET /ws/v1/config answers: it cannot be fed back (TOOL-3).
    "049": ["CFG-13"],
    "051": ["CFG-13"],
    # Pieces of pages, with words for the reader where names and amounts belong.
    "056": ["CFG-13", "CFG-13", "CFG-61"],
    "057": ["CFG-13"],
    "058": ["CFG-13"],
    "062": ["CFG-61"] * 5,
    "078": ["CFG-13", "CFG-41"],
}

# Where an oracle says what the reference makes of a file, and it differs: by number, the rule.
DIFFERENT: dict[str, str] = {}

pytestmark = pytest.mark.skipif(
    not (CONFIGS / "index.json").is_file(),
    reason=f"no real configurations in {CONFIGS} (set REMUDA_DATA)",
)


def entries() -> list[dict[str, object]]:
    if not (CONFIGS / "index.json").is_file():
        return []
    found: list[dict[str, object]] = json.loads((CONFIGS / "index.json").read_text())
    return found


def number_of(entry: dict[str, object]) -> str:
    return Path(str(entry["file"])).name[:3]


def text_of(entry: dict[str, object]) -> str:
    return (CONFIGS / str(entry["file"])).read_text()


@pytest.mark.remuda_rule("CFG-5", "CFG-13")
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: Path(str(entry["file"])).stem)
def test_a_real_configuration_gets_its_verdict(entry: dict[str, object]) -> None:
    verdict = check_configuration(text_of(entry), "real")
    found = [problem for problem in verdict.problems if problem.severity == ERROR]
    expected = REFUSED.get(number_of(entry), []) if entry["yaml_ok"] else ["CFG-5"]
    assert [problem.rule for problem in found] == expected
    assert all(problem.line and problem.column for problem in verdict.problems)
    if not entry["yaml_ok"]:
        assert "not YAML" in found[0].message


@pytest.mark.remuda_rule("TOOL-1")
def test_verdicts_are_those_of_the_reference_but_for_named_rules() -> None:
    for entry in entries():
        oracle = entry.get("valid_1_5_1")
        valid = check_configuration(text_of(entry)).configuration is not None
        assert oracle is None or (valid == oracle) != (number_of(entry) in DIFFERENT)


@pytest.mark.remuda_rule("TOOL-3", "REST-60")
def test_the_document_of_an_accepted_file_is_accepted_and_means_the_same() -> None:
    for entry in entries():
        text = text_of(entry)
        before = check_configuration(text).configuration
        if before is not None:
            after = check_configuration(json.dumps(document(text))).configuration
            assert after is not None
            assert after.partitions == before.partitions


def test_odd_is_only_what_nobody_can_submit_to() -> None:
    accepted = [
        entry for entry in entries() if entry["yaml_ok"] and number_of(entry) not in REFUSED
    ]
    assert len(accepted) == 66
    for entry in accepted:
        assert set(odd(text_of(entry))) <= {"ACL-12"}
