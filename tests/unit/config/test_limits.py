"""The limits of one queue, and of the partition: chapter 10, CFG-47 and chapter 10 section 6.2."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig
from tests.unit.config.verdicts import (
    broken,
    errors,
    partition,
    partition_text,
    queue,
    queue_text,
    root_text,
)


def limits(*entries: str, rest: str = "") -> str:
    """Return a configuration whose queue root.a has these limits."""
    return queue_text(f"{rest}limits: [{', '.join(f'{{{entry}}}' for entry in entries)}]")


ONE = "maxapplications: 1"


@pytest.mark.remuda_rule("CFG-52", "CFG-57", "CFG-58", "LIM-1", "LIM-2")
def test_limits_are_kept_in_order_with_amounts_in_base_units() -> None:
    text = limits(
        "limit: first, users: [bob, Ann], maxresources: {memory: 10G, vcore: 500m, gpu: 0}",
        'users: ["*"], groups: [dev, ops], maxapplications: 0x10',
    )
    assert queue(text).limits == (
        LimitConfig(
            users=("bob", "Ann"),
            maximum={"memory": 10_000_000_000, "vcore": 500, "gpu": 0},
            description="first",
        ),
        LimitConfig(users=("*",), groups=("dev", "ops"), max_applications=16),
    )


@pytest.mark.remuda_rule("CFG-52")
@pytest.mark.parametrize("entry", [ONE, f"users: [], groups: [], {ONE}", f"users: ~, {ONE}"])
def test_a_limit_names_a_user_or_a_group(entry: str) -> None:
    (problem,) = errors(limits(f"limit: mine, {entry}"))
    assert problem.rule == "CFG-52"
    assert "empty user and group lists" in problem.message
    assert "'mine'" in problem.message
    assert "root.a" in problem.message


@pytest.mark.remuda_rule("CFG-31", "CFG-53")
@pytest.mark.parametrize(
    "name",
    [
        *("bob", "_x", "system:serviceaccount:ns:sa", "bob$", "a#b", "a/b", "b.o-b_1@x.org", "*"),
        "A",
    ],
)
def test_legal_users(name: str) -> None:
    assert queue(limits(f'users: ["{name}"], {ONE}')).limits[0].users == (name,)


@pytest.mark.remuda_rule("CFG-31", "CFG-53")
@pytest.mark.parametrize("name", ["9a", "", "a b", "a$b", "$", "-a", "**", "a\\n", "é", "a%"])
def test_illegal_users(name: str) -> None:
    (problem,) = errors(limits(f'users: [ok, "{name}"], {ONE}'))
    assert problem.rule == "CFG-53"
    assert "invalid limit user name" in problem.message
    assert "root.a" in problem.message
    assert problem.path == "partitions[0].queues[0].queues[0].limits[0].users[1]"
    assert problem.hint


@pytest.mark.remuda_rule("CFG-32", "CFG-53")
@pytest.mark.parametrize("name", ["dev", "_", "a.b-c:d_1", "D"])
def test_legal_groups(name: str) -> None:
    assert queue(limits(f'groups: ["{name}"], {ONE}')).limits[0].groups == (name,)


@pytest.mark.remuda_rule("CFG-32", "CFG-53")
@pytest.mark.parametrize("name", ["a@b", "a$", "9", "", "a#b", "a/b", "a b", "dev\\n"])
def test_illegal_groups(name: str) -> None:
    (problem,) = errors(limits(f'groups: ["{name}"], {ONE}'))
    assert problem.rule == "CFG-53"
    assert "invalid limit group name" in problem.message


@pytest.mark.remuda_rule("CFG-54")
@pytest.mark.parametrize(
    "kind, entries",
    [
        ("user", ["users: [a, a]"]),
        ("user", ["users: [a]", "users: [b, a]"]),
        ("user", ['users: ["*"]', 'users: ["*"]']),
        ("group", ["groups: [g]", "groups: [g]"]),
        ("group", ['groups: [g, "*"]', 'groups: ["*"]']),
    ],
)
def test_nobody_is_named_twice_in_the_limits_of_a_queue(kind: str, entries: list[str]) -> None:
    (problem,) = errors(limits(*(f"{entry}, {ONE}" for entry in entries)))
    assert problem.rule == "CFG-54"
    assert f"duplicated {kind} name" in problem.message
    assert "first at line 1" in problem.message


@pytest.mark.remuda_rule("CFG-54")
def test_names_differ_in_case_and_users_are_no_groups() -> None:
    assert broken(limits(f"users: [a, A], groups: [a], {ONE}", f"users: [b], {ONE}")) == []
    below = f"limits: [{{users: [a], {ONE}}}]"
    assert broken(root_text(f"{below}, queues: [{{name: q, {below}}}]")) == []


@pytest.mark.remuda_rule("CFG-55")
@pytest.mark.parametrize(
    "kind, entries",
    [
        ("user", ['users: ["*", a]']),
        ("user", ['users: ["*"]', "users: [a]"]),
        ("group", ['groups: [g, "*", h]']),
        ("group", ['groups: [g, "*"]', "groups: [h]"]),
    ],
)
def test_after_the_wildcard_nobody_is_named(kind: str, entries: list[str]) -> None:
    (problem,) = errors(limits(*(f"{entry}, {ONE}" for entry in entries)))
    assert problem.rule == "CFG-55"
    assert f"after wildcard {kind} limit" in problem.message
    assert repr("a" if kind == "user" else "h") in problem.message


@pytest.mark.remuda_rule("CFG-55", "CFG-56")
def test_the_wildcard_may_come_last_for_users_alone_for_groups_not() -> None:
    assert broken(limits(f'users: [a, "*"], {ONE}')) == []
    assert broken(limits(f'users: ["*"], {ONE}')) == []
    assert broken(limits(f'groups: [dev, "*"], {ONE}')) == []
    assert broken(limits(f"groups: [dev], {ONE}", f'groups: ["*"], {ONE}')) == []
    (problem,) = errors(limits(f'groups: ["*"], {ONE}'))
    assert problem.rule == "CFG-56"
    assert "only one group limit" in problem.message
    assert "wildcard" in problem.message
    assert "root.a" in problem.message


@pytest.mark.remuda_rule("CFG-57")
@pytest.mark.parametrize(
    "amounts, words",
    [
        ("memory: 0", "MaxResources should be greater than zero"),
        ("memory: 0, vcore: 0m", "MaxResources should be greater than zero"),
        ("memory: ten", "invalid quantity"),
        ("memory: 10m", "invalid suffix"),
        ("memory: 8Ei", "overflow"),
        ("memory: ~", "invalid quantity"),
    ],
)
@pytest.mark.parametrize("more", ["", f", {ONE}"])
def test_max_resources_parse_and_are_not_all_zero(amounts: str, words: str, more: str) -> None:
    (problem,) = errors(limits(f"limit: mine, users: [a], maxresources: {{{amounts}}}{more}"))
    assert problem.rule == "CFG-57"
    assert words in problem.message
    assert "limit 'mine' of queue root.a" in problem.message


@pytest.mark.remuda_rule("CFG-57")
def test_one_amount_above_zero_is_enough() -> None:
    found = queue(limits("users: [a], maxresources: {memory: 10, gpu: 0}")).limits[0]
    assert found.maximum == {"memory": 10, "gpu": 0}


@pytest.mark.remuda_rule("CFG-58")
@pytest.mark.parametrize(
    "entry", ["users: [a]", "users: [a], maxapplications: 0", "users: [a], maxresources: {}"]
)
def test_a_limit_limits_something(entry: str) -> None:
    (problem,) = errors(limits(f"limit: mine, {entry}"))
    assert problem.rule == "CFG-58"
    assert "invalid resource combination" in problem.message
    assert "'mine'" in problem.message


@pytest.mark.remuda_rule("CFG-59")
def test_applications_stay_within_those_of_the_queue() -> None:
    assert broken(limits("users: [a], maxapplications: 5", rest="maxapplications: 5, ")) == []
    assert broken(limits("users: [a], maxapplications: 5")) == []
    (problem,) = errors(limits("users: [a], maxapplications: 6", rest="maxapplications: 5, "))
    assert problem.rule == "CFG-59"
    assert "invalid MaxApplications settings" in problem.message
    assert "6 exceeds 5" in problem.message
    assert "root.a" in problem.message


@pytest.mark.remuda_rule("CFG-60")
def test_resources_stay_within_the_max_of_the_queue() -> None:
    def text(amount: int, key: str = "memory") -> str:
        own = "resources: {max: {memory: 10}}, "
        return limits(f"limit: l, users: [a], maxresources: {{{key}: {amount}}}", rest=own)

    assert broken(text(10)) == []
    assert broken(text(11, "vcore")) == []
    (problem,) = errors(text(11))
    assert problem.rule == "CFG-60"
    assert "invalid MaxResources settings" in problem.message
    assert "map[memory:11] exceeds map[memory:10]" in problem.message
    assert "limit 'l' of queue root.a" in problem.message


@pytest.mark.remuda_rule("CFG-60")
def test_the_max_of_queues_above_is_not_looked_at() -> None:
    limit = "limits: [{users: [a], maxresources: {memory: 11}}]"
    above = "name: p, resources: {max: {memory: 10}}"
    assert broken(root_text(f"queues: [{{{above}, queues: [{{name: c, {limit}}}]}}]")) == []


@pytest.mark.remuda_rule("CFG-52", "CFG-53", "CFG-57", "CFG-59")
def test_faults_of_one_limit_come_in_the_order_of_the_checks() -> None:
    text = limits(
        "groups: ['a@b'], users: ['9'], maxapplications: 9, maxresources: {memory: x}",
        "maxapplications: 1",
        rest="maxapplications: 5, ",
    )
    found = errors(text)
    assert [problem.rule for problem in found] == [
        "CFG-53",
        "CFG-53",
        "CFG-57",
        "CFG-59",
        "CFG-52",
    ]
    assert "user name '9'" in found[0].message


# ------------------------------------------------------------------------- limits of a partition


def both(above: str, root: str) -> str:
    return partition_text(f"{above}queues: [{{name: root, {root}submitacl: '*'}}]")


BOB = "limits: [{limit: x, users: [bob], maxapplications: 1}], "


@pytest.mark.remuda_rule("CFG-47", "LIM-6")
def test_limits_of_the_partition_are_those_of_root() -> None:
    expected = (LimitConfig(users=("bob",), max_applications=1, description="x"),)
    assert partition(both(BOB, "")).root.limits == expected
    assert partition(both("", BOB)).root.limits == expected
    assert partition(both(BOB, BOB)).root.limits == expected
    assert partition(both(BOB, "limits: [], ")).root.limits == expected
    assert partition(both("", "")).root.limits == ()
    inserted = partition_text(f"{BOB}queues: [{{name: a}}]")
    assert partition(inserted).root.limits == expected


@pytest.mark.remuda_rule("CFG-47")
@pytest.mark.parametrize(
    "other",
    [
        "limits: [{limit: y, users: [bob], maxapplications: 1}], ",
        "limits: [{limit: x, users: [bob], maxapplications: 2}], ",
        "limits: [{limit: x, users: [bob, ann], maxapplications: 1}], ",
        "limits: [{limit: x, groups: [bob], maxapplications: 1}], ",
        "limits: [{limit: x, users: [bob], maxapplications: 1, maxresources: {memory: 1}}], ",
    ],
)
def test_limits_of_partition_and_root_must_not_differ(other: str) -> None:
    (problem,) = errors(both(BOB, other))
    assert problem.rule == "CFG-47"
    assert "not equivalent" in problem.message
    assert "partition default" in problem.message


@pytest.mark.remuda_rule("CFG-47")
def test_the_order_of_limits_and_the_text_of_amounts_count() -> None:
    first, second = "{users: [a], maxapplications: 1}", "{users: [b], maxapplications: 1}"
    assert broken(both(f"limits: [{first}, {second}], ", f"limits: [{second}, {first}], ")) == [
        "CFG-47"
    ]
    kilo = "limits: [{users: [a], maxresources: {memory: 1k}}], "
    assert broken(both(kilo, kilo.replace("1k", "1000"))) == ["CFG-47"]


@pytest.mark.remuda_rule("CFG-47", "CFG-53")
def test_a_fault_in_the_limits_of_the_partition_is_told_there_and_once() -> None:
    (problem,) = errors(both("limits: [{users: ['9'], maxapplications: 1}], ", ""))
    assert problem.rule == "CFG-53"
    assert problem.path == "partitions[0].limits[0].users[0]"
