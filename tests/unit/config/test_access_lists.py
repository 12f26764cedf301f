"""Access lists as texts: chapter 10, CFG-50 and CFG-51, and chapter 30, section 3."""

from __future__ import annotations

import pytest

from remuda.config.load import check_configuration
from remuda.config.schema import AccessList
from tests.unit.config.verdicts import errors, partition_text, queue_text, warnings

NOBODY = AccessList()
EVERYBODY = AccessList(everybody=True)

HALF_OPEN = "{name: p, queues: [{name: a, submitacl: x}, {name: b}]}"


def read(text: str, key: str = "submitacl") -> AccessList:
    """Return what a list means, which must be valid."""
    verdict = check_configuration(_text(text, key))
    assert verdict.configuration is not None, verdict.problems
    found = verdict.configuration.partitions[0].root.queues[0]
    return found.submit_acl if key == "submitacl" else found.admin_acl


def _text(text: str, key: str = "submitacl") -> str:
    return queue_text(f'{key}: "{text}"')


@pytest.mark.remuda_rule("ACL-1", "ACL-3", "ACL-4", "CFG-50", "CFG-51")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("", NOBODY),
        (" ", NOBODY),
        ("u", AccessList(users=("u",))),
        ("u,u2", AccessList(users=("u", "u2"))),
        ("u ", AccessList(users=("u",))),
        ("u1,u2 ", AccessList(users=("u1", "u2"))),
        ("u g", AccessList(users=("u",), groups=("g",))),
        ("u1,u2 g1", AccessList(users=("u1", "u2"), groups=("g1",))),
        (" g", AccessList(groups=("g",))),
        (" dev,qa", AccessList(groups=("dev", "qa"))),
        ("*", EVERYBODY),
        ("* ", EVERYBODY),
        (" *", EVERYBODY),
        ("* g", EVERYBODY),
        ("* g1,g2", EVERYBODY),
        ("u *", EVERYBODY),
        ("u,,u2,", AccessList(users=("u", "u2"))),
        ("b,a,b,a d,c,d", AccessList(users=("a", "b"), groups=("c", "d"))),
        ("Bob,bob", AccessList(users=("Bob", "bob"))),
    ],
)
@pytest.mark.parametrize("key", ["submitacl", "adminacl"])
def test_what_a_text_means(text: str, expected: AccessList, key: str) -> None:
    assert read(text, key) == expected


@pytest.mark.remuda_rule("ACL-2", "CFG-50", "CFG-51", "D-C3")
@pytest.mark.parametrize("text", ["  ", "a  b", " a b ", "a b c", "a\\tb\\tc", " a b", "   *  x"])
@pytest.mark.parametrize("key", ["submitacl", "adminacl"])
def test_more_than_two_parts_are_refused(text: str, key: str) -> None:
    (problem,) = errors(_text(text, key))
    assert problem.rule == "CFG-50"
    assert "multiple spaces" in problem.message
    assert "ACL" in problem.message
    assert "root.a" in problem.message
    assert problem.path == f"partitions[0].queues[0].queues[0].{key}"
    assert problem.hint


@pytest.mark.remuda_rule("CFG-50")
def test_the_reason_names_the_text() -> None:
    (problem,) = errors(_text("a b c"))
    assert "'a b c'" in problem.message


@pytest.mark.remuda_rule("ACL-3")
def test_a_wildcard_among_other_names_is_dropped() -> None:
    assert read("bob,*") == AccessList(users=("bob",))
    (warning,) = warnings(_text("bob,*"))
    assert (warning.rule, warning.line) == ("ACL-3", 1)


@pytest.mark.remuda_rule("ACL-5", "ACL-6", "D-A1")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("system:serviceaccount:ns:sa", AccessList(users=("system:serviceaccount:ns:sa",))),
        ("a#b,c/d,e$", AccessList(users=("a#b", "c/d", "e$"))),
        ("x y.z", AccessList(users=("x",), groups=("y.z",))),
        ("x my.group:a", AccessList(users=("x",), groups=("my.group:a",))),
    ],
)
def test_names_are_those_of_limits(text: str, expected: AccessList) -> None:
    assert read(text) == expected
    assert warnings(_text(text)) == []


@pytest.mark.remuda_rule("ACL-5", "ACL-6")
@pytest.mark.parametrize(
    "text, expected, name",
    [
        ("9a,bob", AccessList(users=("bob",)), "9a"),
        ("9a", NOBODY, "9a"),
        ("bob g@x,h", AccessList(users=("bob",), groups=("h",)), "g@x"),
        ("bob g$", AccessList(users=("bob",)), "g$"),
        ("a\\tb", NOBODY, "a\\tb"),
    ],
)
def test_illegal_names_are_dropped_and_told(text: str, expected: AccessList, name: str) -> None:
    assert read(text) == expected
    found = [warning for warning in warnings(_text(text)) if warning.rule == "ACL-5"]
    assert len(found) == 1
    assert repr(name.replace("\\t", "\t")) in found[0].message


@pytest.mark.remuda_rule("ACL-10", "ACL-12")
@pytest.mark.parametrize(
    "queues, closed",
    [
        ("{name: root}", ["root"]),
        ("{name: root, queues: [{name: a}, {name: b}]}", ["root"]),
        ("{name: root, submitacl: '*', queues: [{name: a}]}", []),
        ("{name: root, adminacl: bob, queues: [{name: a}]}", []),
        ("{name: root, queues: [{name: a, submitacl: bob}, {name: b}]}", ["root.b"]),
        ("{name: root, queues: [{name: a, submitacl: ' '}]}", ["root"]),
        (
            f"{{name: root, queues: [{HALF_OPEN}, {{name: q, queues: [{{name: c}}]}}]}}",
            ["root.p.b", "root.q"],
        ),
        ("{name: a}, {name: b}", ["root"]),
    ],
)
def test_queues_to_which_nobody_can_submit_are_odd(queues: str, closed: list[str]) -> None:
    found = warnings(partition_text(f"queues: [{queues}]"))
    assert {warning.rule for warning in found} <= {"ACL-12"}
    named = [warning.message.split("queue ")[1].split()[0].rstrip(":") for warning in found]
    assert sorted(named) == closed


@pytest.mark.remuda_rule("CFG-5")
def test_all_lists_together_hold_a_bounded_number_of_names() -> None:
    names = ",".join(f"u{number}" for number in range(60_000))
    text = f"queues: [{{name: a, submitacl: '{names}'}}, {{name: b, submitacl: '{names}'}}]"
    (problem,) = errors(partition_text(text))
    assert problem.message == "more than 100000 names in access lists"
    assert problem.path == "partitions[0].queues[1].submitacl"
