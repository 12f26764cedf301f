"""The worked examples and the outcome matrix of chapter 20, section by section."""

from __future__ import annotations

import pytest

from remuda.config.schema import PlacementRuleConfig, QueueConfig
from tests.unit.core.door import CREATING, PROVIDED, Caller, leaf, parent
from tests.unit.core.placing import (
    FORCE,
    NOBODY,
    RECOVERY,
    acl,
    allow,
    made,
    paths,
    place,
    refused,
    rule,
    searching,
    submit,
)

CLOSED = {"submit_acl": NOBODY}
BY_USER = rule("user", create=True)


# -------------------------------------------------------------------------------------- E1

E1_RULES = (
    rule("user", create=True, only=searching(groups="dev*"), above=rule("tag", "namespace")),
    rule(
        "tag",
        "namespace",
        create=True,
        above=rule("fixed", "root.namespaces", only=allow("john")),
    ),
    rule("fixed", "root.default"),
)
E1_QUEUES = (parent("namespaces"), parent("newapp"), leaf("default"))
E1 = [
    ("john", "john", "testing", "root.namespaces.testing"),
    ("sarah", "sarah test_app dev_app", "newapp", "root.newapp.sarah"),
    ("sarah", "dev_app", "other", "root.default"),
    ("bob", "bob", "testapp", "root.default"),
    ("eve", "xdexv", "newapp", "root.newapp.eve"),
]


@pytest.mark.remuda_rule("PLC-21", "PLC-23", "PLC-46", "PLC-51", "PLC-61")
@pytest.mark.parametrize("user, groups, space, queue", E1)
def test_example_1(user: str, groups: str, space: str, queue: str) -> None:
    door = Caller(*E1_QUEUES, placement_rules=E1_RULES)
    found = place(door, user=user, groups=groups.split(), tags={"namespace": space})
    assert found == queue


# -------------------------------------------------------------------------------------- E2


@pytest.mark.remuda_rule("PLC-22", "PLC-23", "PLC-27")
@pytest.mark.parametrize(
    "queue, found",
    [
        ("my_q", "root.dev.my_q"),
        ("root.dev_queue", "root.dev_queue"),
        ("a.b", "root.dev.a_dot_b"),
    ],
)
def test_example_2(queue: str, found: str) -> None:
    rules = (rule("provided", create=True, above=BY_USER),)
    assert place(Caller(leaf("a"), placement_rules=rules), queue, user="dev") == found


# -------------------------------------------------------------------------------------- E3


@pytest.mark.remuda_rule("PLC-20", "PLC-22", "PLC-23", "PLC-28", "PLC-87")
@pytest.mark.parametrize(
    "above, found",
    [
        ("root.production", "root.production.dev"),
        ("production", "root.production.dev"),
        ("", ""),
        ("unknown", ""),
    ],
)
def test_example_3(above: str, found: str) -> None:
    rules = (rule("tag", "namespace", create=True, above=rule("tag", "namespace.parentqueue")),)
    door = Caller(parent("production"), placement_rules=rules)
    tags = {"namespace": "dev"} | ({"namespace.parentqueue": above} if above else {})
    assert place(door, tags=tags) == found if found else refused(door, tags=tags)


# -------------------------------------------------------------------------------------- E4


@pytest.mark.remuda_rule("PLC-58", "PLC-59", "ACL-12")
def test_example_4() -> None:
    door = Caller(
        leaf("production", submit_acl=acl("john bob")),
        root=CLOSED,
        placement_rules=(rule("fixed", "root.production"), BY_USER),
    )
    assert place(door, user="john") == "root.production"
    assert refused(door, user="eve")
    assert paths(door) == ["root", "root.production"]


# -------------------------------------------------------------------------------------- E5


@pytest.mark.remuda_rule("PLC-59", "PLC-63", "PLC-64")
def test_example_5() -> None:
    door = Caller(parent("p", submit_acl=acl("john")), root=CLOSED, placement_rules=(CREATING,))
    assert refused(door, "root.p.x.y", user="eve")
    assert paths(door) == ["root", "root.p"]
    assert made(submit(door, "app", "root.p.x.y", user="john")) == ["root.p.x", "root.p.x.y"]


# -------------------------------------------------------------------------------------- E6


@pytest.mark.remuda_rule("PLC-23", "PLC-25", "PLC-27")
def test_example_6() -> None:
    rules = (rule("user", create=True, above=CREATING),)
    door = Caller(leaf("a"), placement_rules=rules)
    assert place(door, "root.team.x", user="u") == "root.team.x.u"
    assert place(door, "team", user="u") == "root.team.u"
    assert refused(door, "", user="u")
    found = place(door, "root.team.x.u", user="u")
    assert "parent rule returned a leaf queue: root.team.x.u" in found


# -------------------------------------------------------------------------------------- E7

E7_RULES = (PROVIDED, rule("tag", "namespace", create=True))
SPACE = {"namespace": "namespace"}
# Request, user, tags; then the queue without and with a default queue, "" for rejected.
E7 = [
    ("", "any-user", {}, "", "root.default"),
    ("provided", "any-user", {}, "root.provided", "root.provided"),
    ("root.provided", "any-user", {}, "root.provided", "root.provided"),
    ("unknown", "any-user", {}, "", "root.default"),
    ("root.parent", "any-user", {}, "", "root.default"),
    ("root.acldeny", "deny-user", {}, "", "root.default"),
    ("unknown", "any-user", SPACE, "root.namespace", "root.namespace"),
    ("unknown", "deny-user", SPACE, "", "root.default"),
    ("unknown", "any-user", FORCE, RECOVERY, RECOVERY),
    ("root.acldeny", "deny-user", FORCE, RECOVERY, RECOVERY),
    ("unknown", "deny-user", SPACE | FORCE, RECOVERY, RECOVERY),
]


@pytest.mark.remuda_rule("PLC-58", "PLC-59", "PLC-60", "PLC-62", "PLC-71")
@pytest.mark.parametrize("with_default", [False, True])
@pytest.mark.parametrize("request_, user, tags, without, found", E7)
def test_example_7(
    request_: str, user: str, tags: dict[str, str], without: str, found: str, *, with_default: bool
) -> None:
    queues: list[QueueConfig] = [
        leaf("provided", submit_acl=acl("*")),
        leaf("acldeny"),
        parent("parent", submit_acl=acl("*")),
    ]
    if with_default:
        queues.append(leaf("default", submit_acl=acl("*")))
    root = {"submit_acl": acl("any-user")}
    door = Caller(*queues, root=root, placement_rules=E7_RULES)
    expected = found if with_default else without
    if expected:
        assert place(door, request_, user=user, tags=tags) == expected
    else:
        assert refused(door, request_, user=user, tags=tags)


# -------------------------------------------------------------------------------------- E8


def chain(*, tag: bool) -> tuple[PlacementRuleConfig, ...]:
    """The rules of example 8, the outermost creating."""
    outer = rule("fixed", "root.t", create=True)
    return (rule("user", create=True, above=rule("tag", "ns", create=tag, above=outer)),)


@pytest.mark.remuda_rule("PLC-28", "PLC-29", "PLC-64")
def test_example_8() -> None:
    door = Caller(leaf("a"), placement_rules=chain(tag=True))
    queues = made(submit(door, "app", user="u", tags={"ns": "n"}))
    assert queues == ["root.t", "root.t.n", "root.t.n.u"]
    assert door.apps()["app"].queue == "root.t.n.u"
    missing = Caller(leaf("a"), placement_rules=chain(tag=False))
    assert refused(missing, user="u", tags={"ns": "n"})


# ------------------------------------------------------------------------------- E9 and E10


@pytest.mark.remuda_rule("PLC-15", "PLC-58", "PLC-61")
def test_example_9() -> None:
    rules = (PROVIDED, rule("fixed", "root.a"), rule("tag", "t"))
    closed = Caller(leaf("a"), root=CLOSED, placement_rules=rules)
    assert refused(closed, "root.a", tags={"t": "a"})
    assert place(closed, "root.a", tags={"t": "a"} | FORCE) == RECOVERY
    door = Caller(leaf("a"), leaf("b"), root=CLOSED, placement_rules=rules)
    assert refused(door, "root.a", tags={"t": "b"})


@pytest.mark.remuda_rule("PLC-20", "PLC-30", "PLC-56")
def test_example_10() -> None:
    door = Caller(leaf("a"), placement_rules=(rule("tag", "missing", create=True), PROVIDED))
    assert place(door, "root.a") == "root.a"


# ------------------------------------------------------------- outcome matrix (section 11)

FALLBACK = rule("fixed", "root.fallback")
NEXT = "root.fallback"
# What the first rule meets, its rule and request, and the outcome: where remuda goes its own
# way, that of the rule's "Do".
MATRIX = {
    "missing, create false": (PROVIDED, "root.new", NEXT),
    "missing, ancestor denies": (CREATING, "root.closed.new", NEXT),
    "missing, ancestor is a leaf": (CREATING, "root.a.below", NEXT),
    "missing, illegal name": (CREATING, "root.x!", "invalid queue name"),
    "a parent": (PROVIDED, "root.p", NEXT),
    "leaf, access denied": (PROVIDED, "root.closed", NEXT),
    "leaf, draining": (PROVIDED, "root.old", NEXT),
    "the parent rule gives a leaf": (
        rule("user", create=True, above=PROVIDED),
        "root.a",
        "parent rule returned a leaf queue",
    ),
}


@pytest.mark.remuda_rule("PLC-25", "PLC-28", "PLC-57", "PLC-58", "PLC-59", "PLC-61", "D-P7")
@pytest.mark.parametrize("situation", MATRIX)
def test_the_outcome_matrix(situation: str) -> None:
    first, request, outcome = MATRIX[situation]
    everybody = acl("*")
    kept = (
        leaf("a", submit_acl=everybody),
        parent("p", submit_acl=everybody),
        leaf("fallback", submit_acl=everybody),
        parent("closed") if "ancestor" in situation else leaf("closed"),
    )
    rules = (first, FALLBACK)
    old = leaf("old", submit_acl=everybody)
    door = Caller(*kept, old, root=CLOSED, placement_rules=(PROVIDED,))
    assert place(door, "root.old") == "root.old"
    door.reload(*kept, root=CLOSED, placement_rules=rules)
    found = place(door, request)
    assert found == outcome if outcome == NEXT else outcome in found


@pytest.mark.remuda_rule("PLC-5", "PLC-60", "PLC-71", "UGR-3")
def test_the_rest_of_the_outcome_matrix() -> None:
    door = Caller(leaf("a"), placement_rules=(PROVIDED,))
    assert refused(door, "root.new")
    assert place(door, "root.new", tags=FORCE) == RECOVERY
    assert "empty user cannot resolve" in place(door, "root.a", user="")
