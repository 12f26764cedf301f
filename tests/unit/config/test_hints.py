"""Every problem says what to do about it, and one mistake is one problem."""

from __future__ import annotations

import pytest

from remuda.base.errors import Problem
from tests.unit.config.verdicts import (
    broken,
    errors,
    odd,
    partition_text,
    queue_text,
    root_text,
    warnings,
)


def only(text: str) -> Problem:
    (problem,) = errors(text)
    return problem


# ------------------------------------------------------------------------------------------ hints


@pytest.mark.remuda_rule("CFG-5", "CFG-11", "CFG-12", "CFG-13")
@pytest.mark.parametrize(
    "text, rule, hint",
    [
        ("[a]", "CFG-12", "begin with partitions:"),
        ("hello", "CFG-12", "begin with partitions:"),
        (queue_text("limits: [{users: bob, maxapplications: 1}]"), "CFG-13", "write [bob], or"),
        (root_text("queues: {name: a}"), "CFG-13", "write - before each entry"),
        (root_text("queues: [a]"), "CFG-13", "write keys and values; the keys are adminacl,"),
        (root_text("queues: [{name: [a]}]"), "CFG-13", "write a single text"),
        (queue_text("resources: 5"), "CFG-13", "write keys and values"),
        (queue_text("properties: {[a]: b}"), "CFG-13", "write one word"),
        (queue_text("properties: {<<: a}"), "CFG-11", "the anchor of a mapping"),
        (queue_text("submitacl: *"), "CFG-5", 'write "*" in quotes'),
        ("partitions:\n- queues:\n  - submitacl: *\n", "CFG-5", 'write "*" in quotes'),
        ("partitions:\n\t- name: a", "CFG-5", "write blanks instead of tabs"),
        (queue_text("submitacl: @a"), "CFG-5", "put a text that begins with @ in quotes"),
        (queue_text("submitacl: *a"), "CFG-5", "or the text in quotes"),
        (queue_text("parent: !!bool true"), "CFG-5", "remove it"),
        ("a: b: c", "CFG-5", "in quotes, or begin a new line"),
        ("a: [b", "CFG-5", "close brackets"),
        ("[" * 200, "CFG-5", "put it further up"),
        ("#" * 10_000_001, "CFG-5", "shorten it"),
        ("%TAG !a! b\n" * 20, "CFG-5", "remove them"),
    ],
)
def test_what_cannot_be_read_comes_with_what_to_do(text: str, rule: str, hint: str) -> None:
    problem = only(text)
    assert problem.rule == rule
    assert hint in problem.hint


@pytest.mark.remuda_rule("CFG-12")
def test_a_config_map_of_a_cluster_is_one_problem_that_says_what_to_pass() -> None:
    text = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: yunikorn-configs}
data:
  queues.yaml: |
    partitions: []
"""
    problem = only(text)
    assert problem.rule == "CFG-12"
    assert "Kubernetes config map" in problem.message
    assert "queues.yaml" in problem.hint


@pytest.mark.remuda_rule("CFG-5")
def test_a_hint_that_shows_text_of_the_file_stays_on_one_line() -> None:
    problem = only(queue_text('limits: [{users: "a\\n\\0", maxapplications: 1}]'))
    assert problem.hint.startswith("write [a  ], or")


# ---------------------------------------------------------------------------- one mistake, one told


@pytest.mark.remuda_rule("CFG-13", "CFG-52", "CFG-58")
@pytest.mark.parametrize(
    "limit, rules",
    [
        ("{users: bob, maxapplications: 1}", ["CFG-13"]),
        ("{user: [bob], maxapplications: 1}", ["CFG-13"]),
        ("{users: [[bob]], maxapplications: 1}", ["CFG-13"]),
        ("{groups: [[bob], '*'], maxapplications: 1}", ["CFG-13"]),
        ("{users: [bob], maxapplications: '1'}", ["CFG-16"]),
        ("{users: [bob], maxresources: [memory]}", ["CFG-13"]),
        ("{users: [bob], maxresources: {memory: [1]}}", ["CFG-13"]),
        ("{users: bob}", ["CFG-13", "CFG-58"]),
    ],
)
def test_what_could_not_be_read_in_a_limit_is_not_missing_too(limit: str, rules: list[str]) -> None:
    assert broken(queue_text(f"limits: [{limit}]")) == rules


@pytest.mark.remuda_rule("CFG-70")
def test_an_amount_that_is_no_text_is_told_once() -> None:
    assert broken(queue_text("resources: {max: {memory: [1]}}")) == ["CFG-13"]


@pytest.mark.remuda_rule("CFG-61")
@pytest.mark.parametrize("queue", ["{name: [a]}", "{Name: a}"])
def test_a_name_that_could_not_be_read_is_not_illegal_too(queue: str) -> None:
    assert broken(root_text(f"queues: [{queue}]")) == ["CFG-13"]


@pytest.mark.remuda_rule("CFG-41")
def test_queues_under_a_wrong_key_are_not_missing_too() -> None:
    assert broken("partitions: [{name: a, queue: [{name: root}]}]") == ["CFG-13"]


@pytest.mark.remuda_rule("CFG-92")
def test_a_number_that_could_not_be_read_is_not_too_large_too() -> None:
    children = "queues: [{name: a, maxapplications: '1'}]"
    assert broken(root_text(f"maxapplications: 2, {children}")) == ["CFG-16"]


@pytest.mark.remuda_rule("CFG-98")
def test_a_limit_that_could_not_be_read_is_not_compared_with_those_above() -> None:
    above = "limits: [{users: [a], maxapplications: 2}]"
    below = "queues: [{name: q, limits: [{users: [a], maxapplications: '1'}]}]"
    assert broken(root_text(f"{above}, {below}")) == ["CFG-16"]


@pytest.mark.remuda_rule("CFG-80", "CFG-83", "CFG-87", "PLC-14")
@pytest.mark.parametrize(
    "rule, broken_rule",
    [
        ("{name: [user]}", "CFG-13"),
        ("{name: fixed, value: [a]}", "CFG-13"),
        ("{name: fixed, value: a, create: 'true'}", "CFG-15"),
        ("{name: user, filter: {users: [[a]]}}", "CFG-13"),
        ("{name: user, filter: {users: [a, [b]]}}", "CFG-13"),
    ],
)
def test_what_could_not_be_read_in_a_rule_is_told_once(rule: str, broken_rule: str) -> None:
    assert broken(partition_text(f"queues: [], placementrules: [{rule}]")) == [broken_rule]


@pytest.mark.remuda_rule("CFG-87")
def test_rules_are_not_led_through_queues_that_could_not_be_read() -> None:
    rules = "placementrules: [{name: fixed, value: root.a}]"
    assert broken(partition_text(f"queues: [{{name: root, queues: {{name: a}}}}], {rules}")) == [
        "CFG-13"
    ]


@pytest.mark.remuda_rule("ACL-12")
@pytest.mark.parametrize("given", ["submitacl: [ann]", "submitacl: a b c", "submitAcl: ann"])
def test_an_access_list_that_could_not_be_read_is_not_missing_too(given: str) -> None:
    (problem,) = errors(partition_text(f"queues: [{{name: root, {given}}}]"))
    assert problem.severity == "error"


@pytest.mark.remuda_rule("CFG-14")
def test_a_key_given_twice_under_an_anchor_is_told_once() -> None:
    text = """\
partitions:
  - name: a
    queues:
      - {name: a, properties: &a {x: y, x: z}}
      - {name: b, properties: *a}
      - {name: c, properties: *a}
"""
    assert (only(text).rule, only(text).line) == ("CFG-14", 4)


# --------------------------------------------------------------------------------- access lists


@pytest.mark.remuda_rule("ACL-1")
@pytest.mark.parametrize("acl", ["ann, bob", "ann, bob,carl", "ann ,bob", "ann,carl, bob"])
def test_a_blank_next_to_a_comma_is_told_for_groups_stand_behind_it(acl: str) -> None:
    (problem,) = warnings(queue_text(f'submitacl: "{acl}"'))
    assert problem.rule == "ACL-1"
    assert "bob" in problem.message
    assert "are groups in the ACL of queue root.a" in problem.message


@pytest.mark.remuda_rule("ACL-1")
@pytest.mark.parametrize("acl", ["ann bob", "ann,bob carl", " bob", "ann,", "ann, ", "ann,bob "])
def test_lists_without_a_blank_next_to_a_comma_are_fine(acl: str) -> None:
    assert odd(queue_text(f'submitacl: "{acl}"')) == []
