"""The checks there are: their names, their rules, and the choice of some."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from remuda.base.errors import UsageError
from remuda.conformance.catalogue import SUBJECTS, choose
from remuda.conformance.registry import Check, Level
from tools.rules import defined

CHECKS = [check for subject in SUBJECTS for check in subject.checks]


def names(checks: list[Check]) -> list[str]:
    return [check.name for check in checks]


def test_every_check_has_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(names(CHECKS)).items() if times > 1] == []
    assert [name for name in names(CHECKS) if not re.fullmatch(r"[a-z-]+\.[a-z-]+", name)] == []


def test_every_check_names_rules_that_exist() -> None:
    known = defined()
    assert [check.name for check in CHECKS if not check.rules] == []
    assert {rule for check in CHECKS for rule in check.rules} - known.keys() == set()


def test_titles_are_sentences_for_a_list() -> None:
    assert [check.title for check in CHECKS if check.title.endswith(".")] == []
    assert [title for title, times in Counter(c.title for c in CHECKS).items() if times > 2] == []


@pytest.mark.parametrize(
    "numbers,prefix",
    [
        ([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25], "RM"),
        ([2, 3, 4, 5, 7, 12, 13, *range(20, 31), *range(31, 36), *range(37, 40)], "SI"),
        ([*range(40, 45), *range(50, 54), *range(60, 71), *range(75, 80), 112], "SI"),
        ([85, 86, 87, 88, *range(100, 106)], "SI"),
        ([1, 3, *range(6, 15), 17], "NODE"),
        ([1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 17, 19, 22, 30], "APP"),
        (
            [
                *range(1, 8),
                *range(9, 13),
                13,
                14,
                15,
                *range(17, 28),
                *range(30, 34),
                35,
                40,
                41,
                42,
                43,
            ],
            "GANG",
        ),
        ([1, 2, 3, 4, 5, 7, 8, 11, 12, 13], "REC"),
    ],
)
def test_what_the_wire_shows_of_the_chapters_is_checked(numbers: list[int], prefix: str) -> None:
    checked = {rule for check in CHECKS for rule in check.rules}
    assert [n for n in numbers if f"{prefix}-{n}" not in checked] == []


def test_patterns_mean_names_subjects_or_rules() -> None:
    assert choose((), None) == CHECKS
    assert names(choose(["asks.priority"], None)) == ["asks.priority"]
    assert names(choose(["SI-52"], None)) == ["releases.ask-timeout"]
    assert {check.name.partition(".")[0] for check in choose(["releases"], None)} == {"releases"}
    assert {check.name.partition(".")[0] for check in choose(["gang*"], None)} == {
        "gang",
        "gang-end",
        "gang-swap",
        "gang-recovery",
    }
    both = choose(["releases.twice", "asks.priority", "asks.priority"], None)
    assert names(both) == ["asks.priority", "releases.twice"]


def test_levels_part_the_checks() -> None:
    parity, ours = choose((), Level.PARITY), choose((), Level.REMUDA)
    assert len(parity) + len(ours) == len(CHECKS)
    assert {check.level for check in parity} == {Level.PARITY}
    assert {check.level for check in ours} == {Level.REMUDA}


@pytest.mark.parametrize("pattern", ["", "nothing", "si-52", "asks.", "releases.ask-timeout "])
def test_a_pattern_that_means_nothing_is_an_error(pattern: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"no check, subject or rule is '{pattern}'")):
        choose(["asks", pattern], None)


def test_a_level_without_chosen_checks_is_an_error() -> None:
    with pytest.raises(UsageError, match="no check of the level remuda matches"):
        choose(["SI-52"], Level.REMUDA)
