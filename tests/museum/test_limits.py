"""The museum of the reference's defects: limits of users and groups, and who is let in."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import LimitConfig, QueueConfig
from remuda.core.messages import effects as e
from tests.unit.config.verdicts import broken, queue, queue_text
from tests.unit.core.door import Caller, groups, leaf, of, parent, partition, refusal, users
from tests.unit.core.placing import FORCE
from tests.unit.core.rules.gang import Gang, amounts

ONE = {"vcore": 1}
TEN = {"vcore": 10}
MANY = 50


def cluster(*queues: QueueConfig, **other: object) -> Caller:
    """One large node and these queues."""
    door = Caller(*queues, **other)  # type: ignore[arg-type]
    door.node("n1", {"vcore": 100})
    return door


def run(door: Caller, app: str, queue: str, count: int, **who: object) -> int:
    """Ask for allocations of one core; how many there are."""
    door.app(app, queue, **who)
    door.ask(app, f"{app}.k", ONE, count)
    return len(door.place())


def nested(*limits: LimitConfig) -> QueueConfig:
    """A leaf below a parent that has these limits."""
    return parent("p", leaf("a"), limits=limits)


def used(door: Caller, group: str) -> Resource:
    """What a group uses."""
    return amounts(door.usage(of_groups=True)[group].queues.used)


@pytest.mark.remuda_rule("LIM-8", "D-U2")
def test_a_limit_holds_on_a_queue_with_a_capital_letter() -> None:
    """The reference keeps the capital in the limit's path, so a limit on Prod never applies.

    In remuda, the case of a queue's name does not matter.
    """
    limits = "limits: [{limit: x, users: [ann], maxresources: {vcore: 2m}}]"
    found = queue(queue_text(limits).replace("name: a", "name: Prod"))
    door = cluster(found)
    assert run(door, "app", "root.Prod", MANY) == 2


@pytest.mark.remuda_rule("LIM-6", "D-U1")
def test_a_partition_without_limits_leaves_the_limits_of_others() -> None:
    """The reference has one store, in which the partition loaded last wipes all other limits.

    remuda has one store for each partition.
    """
    limited = partition(leaf("a", limits=(users("ann", {"vcore": 2}),)))
    door = cluster(partitions=[limited, partition(leaf("a"), name="open")])
    assert run(door, "app", "root.a", MANY) == 2


@pytest.mark.remuda_rule("D-U4")
def test_a_user_who_gets_a_limit_of_their_own_is_limited_at_once() -> None:
    """1.5.1 loses the new limit if the user was under the wildcard before, and sets no limit.

    In remuda, a name beats the wildcard at once.
    """
    door = cluster(nested(users("*", {"vcore": 2})))
    assert run(door, "app", "root.p.a", MANY) == 2
    assert refusal(door.reload(nested(users("ann", {"vcore": 6})))) == ""
    assert len(door.place()) == 4


@pytest.mark.remuda_rule("D-U5")
def test_a_wildcard_that_is_removed_limits_nobody() -> None:
    """Up to 1.9 users keep the old wildcard limit if the queue still names other users.

    remuda clears it.
    """
    bob = users("bob", TEN)
    door = cluster(nested(bob, users("*", {"vcore": 2})))
    assert run(door, "app", "root.p.a", 5) == 2
    assert refusal(door.reload(nested(bob))) == ""
    assert len(door.place()) == 3


@pytest.mark.remuda_rule("D-U6", "LIM-64")
def test_a_group_limit_removed_in_one_queue_keeps_the_sum_of_the_others() -> None:
    """The reference clears the group's usage on all ancestors, also what other queues use.

    remuda takes off what was below that queue.
    """
    both = (groups("staff", TEN),)
    root = {"limits": (groups("staff", {"vcore": 12}),)}
    door = cluster(leaf("a", limits=both), leaf("b", limits=both), root=root)
    assert run(door, "one", "root.a", 3) == 3
    assert run(door, "two", "root.b", 5) == 5
    assert refusal(door.reload(leaf("a"), leaf("b", limits=both), root=root)) == ""
    assert used(door, "staff") == {"vcore": 8}
    assert run(door, "three", "root.a", MANY) == 4


@pytest.mark.remuda_rule("D-U7", "LIM-64")
def test_the_usage_of_a_group_never_becomes_negative() -> None:
    """In the reference releases hit a group that never counted the allocation, so it uses -5.

    In remuda, the usage moves to the new group with the application.
    """
    door = cluster(nested(groups("dev", TEN), groups("ops", TEN)))
    assert run(door, "app", "root.p.a", 5, groups=("dev", "ops")) == 5
    assert refusal(door.reload(nested(groups("ops", TEN)))) == ""
    assert used(door, "ops") == {"vcore": 5}
    door.release("app")
    assert "ops" not in door.usage(of_groups=True) or used(door, "ops") == {}


@pytest.mark.remuda_rule("LIM-46", "D-U3")
def test_a_user_who_never_got_anything_is_not_remembered() -> None:
    """The reference keeps a record of every user it ever checked, and never removes one.

    In remuda, a check makes no record.
    """
    door = cluster(leaf("a", limits=(users("*", ONE),)))
    for number in range(20):
        door.app(f"app-{number}", user=f"user-{number}")
        door.ask(f"app-{number}", "large", TEN)
    assert door.place() == []
    assert door.usage() == {}


@pytest.mark.remuda_rule("LIM-36", "D-U11")
def test_the_last_placeholder_of_a_resuming_gang_is_taken_off_its_user() -> None:
    """1.5.1 forgets it, so the application counts for its user with nothing held.

    remuda takes the application off with its last placeholder.
    """
    gang = Gang(leaf("a", limits=(users("ann", None, 1),)))
    gang.nodes(n1=1)
    gang.submit("app", {"vcore": 2})
    gang.hold("p1", "p2")
    gang.run()
    gang.run(gang.deadline() - gang.now)
    assert gang.state("app") == "Resuming"
    gang.timed_out("p1-0")
    gang.submit("next")
    gang.want("k", app="next", group="")
    assert "new[k-0 n1]" in gang.run()


@pytest.mark.remuda_rule("ACL-6", "D-A1")
@pytest.mark.parametrize("text", ["system:serviceaccount:ns:sa", " my.group"])
def test_a_name_that_can_have_a_limit_can_be_let_in(text: str) -> None:
    """Up to 1.9 system:serviceaccount:ns:sa can have a limit, but access lists drop such names.

    remuda has one pattern for both.
    """
    found = queue(queue_text(f"submitacl: '{text}'")).submit_acl
    assert (*found.users, *found.groups) == (text.strip(),)


@pytest.mark.remuda_rule("CFG-50", "CFG-51", "D-C3")
def test_an_access_list_is_checked_by_the_rules_it_is_read_by() -> None:
    """1.5.1 accepts two blanks when it validates, and refuses the same text when it loads it.

    remuda has one parser, and refuses such a text at once.
    """
    assert broken(queue_text("submitacl: 'ann  staff'")) == ["CFG-50"]


@pytest.mark.remuda_rule("UGR-4", "SI-24", "D-R2")
def test_a_forced_application_without_a_user_is_accepted() -> None:
    """1.5.1 crashes on a forced application without user information.

    remuda runs it for nobody, in the recovery queue.
    """
    door = cluster(leaf("a"))
    effects = door.app("app", "root.none", user="", groups=(), tags=FORCE)
    (answer,) = of(effects, e.ApplicationsAnswered)
    assert answer.accepted == ("app",)
    assert (door.apps()["app"].user, door.apps()["app"].queue) == ("nobody", "root.@recovery@")
