"""Whom a placement rule is for (chapter 20 section 6)."""

from __future__ import annotations

import time

import pytest

from remuda.config.schema import FilterConfig, NameFilter
from tests.unit.core.door import Caller, leaf
from tests.unit.core.placing import allow, place, rule, searching

NEVER = NameFilter()


def passes(only: FilterConfig | None, user: str, *groups: str) -> bool:
    """Whether the only rule, with this filter, places the user's application."""
    door = Caller(leaf("a"), placement_rules=(rule("fixed", "root.a", only=only),))
    found = place(door, user=user, groups=groups)
    assert found == "root.a" or "no placement rule matched" in found
    return found == "root.a"


@pytest.mark.remuda_rule("PLC-44")
def test_without_a_filter_everyone_passes() -> None:
    assert passes(None, "ann")


@pytest.mark.remuda_rule("PLC-45")
@pytest.mark.parametrize("deny", [False, True])
@pytest.mark.parametrize("user", ["ann", "bob"])
def test_without_names_the_type_decides_alone(user: str, *, deny: bool) -> None:
    assert passes(FilterConfig(deny), user, "dev") is not deny


EXAMPLE = [
    ("ann", "", True),
    ("bob", "dev", True),
    ("bob", "qa", False),
    ("Ann", "", False),
]


@pytest.mark.remuda_rule("PLC-44", "PLC-46", "PLC-48")
@pytest.mark.parametrize("user, groups, allowed", EXAMPLE)
def test_the_worked_example(user: str, groups: str, *, allowed: bool) -> None:
    assert passes(allow("ann", "ops dev"), user, *groups.split()) is allowed
    assert passes(allow("ann", "ops dev", deny=True), user, *groups.split()) is not allowed


@pytest.mark.remuda_rule("PLC-46")
@pytest.mark.parametrize("groups, hit", [("x dev", True), ("dev x", True), ("x y", False)])
def test_any_group_of_the_user_may_hit(groups: str, *, hit: bool) -> None:
    assert passes(allow(groups="dev ops"), "ann", *groups.split()) is hit
    assert passes(allow(groups="dev ops", deny=True), "ann", *groups.split()) is not hit


@pytest.mark.remuda_rule("PLC-46")
def test_a_user_without_groups_is_hit_by_name_only() -> None:
    assert not passes(allow(groups="dev"), "dev")
    assert passes(allow(groups="dev", deny=True), "dev")


@pytest.mark.remuda_rule("PLC-47")
@pytest.mark.parametrize(
    "pattern, user, hit",
    [
        ("u*", "bob", True),  # no letter u at all is enough
        ("^dev.*", "developer", True),
        ("^dev.*", "adev", False),
        ("dev.*", "adev", True),
        ("(?i)^DEV", "dev1", True),
        ("^DEV", "dev1", False),
        ("[0-9]$", "user1", True),
        ("[0-9]$", "user1x", False),
        ("a|b", "xbx", True),
        ("^$", "ann", False),
    ],
)
def test_one_expression_is_searched_for_anywhere(pattern: str, user: str, *, hit: bool) -> None:
    assert passes(searching(users=pattern), user) is hit
    assert passes(searching(users=pattern, deny=True), user) is not hit
    assert passes(searching(groups=pattern), "other", "x!", user) is hit


@pytest.mark.remuda_rule("PLC-48")
@pytest.mark.parametrize("user, hit", [("ann", True), ("Ann", False), ("an", False)])
def test_names_of_a_list_are_compared_as_they_are(user: str, *, hit: bool) -> None:
    assert passes(allow("ann bob"), user) is hit


@pytest.mark.remuda_rule("PLC-48")
def test_a_list_that_ended_up_empty_matches_nobody() -> None:
    assert not passes(FilterConfig(users=NEVER), "ann", "dev")
    assert passes(FilterConfig(True, users=NEVER), "ann", "dev")
    assert not passes(FilterConfig(users=NEVER, groups=NEVER), "ann", "dev")


@pytest.mark.remuda_rule("PLC-49")
@pytest.mark.parametrize(
    "user, group, hit",
    [("unix", "g9", True), ("max", "g2", True), ("max", "g3", False)],
)
def test_users_and_groups_are_independent(user: str, group: str, *, hit: bool) -> None:
    mixed = FilterConfig(users=NameFilter(pattern="^u"), groups=NameFilter(("g1", "g2")))
    assert passes(mixed, user, group) is hit


@pytest.mark.remuda_rule("PLC-50", "D-P6")
def test_a_name_that_ends_in_a_dollar_sign_is_a_name() -> None:
    assert passes(allow("user$"), "user$")
    assert not passes(allow("user$"), "abcuser")


@pytest.mark.remuda_rule("PLC-51")
def test_what_looks_like_a_glob_is_found_anywhere() -> None:
    assert passes(searching(groups="dev*"), "eve", "xdexv")
    assert not passes(searching(groups="^dev"), "eve", "xdexv")


@pytest.mark.remuda_rule("PLC-52")
@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "a++", "(?<!x)y", "t[t", "(", "\ud800"])
def test_what_re2_refuses_matches_nobody(pattern: str) -> None:
    assert not passes(searching(users=pattern), "ab")
    assert passes(searching(users=pattern, deny=True), "ab")


@pytest.mark.remuda_rule("PLC-52")
@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$", "(a|a?)+x", "(.*)(.*)(.*)(.*)[^a]$"])
def test_no_expression_takes_long(pattern: str) -> None:
    # A backtracking engine would need 2 ** 1000 steps for such names.
    door = Caller(leaf("a"), placement_rules=(rule("fixed", "root.a", only=searching(pattern)),))
    started = time.process_time()
    place(door, user="a" * 1000)
    assert time.process_time() - started < 1


@pytest.mark.remuda_rule("PLC-46", "PLC-47")
@pytest.mark.parametrize("group", ["", "日本", "a b", "\ud800"])
def test_any_text_may_be_a_group(group: str) -> None:
    assert not passes(searching(groups="^dev$"), "ann", group)
    assert passes(searching(groups="^dev$"), "ann", group, "dev")
