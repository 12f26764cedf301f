"""Placement rules of a file: chapter 10 section 6.4, and chapter 20, section 2."""

from __future__ import annotations

import pytest

from remuda.config.schema import PlacementRuleConfig
from tests.unit.config.verdicts import broken, errors, odd, partition, partition_text

# root with the leaf leaf, the parent users (by its flag), the parent teams with the leaf Red
# (by its children), whose own name is written in capitals.
QUEUES = (
    "queues: [{name: root, submitacl: '*', queues: [{name: leaf}, {name: users, parent: true},"
    " {name: Teams, queues: [{name: Red}]}]}]"
)


def rules(*given: str) -> str:
    return partition_text(f"{QUEUES}, placementrules: [{', '.join(given)}]")


def fixed(value: str, *, create: bool = False, parent: str = "") -> str:
    above = f", parent: {parent}" if parent else ""
    return f"{{name: fixed, value: {value}, create: {str(create).lower()}{above}}}"


def user(parent: str, *, create: bool = False) -> str:
    return f"{{name: user, create: {str(create).lower()}, parent: {parent}}}"


@pytest.mark.remuda_rule("PLC-10", "PLC-12", "PLC-14")
def test_rules_are_kept_in_order_with_their_parents() -> None:
    text = rules(
        "{name: Provided, value: ignored}",
        "{name: USER, create: true, parent: {name: tag, value: NameSpace, parent: "
        "{name: fixed, value: root.Users}}}",
        fixed("Leaf"),
    )
    top = PlacementRuleConfig("fixed", value="root.users")
    tag = PlacementRuleConfig("tag", value="namespace", parent=top)
    assert partition(text).placement_rules == (
        PlacementRuleConfig("provided"),
        PlacementRuleConfig("user", create=True, parent=tag),
        PlacementRuleConfig("fixed", value="leaf"),
    )


@pytest.mark.remuda_rule("CFG-34", "CFG-80")
@pytest.mark.parametrize("name", ["a-b", "9a", '""', "~", "a.b", '"user\\n"', '" user"', "a$"])
def test_a_rule_name_is_an_identifier(name: str) -> None:
    (problem,) = errors(rules("{name: provided}", f"{{name: {name}}}"))
    assert problem.rule == "CFG-80"
    assert "invalid rule name" in problem.message
    assert "no. #1" in problem.message
    assert problem.path == "partitions[0].placementrules[1].name"
    assert broken(rules("{create: true}")) == ["CFG-80"]


@pytest.mark.remuda_rule("CFG-80", "PLC-12", "PLC-36", "D-C9", "D-P3")
@pytest.mark.parametrize("name", ["bogus", "test", "Test", "fixd", "_x"])
def test_an_unknown_rule_is_refused(name: str) -> None:
    (problem,) = errors(rules(f"{{name: {name}}}"))
    assert problem.rule == "PLC-12"
    assert f"unknown rule name specified {name}" in problem.message
    assert "fixed, provided, tag, user" in problem.hint


@pytest.mark.remuda_rule("PLC-12", "D-C9")
@pytest.mark.parametrize("name", ["recovery", "Recovery"])
def test_the_recovery_rule_cannot_be_configured(name: str) -> None:
    (problem,) = errors(rules(f"{{name: {name}}}"))
    assert problem.rule == "PLC-12"
    assert "recovery" in problem.message
    assert "cannot be configured" in problem.message


@pytest.mark.remuda_rule("PLC-14", "D-C9")
@pytest.mark.parametrize(
    "rule, words",
    [
        ("{name: fixed}", "a fixed queue rule must have a queue name set"),
        ("{name: fixed, value: ~}", "a fixed queue rule must have a queue name set"),
        ('{name: Fixed, value: ""}', "a fixed queue rule must have a queue name set"),
        ("{name: tag}", "a tag queue rule must have a tag name set"),
        ("{name: tag, value: }", "a tag queue rule must have a tag name set"),
        ("{name: fixed, value: root.}", "invalid queue name ''"),
        ("{name: fixed, value: a..b}", "invalid queue name ''"),
        ("{name: fixed, value: a b}", "invalid queue name 'a b'"),
        (f"{{name: fixed, value: {'a' * 65}}}", "invalid queue name"),
        ("{name: fixed, value: root.users.a%b, create: true}", "invalid queue name 'a%b'"),
    ],
)
def test_values_of_fixed_and_tag_rules(rule: str, words: str) -> None:
    (problem,) = errors(rules(rule))
    assert problem.rule == "PLC-14"
    assert words in problem.message


@pytest.mark.remuda_rule("PLC-14")
def test_wide_names_may_stand_in_a_fixed_value() -> None:
    assert broken(rules(fixed('"root.users.a:b#c/d@e"', create=True))) == []


@pytest.mark.remuda_rule("CFG-85", "PLC-14")
def test_only_the_outermost_fixed_rule_may_be_qualified() -> None:
    assert broken(rules(fixed("b", create=True, parent=fixed("a", create=True)))) == []
    (problem,) = errors(rules(fixed("root.leaf", parent=fixed("root.users"))))
    assert problem.rule == "CFG-85"
    assert "illegal fully qualified" in problem.message
    assert "'root.leaf'" in problem.message
    assert "no. #0 (fixed->fixed)" in problem.message
    (problem,) = errors(rules(fixed("root.leaf", parent="{name: user}")))
    assert problem.rule == "PLC-14"
    assert "no. #0 (user->fixed)" in problem.message
    assert broken(rules(fixed("root", parent="{name: user}"))) == ["PLC-14"]
    # Not qualified, only similar (D-P2).
    assert broken(rules(fixed("rootbeer", create=True, parent="{name: user}"))) == []


@pytest.mark.remuda_rule("CFG-86")
@pytest.mark.parametrize(
    "rule",
    [
        "{name: user}",
        "{name: provided}",
        "{name: tag, value: nope}",
        user("{name: tag, value: nope}"),
        fixed("nope", parent="{name: user}"),
        fixed("nope", parent="{name: tag, value: x, create: true}"),
    ],
)
def test_what_depends_on_the_application_is_not_followed(rule: str) -> None:
    assert broken(rules(rule)) == []


NOT_LEAF = "which is not a leaf"
LEAF = "which is a leaf"
MISSING = "references non-existing queues"
BELOW_LEAF = "in the hierarchy is a leaf"

# Rule, "" if it is valid, else the words of the reason.
STATIC = [
    (fixed("root.leaf"), ""),
    (fixed("leaf"), ""),
    (fixed("LEAF"), ""),
    (fixed("leaf", create=True), ""),
    (fixed("root.users"), NOT_LEAF),
    (fixed("root.users", create=True), NOT_LEAF),
    (fixed("root"), NOT_LEAF),
    (fixed("root.users.x"), MISSING),
    (fixed("root.users.x", create=True), ""),
    (fixed("users.x.y.z", create=True), ""),
    (fixed("nope"), MISSING),
    (fixed("nope", create=True), ""),
    (fixed("nope.x"), MISSING),
    (fixed("root.leaf.x"), BELOW_LEAF),
    (fixed("root.leaf.x", create=True), BELOW_LEAF),
    (fixed("rootbeer"), MISSING),
    (fixed("rootbeer", create=True), ""),
    # Names compare in lower case, the type follows from the children (D-C5, D-C6).
    (fixed("teams.red"), ""),
    (fixed("Teams.RED"), ""),
    (fixed("teams"), NOT_LEAF),
    (user(fixed("teams")), ""),
    # With a part that depends on the application.
    (user(fixed("users")), ""),
    (user(fixed("users"), create=True), ""),
    (user(fixed("root")), ""),
    (user(fixed("leaf")), LEAF),
    (user(fixed("teams.red"), create=True), LEAF),
    (user(fixed("nope"), create=True), MISSING),
    (user(fixed("nope", create=True), create=True), ""),
    (user(fixed("nope", create=True)), MISSING),
    (user(fixed("leaf.x", create=True), create=True), BELOW_LEAF),
    # Chains of fixed rules; every level's own flag counts (D-C7).
    (fixed("red", parent=fixed("teams")), ""),
    (fixed("x", create=True, parent=fixed("users")), ""),
    (fixed("x", create=True, parent=fixed("new")), MISSING),
    (fixed("x", create=True, parent=fixed("new", create=True)), ""),
    (fixed("x", parent=fixed("new", create=True)), MISSING),
    (fixed("x", create=True, parent=fixed("leaf")), BELOW_LEAF),
]


@pytest.mark.remuda_rule("CFG-85", "CFG-87", "CFG-89", "D-C5", "D-C6", "D-C7", "PLC-32", "D-P2")
@pytest.mark.parametrize("rule, words", STATIC, ids=[rule for rule, _ in STATIC])
def test_static_paths(rule: str, words: str) -> None:
    found = errors(rules(rule))
    assert [problem.rule for problem in found] == (["CFG-87"] if words else [])
    assert all(words in problem.message for problem in found)


@pytest.mark.remuda_rule("CFG-87")
def test_a_path_through_an_inserted_root() -> None:
    text = partition_text("queues: [{name: a}, {name: b}], placementrules: [{}]")
    assert broken(text.replace("{}", fixed("root.a"))) == []
    assert broken(text.replace("{}", fixed("root.c"))) == ["CFG-87"]


@pytest.mark.remuda_rule("CFG-88")
def test_the_reason_names_number_chain_and_path() -> None:
    chain = user(f"{{name: tag, value: t, create: true, parent: {fixed('nope')}}}", create=True)
    (problem,) = errors(rules("{name: provided}", chain))
    assert "placement rule no. #1 (fixed->tag->user) references" in problem.message
    assert "(root.nope)" in problem.message
    assert "create is 'false'" in problem.message
    (problem,) = errors(rules(fixed("root.Leaf.x")))
    assert "last queue (leaf)" in problem.message


@pytest.mark.remuda_rule("CFG-87")
@pytest.mark.parametrize("outermost, valid", [("false", False), ("true", True)])
def test_example_e8(outermost: str, valid: bool) -> None:
    top = "{name: fixed, value: root.t, create: true}"
    tag = f"{{name: tag, value: ns, create: true, parent: {top}}}"
    text = rules(f"{{name: user, create: {outermost}, parent: {tag}}}")
    assert broken(text) == ([] if valid else ["CFG-87"])


@pytest.mark.remuda_rule("CFG-87")
def test_example_e8_with_a_tag_rule_that_makes_nothing() -> None:
    top = "{name: fixed, value: root.t, create: true}"
    tag = f"{{name: tag, value: ns, create: false, parent: {top}}}"
    assert broken(rules(f"{{name: user, create: true, parent: {tag}}}")) == []


@pytest.mark.remuda_rule("CFG-81", "CFG-80", "CFG-82", "CFG-87")
def test_words_of_all_rules_come_first_own_then_parent_then_filter() -> None:
    found = errors(
        rules(
            fixed("nope"),
            "{name: a-b, filter: {type: x}, parent: {name: c-d, filter: {type: y}}}",
        )
    )
    assert [(problem.rule, problem.path.removeprefix("partitions[0].")) for problem in found] == [
        ("CFG-80", "placementrules[1].name"),
        ("CFG-80", "placementrules[1].parent.name"),
        ("CFG-82", "placementrules[1].parent.filter.type"),
        ("CFG-82", "placementrules[1].filter.type"),
        ("CFG-87", "placementrules[0]"),
    ]


@pytest.mark.remuda_rule("CFG-88")
def test_rules_are_odd_in_no_other_way() -> None:
    assert odd(rules("{name: provided, create: true}", fixed("leaf"))) == []
