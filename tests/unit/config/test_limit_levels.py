"""Limits through the levels of the queue tree: chapter 10 section 6.6, and LIM-72."""

from __future__ import annotations

import pytest

from tests.unit.config.verdicts import broken, errors, odd, partition_text, root_text, warnings


def entry(*, users: str = "", groups: str = "", memory: object = "", apps: object = "") -> str:
    """Return one limit."""
    given = [f"users: [{users}]"] if users else []
    given += [f"groups: [{groups}]"] if groups else []
    given += [f"maxresources: {{memory: {memory}}}"] if memory != "" else []
    given += [f"maxapplications: {apps}"] if apps != "" else []
    return f"{{{', '.join(given)}}}"


def path(*levels: str) -> str:
    """Return root, root.q1, root.q1.q2 and so on, each level with its limits."""
    text = ""
    for number, limits in reversed(list(enumerate(levels))):
        name = "root, submitacl: '*'" if number == 0 else f"q{number}"
        below = f", queues: [{text}]" if text else ""
        text = f"{{name: {name}, limits: [{limits}]{below}}}"
    return partition_text(f"queues: [{text}]")


@pytest.mark.remuda_rule("CFG-95")
def test_a_named_user_gets_no_more_than_an_ancestor_gives() -> None:
    assert broken(path(entry(users="bob", memory=10), entry(users="bob", memory=5))) == []
    assert broken(path(entry(users="bob", memory=10), entry(users="ann", memory=50))) == []
    (problem,) = errors(path(entry(users="bob", memory=10), entry(users="bob", memory=11)))
    assert problem.rule == "CFG-95"
    assert "user 'bob'" in problem.message
    assert "is greater than immediate or ancestor parent" in problem.message
    assert "map[memory:11]" in problem.message
    assert "map[memory:10]" in problem.message
    assert "root.q1" in problem.message
    assert problem.path.endswith("queues[0].limits[0].users[0]")


@pytest.mark.remuda_rule("CFG-95")
def test_levels_between_keep_what_is_above() -> None:
    top = entry(users="bob", memory=10)
    assert broken(path(top, "", "", entry(users="bob", memory=11))) == ["CFG-95"]
    # A level that names others only hides nothing.
    between = entry(users="ann", memory=99)
    assert broken(path(top, between, entry(users="bob", memory=11))) == ["CFG-95"]
    # The smallest on the way counts, per type.
    lower = entry(users="bob", memory=5)
    assert broken(path(top, lower, entry(users="bob", memory=7))) == ["CFG-95"]
    other = "{users: [bob], maxresources: {vcore: 1}}"
    assert broken(path(top, other, entry(users="bob", memory=11))) == ["CFG-95"]


@pytest.mark.remuda_rule("CFG-96")
def test_a_user_not_named_above_is_held_against_the_wildcard() -> None:
    wildcard = entry(users='"*"', memory=10)
    assert broken(path(wildcard, entry(users="bob", memory=5))) == []
    (problem,) = errors(path(wildcard, entry(users="bob", memory=11)))
    assert problem.rule == "CFG-96"
    assert "is greater than wildcard" in problem.message
    assert "user 'bob'" in problem.message
    # What the user gets there is all that deeper levels see.
    types = "{users: [bob], maxresources: {vcore: 1}}"
    assert broken(path(wildcard, types, entry(users="bob", memory=50))) == []
    # Named above: the wildcard beside the name does not count.
    both = f"{entry(users='bob', memory=20)}, {wildcard}"
    assert broken(path(both, entry(users="bob", memory=15))) == []


@pytest.mark.remuda_rule("CFG-97")
def test_a_wildcard_is_compared_with_a_wildcard_only() -> None:
    assert broken(path(entry(users="bob", apps=10), entry(users='"*"', apps=50))) == []
    assert broken(path(entry(users="bob", memory=10), entry(users='"*"', memory=50))) == []
    (problem,) = errors(path(entry(users='"*"', memory=10), entry(users='"*"', memory=50)))
    assert problem.rule == "CFG-97"
    assert "user '*'" in problem.message


@pytest.mark.remuda_rule("CFG-98")
@pytest.mark.parametrize(
    "above, below, valid",
    [
        ({"users": "bob", "apps": 10}, {"users": "bob", "apps": 3}, True),
        ({"users": "bob", "apps": 10}, {"users": "bob", "apps": 10}, True),
        ({"users": "bob", "apps": 10}, {"users": "bob", "apps": 11}, False),
        ({"users": "bob", "apps": 10}, {"users": "bob", "memory": 1}, False),
        ({"users": "bob", "memory": 10}, {"users": "bob", "apps": 7}, True),
        ({"users": '"*"', "apps": 10}, {"users": '"*"', "apps": 50}, False),
        ({"users": '"*"', "apps": 10}, {"users": "bob", "apps": 11}, False),
        ({"users": '"*"', "apps": 10}, {"users": "bob", "memory": 1}, False),
        ({"users": '"*"', "apps": 10}, {"users": "bob", "apps": 10}, True),
    ],
)
def test_applications_below(
    above: dict[str, object], below: dict[str, object], valid: bool
) -> None:
    text = path(entry(**above), entry(**below))  # type: ignore[arg-type]
    assert broken(text) == ([] if valid else ["CFG-98"])


@pytest.mark.remuda_rule("CFG-98")
def test_the_reason_names_both_numbers() -> None:
    (problem,) = errors(path(entry(users="bob", apps=10), entry(users="bob", apps=11)))
    assert "user 'bob' max applications 11 of queue root.q1" in problem.message
    assert "is greater than immediate or ancestor parent max applications 10" in problem.message
    (problem,) = errors(path(entry(users='"*"', apps=10), entry(users="bob", memory=1)))
    assert "is greater than wildcard max applications 10" in problem.message


@pytest.mark.remuda_rule("CFG-99")
@pytest.mark.parametrize(
    "above, below, words",
    [
        (("dev", 10), ("dev", 11), "immediate or ancestor parent"),
        (('x, "*"', 10), ("dev", 11), "wildcard"),
        (('dev, "*"', 10), ('ops, "*"', 11), "immediate or ancestor parent"),
    ],
)
def test_groups_follow_the_same_rules(
    above: tuple[str, int], below: tuple[str, int], words: str
) -> None:
    text = path(entry(groups=above[0], memory=above[1]), entry(groups=below[0], memory=below[1]))
    found = errors(text)
    assert {problem.rule for problem in found} == {"CFG-99"}
    assert any(f"is greater than {words}" in problem.message for problem in found)
    assert all("group '" in problem.message for problem in found)
    lower = path(entry(groups=above[0], memory=above[1]), entry(groups=below[0], memory=9))
    assert broken(lower) == []
    text = path(entry(groups="dev", apps=above[1]), entry(groups="dev", apps=below[1]))
    assert broken(text) == ["CFG-99"]


@pytest.mark.remuda_rule("CFG-95", "CFG-99")
def test_users_and_groups_never_mix() -> None:
    assert broken(path(entry(users="x", memory=10), entry(groups="x", memory=11))) == []


@pytest.mark.remuda_rule("CFG-100", "D-C8")
def test_a_deeper_queue_named_root_resets_nothing() -> None:
    bob, less = entry(users="bob", memory=10), entry(users="bob", memory=1)
    queues = (
        f"{{name: root, limits: [{less}]}},"
        f" {{name: a, limits: [{entry(users='bob', memory=5)}]}},"
        f" {{name: b, limits: [{entry(users='bob', memory=11)}]}}"
    )
    (problem,) = errors(root_text(f"limits: [{bob}], queues: [{queues}]"))
    assert problem.rule == "CFG-95"
    assert "of queue root.b" in problem.message


@pytest.mark.remuda_rule("CFG-95")
def test_siblings_do_not_see_each_other() -> None:
    small, large = entry(users="bob", memory=1), entry(users="bob", memory=9)
    queues = f"{{name: a, limits: [{small}]}}, {{name: b, limits: [{large}]}}"
    assert broken(root_text(f"queues: [{queues}]")) == []


@pytest.mark.remuda_rule("CFG-60", "LIM-72")
def test_a_limit_above_the_max_of_the_queues_above_is_odd() -> None:
    def text(amount: int) -> str:
        limit = f"limits: [{entry(users='bob', memory=amount)}]"
        above = "name: p, resources: {max: {memory: 10}}"
        return root_text(f"queues: [{{{above}, queues: [{{name: c, {limit}}}]}}]")

    assert odd(text(10)) == []
    (warning,) = warnings(text(11))
    assert warning.rule == "LIM-72"
    assert "map[memory:11]" in warning.message
    assert "map[memory:10]" in warning.message
    assert "root.p.c" in warning.message
