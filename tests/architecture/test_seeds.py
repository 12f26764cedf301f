"""Every requirement of chapter 00 has a test or a reason, and the program that says so sees."""

from __future__ import annotations

import pytest

from tools import rules
from tools.seeds import Entry, Seed, entries, faults, seeds

KNOWN = {"SI-1", "SI-2", "SI-3", "SI-7", "REST-34", "REST-35", "SEED-1", "SEED-2"}
LINE = Seed("SEED-1", ("SI-1", "SI-2"), rules_only=True)
NOT_LISTED = "docs/spec/00-overview.md: SEED-1 has no test and is not in open.md"


def only(target: str) -> Seed:
    """The line of one requirement that points to this."""
    (found,) = seeds(f"text\n- SEED-1 A → B, if so → {target}\n- SEED-x → SI-1\n", KNOWN)
    return found


def test_every_requirement_has_a_test_or_a_reason() -> None:
    known = rules.defined()
    tested = {rule for mark in rules.all_marks() for rule in mark.ids}
    assert rules.seed_faults(known, tested) == []
    assert len(rules.requirements(known)) == 181


@pytest.mark.parametrize(
    "target, found, rules_only",
    [
        ("SI-1", ("SI-1",), True),
        ("SI-1..7, REST-34/35", ("SI-1", "SI-2", "SI-3", "SI-7", "REST-34", "REST-35"), True),
        ("SI-1, 3 (whole path) ⚠", ("SI-1", "SI-3"), True),
        ("SI-8", (), True),
        ("70.1, SI-1", ("SI-1",), False),
        ("`si.proto`", (), False),
        ("SI-1 ff.", ("SI-1",), False),
        ("section 3 of 10", (), False),
        ("(performance)", (), True),
    ],
)
def test_a_line_points_to_rules_that_exist(
    target: str, found: tuple[str, ...], rules_only: bool
) -> None:
    assert only(target) == Seed("SEED-1", found, rules_only)


def test_a_line_is_tied_by_a_mark_of_its_own_or_by_all_its_rules() -> None:
    assert LINE.tied({"SEED-1"})
    assert LINE.tied({"SI-1", "SI-2"})
    assert not LINE.tied({"SI-1"})
    assert LINE.missing({"SI-1"}) == ["SI-2"]


def test_rules_do_not_tie_a_line_that_points_to_more_or_to_none() -> None:
    assert not only("70.1, SI-1").tied({"SI-1"})
    assert not only("(performance)").tied(KNOWN - {"SEED-1"})
    assert only("(performance)").tied({"SEED-1"})


def test_a_line_without_test_or_reason_is_a_fault() -> None:
    assert faults([LINE], [], {"SI-1"}) == [f"{NOT_LISTED} (without a test: SI-2)"]
    assert faults([only("70.1")], [], set()) == [
        f"{NOT_LISTED} (without a test: what is not a rule)"
    ]
    assert faults([LINE], [], {"SI-1", "SI-2"}) == []
    assert faults([LINE], [Entry("SEED-1", ("SI-2",), "not built")], {"SI-1"}) == []


@pytest.mark.parametrize(
    "row, tested, fault",
    [
        ("| SEED-1 | SI-2 | x |", {"SI-1", "SI-2"}, "SEED-1 has a test now: take the entry out"),
        ("| SEED-1 | - | x |", {"SEED-1"}, "SEED-1 has a test now: take the entry out"),
        (
            "| SEED-1 | SI-1, 2 | x |",
            {"SI-1"},
            "SEED-1: SI-1 has a test now: take it out of the entry",
        ),
        ("| SEED-1 | SI-1 | x |", set(), "SEED-1: SI-2 has no test and is not named"),
        (
            "| SEED-1 | SI-1..3 | x |",
            set(),
            "SEED-1: SI-3 is none of those of SEED-1: take it out of the entry",
        ),
        ("| SEED-1 | SI-1, 2 | - |", set(), "SEED-1 has no reason"),
        ("| SEED-1 | SI-1..2 | x |\n| SEED-1 | SI-1, 2 | x |", set(), "SEED-1 is listed twice"),
        (
            "| SEED-1 | SI-1..2 | x |\n| SEED-9 | SI-1 | x |",
            set(),
            "SEED-9 is no line of chapter 00",
        ),
    ],
)
def test_the_list_of_what_is_open_can_only_shrink(row: str, tested: set[str], fault: str) -> None:
    assert faults([LINE], entries(row), tested) == [f"docs/spec/open.md: {fault}"]


def test_the_table_counts_a_requirement_whose_rules_all_have_a_test() -> None:
    known = rules.defined()
    everything = set(known) - {seed.id for seed in rules.requirements(known)}
    overview = rules.table(known, everything, set(), verbose=False)[0].split()
    pointing_beyond = [seed for seed in rules.requirements(known) if not seed.tied(everything)]
    assert overview[1:4] == [str(181 - len(pointing_beyond)), "of", "181"]
    assert 0 < len(pointing_beyond) < 90
    assert rules.table(known, set(), set(), verbose=False)[0].split()[1] == "0"
