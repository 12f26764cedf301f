"""Filters of placement rules: chapter 10, CFG-82, CFG-83, CFG-84, and chapter 20 section 6."""

from __future__ import annotations

import pytest

from remuda.config.schema import FilterConfig, NameFilter
from tests.unit.config.verdicts import broken, errors, odd, partition, partition_text, warnings


def text(*filters: str) -> str:
    given = ", ".join(f"{{name: user, create: true, filter: {one}}}" for one in filters)
    root = "{name: root, submitacl: '*'}"
    return partition_text(f"queues: [{root}], placementrules: [{given}]")


def read(given: str) -> FilterConfig | None:
    return partition(text(given)).placement_rules[0].filter


@pytest.mark.remuda_rule("CFG-82", "PLC-44", "PLC-45", "D-P5")
@pytest.mark.parametrize(
    "given, expected",
    [
        ("~", None),
        ("{}", None),
        ("{type: allow}", None),
        ("{type: ALLOW, users: [], groups: ~}", None),
        ("{type: deny}", FilterConfig(deny=True)),
        ("{type: DENY}", FilterConfig(deny=True)),
        ("{type: Deny, users: [a]}", FilterConfig(deny=True, users=NameFilter(names=("a",)))),
        ('{type: "", users: [a]}', FilterConfig(users=NameFilter(names=("a",)))),
        ("{type: Allow, groups: [g]}", FilterConfig(groups=NameFilter(names=("g",)))),
    ],
)
def test_types(given: str, expected: FilterConfig | None) -> None:
    assert read(given) == expected


@pytest.mark.remuda_rule("CFG-82")
@pytest.mark.parametrize("kind", ["bogus", "allowed", '"deny "', "1"])
def test_other_types_are_refused(kind: str) -> None:
    (problem,) = errors(text("{}", f"{{type: {kind}}}"))
    assert problem.rule == "CFG-82"
    assert "invalid rule filter type" in problem.message
    assert "no. #1" in problem.message


@pytest.mark.remuda_rule("CFG-31", "CFG-83", "PLC-47", "PLC-50", "D-P6")
@pytest.mark.parametrize("name", ["a.b", "user$", "a#b", "a/b", "system:serviceaccount:ns:sa"])
def test_a_single_user_name_is_a_name(name: str) -> None:
    assert read(f'{{users: ["{name}"]}}') == FilterConfig(users=NameFilter(names=(name,)))
    assert odd(text(f'{{users: ["{name}"]}}')) == []


@pytest.mark.remuda_rule("CFG-33", "CFG-83", "PLC-47", "PLC-52")
@pytest.mark.parametrize(
    "pattern", ["^dev.*$", "(?i)bob", "a|b", "[ab]c", "x{2}", "a.*b", "^a", "b+", "test.*", "a$$"]
)
@pytest.mark.parametrize("kind", ["users", "groups"])
def test_a_single_expression_is_searched_for(pattern: str, kind: str) -> None:
    given = f"{{{kind}: ['{pattern}']}}"
    found = NameFilter(pattern=pattern)
    expected = FilterConfig(users=found) if kind == "users" else FilterConfig(groups=found)
    assert read(given) == expected


@pytest.mark.remuda_rule("CFG-32", "CFG-83", "PLC-47")
def test_a_dollar_at_the_end_of_a_group_makes_an_expression() -> None:
    assert read("{groups: ['dev$']}") == FilterConfig(groups=NameFilter(pattern="dev$"))


@pytest.mark.remuda_rule("CFG-83", "PLC-52")
@pytest.mark.parametrize(
    "entry",
    [
        *("9a", "*", "t[t", "", "(?=a)b", "(a)\\1", "a++b", "(?<=a)b", "(?!a)b", "(", "a b"),
        *("é", "?a", "x" * 1000 + "*"),
    ],
)
@pytest.mark.parametrize("kind", ["users", "groups"])
def test_what_is_neither_name_nor_expression_is_refused(entry: str, kind: str) -> None:
    (problem,) = errors(text(f"{{{kind}: ['{entry}']}}"))
    assert problem.rule == "CFG-83"
    assert "is not a proper list or regexp" in problem.message
    assert f"filter {kind[:-1]} list" in problem.message
    assert problem.path == f"partitions[0].placementrules[0].filter.{kind}[0]"


@pytest.mark.remuda_rule("CFG-84", "D-C9", "PLC-48")
def test_a_list_of_several_holds_names_only() -> None:
    assert read("{users: [b, a, b], groups: [g, h]}") == FilterConfig(
        users=NameFilter(names=("b", "a")), groups=NameFilter(names=("g", "h"))
    )
    found = errors(text("{users: ['9a', ok, 'b*'], groups: [g, 'x@y']}"))
    assert [problem.rule for problem in found] == ["CFG-84"] * 3
    assert [problem.path.rpartition("filter.")[2] for problem in found] == [
        "users[0]",
        "users[2]",
        "groups[1]",
    ]
    assert "'9a' is no user name" in found[0].message


@pytest.mark.remuda_rule("PLC-49")
def test_users_and_groups_are_independent() -> None:
    assert read("{users: ['^u.*'], groups: [g1, g2]}") == FilterConfig(
        users=NameFilter(pattern="^u.*"), groups=NameFilter(names=("g1", "g2"))
    )


@pytest.mark.remuda_rule("PLC-51")
@pytest.mark.parametrize("pattern", ["dev*", "team-?", "a.b*", "dev*-x"])
def test_what_looks_like_a_file_name_pattern_is_odd(pattern: str) -> None:
    (warning,) = warnings(text(f"{{groups: ['{pattern}']}}"))
    assert warning.rule == "PLC-51"
    assert repr(pattern) in warning.message
    assert warning.path.endswith("filter.groups[0]")


@pytest.mark.remuda_rule("PLC-51")
@pytest.mark.parametrize("pattern", ["^dev*", "dev.*", "dev*$", "(dev)*", "[d]*", "a|b*"])
def test_other_expressions_are_not(pattern: str) -> None:
    assert odd(text(f"{{groups: ['{pattern}']}}")) == []


@pytest.mark.remuda_rule("CFG-83", "CFG-5")
def test_expressions_are_bounded_in_number_and_size() -> None:
    many = [f"{{users: ['^a{number}']}}" for number in range(101)]
    assert broken(text(*many[:100])) == []
    (problem,) = errors(text(*many))
    assert "more than 100 regular expressions" in problem.message
    assert broken(text(*many[:100], many[0])) == []
    (problem,) = errors(text("{users: ['\\pL{900}']}"))
    assert "too large" in problem.message
