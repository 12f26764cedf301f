"""Who may submit to a queue and administer it (chapter 30 section 3)."""

from __future__ import annotations

import pytest

from remuda.config.schema import AccessList, QueueConfig
from remuda.core.messages import queries as q
from tests.unit.core.door import CREATING, Caller, leaf, parent
from tests.unit.core.placing import NOBODY, acl, may, place, refused

CLOSED = {"submit_acl": NOBODY}


def closed(*queues: QueueConfig, **other: object) -> Caller:
    """Root lets nobody in."""
    return Caller(*queues, root={**CLOSED, **other}, placement_rules=(CREATING,))


# -------------------------------------------------------------------------------- one list


@pytest.mark.remuda_rule("ACL-7")
@pytest.mark.parametrize(
    "who, bob, ann",
    [
        (acl("bob"), True, False),
        (acl("ann", "dev"), True, True),
        (acl("", "dev qa"), True, True),
        (acl("x", "y.z"), False, False),
        (acl("*"), True, True),
        (acl(), False, False),
    ],
)
def test_the_worked_examples(who: AccessList, *, bob: bool, ann: bool) -> None:
    # bob is in the group dev, ann in qa.
    door = closed(leaf("a", submit_acl=who))
    assert (may(door, "root.a", "bob", "dev"), may(door, "root.a", "ann", "qa")) == (bob, ann)


@pytest.mark.remuda_rule("ACL-7", "ACL-4")
def test_names_are_case_sensitive_and_users_are_not_groups() -> None:
    door = closed(leaf("a", submit_acl=acl("bob", "dev")))
    assert not may(door, "root.a", "Bob", "Dev")
    assert not may(door, "root.a", "dev", "bob")
    assert may(door, "root.a", "eve", "qa", "dev")


@pytest.mark.remuda_rule("ACL-7")
def test_an_empty_user_is_on_no_list() -> None:
    door = closed(
        leaf("a", submit_acl=AccessList(False, ("", "bob"))), leaf("b", submit_acl=acl("*"))
    )
    assert not may(door, "root.a", "")
    assert may(door, "root.b", "")


# ------------------------------------------------------------------------------ inheritance


@pytest.mark.remuda_rule("ACL-10")
def test_access_above_cannot_be_taken_away_below() -> None:
    door = Caller(parent("p", leaf("x", submit_acl=NOBODY), submit_acl=acl("ann")))
    assert may(door, "root.p.x", "bob")
    assert place(door, "root.p.x", user="bob") == "root.p.x"


@pytest.mark.remuda_rule("ACL-10")
@pytest.mark.parametrize(
    "queue, user, allowed",
    [
        ("root", "top", True),
        ("root.p", "top", True),
        ("root.p.x", "top", True),
        ("root.p.x", "middle", True),
        ("root.p", "middle", True),
        ("root", "middle", False),
        ("root.p.x", "low", True),
        ("root.p", "low", False),
        ("root.q", "middle", False),
    ],
)
def test_access_goes_down_the_tree_only(queue: str, user: str, *, allowed: bool) -> None:
    low = leaf("x", submit_acl=acl("low"))
    door = Caller(
        parent("p", low, submit_acl=acl("middle")), leaf("q"), root={"submit_acl": acl("top")}
    )
    assert may(door, queue, user) is allowed


@pytest.mark.remuda_rule("ACL-10", "ACL-11")
def test_who_administers_may_submit_and_not_the_other_way_round() -> None:
    door = closed(parent("p", leaf("x", submit_acl=acl("bob")), admin_acl=acl("boss", "ops")))
    for user, group in (("boss", "none"), ("eve", "ops")):
        assert may(door, "root.p.x", user, group)
        assert may(door, "root.p.x", user, group, admin=True)
        assert not may(door, "root", user, group, admin=True)
    assert may(door, "root.p.x", "bob")
    assert not may(door, "root.p.x", "bob", admin=True)
    assert place(door, "root.p.x", user="boss") == "root.p.x"


@pytest.mark.remuda_rule("ACL-11")
def test_admin_access_is_that_of_the_queue_or_one_above() -> None:
    door = closed(parent("p", leaf("x", admin_acl=acl("low"))), admin_acl=acl("top"))
    assert may(door, "root.p.x", "top", admin=True)
    assert may(door, "root.p.x", "low", admin=True)
    assert not may(door, "root.p", "low", admin=True)
    assert not may(door, "root.p.x", "eve", admin=True)


@pytest.mark.remuda_rule("ACL-12")
def test_a_dynamic_queue_has_no_lists_of_its_own() -> None:
    door = closed(parent("p", submit_acl=acl("bob")))
    assert place(door, "root.p.d.x", user="bob") == "root.p.d.x"
    assert may(door, "root.p.d.x", "bob")
    assert not may(door, "root.p.d.x", "eve")
    assert refused(door, "root.p.d.x", user="eve")


@pytest.mark.remuda_rule("ACL-12")
def test_without_any_list_nobody_may_submit() -> None:
    door = closed(leaf("a"), parent("p", leaf("x")))
    assert not may(door, "root.a", "ann", "staff")
    assert refused(door, "root.a")
    assert refused(door, "root.p.x")
    assert refused(door, "root.new")


@pytest.mark.remuda_rule("ACL-14")
def test_lists_count_at_submission_only() -> None:
    door = closed(leaf("a", submit_acl=acl("ann")))
    door.node("n1", {"memory": 10})
    assert place(door, "root.a", user="ann") == "root.a"
    (application,) = door.apps()
    door.reload(leaf("a"), root=CLOSED)
    door.ask(application, "k", {"memory": 1}, 2)
    assert [key for key, _ in door.place()] == ["k-0", "k-1"]
    assert refused(door, "root.a", user="ann")


@pytest.mark.remuda_rule("ACL-10", "RLD-21")
def test_changed_lists_count_at_once() -> None:
    door = closed(leaf("a", submit_acl=acl("ann")))
    assert refused(door, "root.a", user="bob")
    door.reload(leaf("a", submit_acl=acl("bob")), root=CLOSED)
    assert place(door, "root.a", user="bob") == "root.a"
    assert refused(door, "root.a", user="ann")


@pytest.mark.remuda_rule("ACL-10", "PLC-59")
def test_a_queue_that_does_not_exist_has_the_access_of_its_nearest_ancestor() -> None:
    door = closed(parent("p", submit_acl=acl("bob")))
    assert may(door, "root.p.new.queue", "bob")
    assert not may(door, "root.new", "bob")
    assert door.scheduler.view(q.AccessQuery("nowhere", "root", "bob")) is None
