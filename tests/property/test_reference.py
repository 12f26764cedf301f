"""The reference itself gives what the worked examples of the specification give.

An oracle has to be right before anything is compared with it. The examples are E1 to E10 of
chapter 20, X1 to X9 of chapter 30, and the walk-throughs of chapters 10 and 20.
"""

from __future__ import annotations

from typing import Any

import pytest

from remuda.config.schema import (
    AccessList,
    Configuration,
    FilterConfig,
    NameFilter,
    PlacementRuleConfig,
    TemplateConfig,
)
from remuda.core.messages import commands as c
from tests.reference import limits
from tests.reference.arithmetic import Limit
from tests.reference.model import SECOND, Reference
from tests.reference.placement import Applicant, RuleError, matches, passes, place, run
from tests.reference.queues import configure
from tests.reference.state import Application, Partition
from tests.unit.core.door import CREATING, EVERYBODY, PROVIDED, groups, leaf, parent, users
from tests.unit.core.door import partition as config

Rule = PlacementRuleConfig
NOBODY = AccessList()
FORCE = {"application.create.force": "true"}


def memory(amount: int) -> dict[str, int]:
    """So much memory."""
    return {"memory": amount}


def tree(*queues: Any, rules: tuple[Rule, ...] = (PROVIDED,), **root: Any) -> Partition:
    """The partition of a configuration."""
    partition = Partition("rm", "default")
    configure(partition, config(*queues, placement_rules=rules, root=root))
    return partition


def where(partition: Partition, user: str, asked: str = "", **more: Any) -> str | None:
    """The queue of an application of a user."""
    tags = {name.replace("_", "."): value for name, value in more.get("tags", {}).items()}
    return place(partition, Applicant(user, more.get("groups", ()), asked, tags))


# --------------------------------------------------------------------------------- placement


def example_1() -> Partition:
    """E1."""
    devs = FilterConfig(groups=NameFilter(pattern="dev*"))
    john = FilterConfig(users=NameFilter(("john",)))
    by_user = Rule("user", True, parent=Rule("tag", value="namespace"), filter=devs)
    below = Rule("fixed", value="root.namespaces", filter=john)
    by_tag = Rule("tag", create=True, value="namespace", parent=below)
    rules = (by_user, by_tag, Rule("fixed", value="root.default"))
    return tree(parent("namespaces"), parent("newapp"), leaf("default"), rules=rules)


@pytest.mark.parametrize(
    "user, names, space, found",
    [
        ("john", ("john",), "testing", "root.namespaces.testing"),
        ("sarah", ("sarah", "test_app", "dev_app"), "newapp", "root.newapp.sarah"),
        ("sarah", ("dev_app",), "other", "root.default"),
        ("bob", ("bob",), "testapp", "root.default"),
        ("eve", ("xdexv",), "newapp", "root.newapp.eve"),
    ],
)
def test_e1_filters_in_chains(user: str, names: tuple[str, ...], space: str, found: str) -> None:
    assert where(example_1(), user, groups=names, tags={"namespace": space}) == found


@pytest.mark.parametrize(
    "asked, found",
    [("my_q", "root.dev.my_q"), ("root.dev_queue", "root.dev_queue"), ("a.b", "root.dev.a_dot_b")],
)
def test_e2_a_parent_rule_is_skipped_for_whole_paths(asked: str, found: str) -> None:
    rule = Rule("provided", create=True, parent=Rule("user", create=True))
    assert where(tree(rules=(rule,)), "dev", asked) == found


@pytest.mark.parametrize(
    "above, found",
    [
        ("root.production", "root.production.ns"),
        ("production", "root.production.ns"),
        ("", None),
        ("unknown", None),
    ],
)
def test_e3_a_tag_below_a_tag(above: str, found: str | None) -> None:
    rule = Rule("tag", True, "namespace", parent=Rule("tag", False, "namespace.parentqueue"))
    partition = tree(parent("production"), rules=(rule,))
    assert where(partition, "u", tags={"namespace": "ns", "namespace_parentqueue": above}) == found


def test_e4_a_denied_rule_gives_way_to_the_next_which_needs_access_too() -> None:
    queue = leaf("production", submit_acl=AccessList(users=("bob", "john")))
    rules = (Rule("fixed", value="root.production"), Rule("user", create=True))
    partition = tree(queue, rules=rules, submit_acl=NOBODY)
    assert where(partition, "john") == "root.production"
    assert where(partition, "eve") is None


def test_e5_queues_are_made_where_access_is_given() -> None:
    world = World(
        parent("p", submit_acl=AccessList(users=("john",))),
        rules=(CREATING,),
        submit_acl=NOBODY,
    )
    assert not world.app("1", "root.p.x.y", user="eve")
    assert set(world.partition.queues) == {"root", "root.p"}
    assert world.app("2", "root.p.x.y", user="john")
    assert set(world.partition.queues) == {"root", "root.p", "root.p.x", "root.p.x.y"}


def test_e6_a_user_below_the_requested_queue() -> None:
    rule = Rule("user", create=True, parent=CREATING)
    partition = tree(rules=(rule,))
    assert where(partition, "u", "root.team.x") == "root.team.x.u"
    assert where(partition, "u", "team") == "root.team.u"
    assert where(partition, "u") is None
    taken = tree(parent("team", parent("x", leaf("u"))), rules=(rule,))
    with pytest.raises(RuleError):
        run(taken, rule, Applicant("u", (), "root.team.x.u"))
    assert where(taken, "u", "root.team.x.u") is None
    assert where(taken, "u", "root.team.x.u", tags=FORCE) == "root.@recovery@"


@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize(
    "asked, user, space, found",
    [
        ("", "any-user", "", None),
        ("provided", "any-user", "", "root.provided"),
        ("root.provided", "any-user", "", "root.provided"),
        ("unknown", "any-user", "", None),
        ("root.parent", "any-user", "", None),
        ("root.acldeny", "deny-user", "", None),
        ("unknown", "any-user", "namespace", "root.namespace"),
        ("unknown", "deny-user", "namespace", None),
    ],
)
def test_e7_the_default_queue(
    asked: str, user: str, space: str, found: str | None, default: bool
) -> None:
    more = (leaf("default", submit_acl=EVERYBODY),) if default else ()
    partition = tree(
        leaf("provided", submit_acl=EVERYBODY),
        leaf("acldeny"),
        parent("parent", submit_acl=EVERYBODY),
        *more,
        rules=(PROVIDED, Rule("tag", create=True, value="namespace")),
        submit_acl=AccessList(users=("any-user",)),
    )
    tags = {"namespace": space}
    assert where(partition, user, asked, tags=tags) == (
        found or ("root.default" if default else None)
    )
    forced = where(partition, user, asked, tags={**tags, **FORCE})
    assert forced == (found or "root.@recovery@")


def test_e8_create_flags_are_per_level() -> None:
    def chain(outer: bool, middle: bool) -> Rule:
        fixed = Rule("fixed", create=True, value="root.t")
        return Rule("user", outer, parent=Rule("tag", middle, "ns", parent=fixed))

    def found(outer: bool, middle: bool) -> str | None:
        return where(tree(rules=(chain(outer, middle),)), "u", tags={"ns": "n"})

    assert found(outer=True, middle=True) == "root.t.n.u"
    assert found(outer=True, middle=False) is None
    assert found(outer=False, middle=True) is None


def test_e9_and_e10_rules_are_asked_one_after_the_other() -> None:
    missing = Rule("tag", value="missing")
    assert where(tree(leaf("a"), rules=(missing, PROVIDED)), "u", "root.a") == "root.a"
    closed = tree(leaf("a"), rules=(PROVIDED, Rule("fixed", value="a")), submit_acl=NOBODY)
    assert where(closed, "u", "root.a") is None
    assert where(closed, "u", "root.a", tags=FORCE) == "root.@recovery@"


@pytest.mark.parametrize(
    "asked, found",
    [
        ("root.MiXed", "root.mixed"),
        ("ROOT.X", "root.x"),
        ("name...name", "root.name_dot__dot__dot_name"),
        ("root.", None),
        ("root..z", None),
        ("root.a.below", None),
        ("root.p", None),
        ("root.@recovery@", None),
        ("b" * 65, None),
        ("u@x.com", "root.u@x_dot_com"),
    ],
)
def test_requested_names(asked: str, found: str | None) -> None:
    assert where(tree(leaf("a"), parent("p"), rules=(CREATING,)), "u", asked) == found


@pytest.mark.parametrize("value, found", [("A.b", "root.a.b"), ("rootbeer", "root.rootbeer")])
def test_fixed_values(value: str, found: str) -> None:
    assert where(tree(rules=(Rule("fixed", create=True, value=value),)), "u") == found


@pytest.mark.parametrize("deny", [False, True])
@pytest.mark.parametrize(
    "user, names, hit", [("ann", (), True), ("bob", ("dev",), True), ("bob", ("qa",), False)]
)
def test_the_example_of_filters(user: str, names: tuple[str, ...], hit: bool, deny: bool) -> None:
    chosen = FilterConfig(deny, NameFilter(("ann",)), NameFilter(("ops", "dev")))
    assert passes(chosen, Applicant(user, names)) == (hit != deny)
    assert not matches(NameFilter(("ann",)), "Ann")


def test_the_creation_example() -> None:
    template = TemplateConfig(max_applications=2, maximum=memory(5))
    world = World(
        parent("p", submit_acl=AccessList(users=("john",))), rules=(CREATING,), template=template
    )
    assert world.app("1", "root.p.x.y", user="john")
    made = world.partition.queues["root.p.x.y"]
    assert (made.max_applications, made.maximum, made.leaf) == (2, memory(5), True)
    assert not world.partition.queues["root.p.x"].leaf
    world.reference.handle(
        c.UpdateApplications("rm", remove=(c.ApplicationRemoval("1"),)), world.now
    )
    world.reference.step(world.now + 10 * SECOND, 0)
    assert set(world.partition.queues) == {"root", "root.p"}


# ------------------------------------------------------------------------------------ limits


class World:
    """The reference with one RM, one large node and a way to say things briefly."""

    def __init__(self, *queues: Any, rules: tuple[Rule, ...] = (PROVIDED,), **root: Any) -> None:
        self.reference, self.now, self.keys = Reference(), SECOND, 0
        first = Configuration((config(*queues, placement_rules=rules, root=root),))
        self.reference.handle(c.RegisterResourceManager("rm", first), self.now)
        size = {"memory": 10_000, "vcore": 10_000}
        node = c.NodeUpdate("n", c.CREATE, size)
        self.reference.handle(c.UpdateNodes("rm", (node,)), self.now)

    @property
    def partition(self) -> Partition:
        return self.reference.partitions["rm", "default"]

    def app(self, name: str, queue: str, user: str = "u", names: tuple[str, ...] = ()) -> bool:
        """A new application; whether it was accepted."""
        new = c.NewApplication(name, queue, user=user, groups=names)
        self.reference.handle(c.UpdateApplications("rm", (new,)), self.now)
        return name in self.partition.applications

    def known(self, name: str) -> Application:
        return self.partition.applications[name]

    def ask(self, name: str, amounts: dict[str, int]) -> bool:
        """An ask; whether it is placed now."""
        self.keys += 1
        before = len(self.known(name).allocations)
        ask = c.Ask(name, f"k{self.keys}", amounts)
        self.reference.handle(c.UpdateAllocations("rm", asks=(ask,)), self.now)
        self.reference.step(self.now, 1000)
        return len(self.known(name).allocations) > before

    def start(self, name: str, queue: str, amount: int, user: str, *names: str) -> bool:
        """An application with one ask of memory; whether it starts."""
        assert self.app(name, queue, user, names)
        return self.ask(name, memory(amount))

    def release(self, name: str, amount: int = 0) -> None:
        """End the allocation of a size, or all."""
        for one in list(self.known(name).allocations.values()):
            if not amount or one.resource == memory(amount):
                gone = c.AllocationRelease(name, one.identity)
                self.reference.handle(c.UpdateAllocations("rm", releases=(gone,)), self.now)

    def room(self, name: str) -> Limit:
        """The headroom of an application."""
        limits.look(self.partition, self.known(name))
        return limits.headroom(self.partition, self.known(name))

    def reload(self, *queues: Any, rules: tuple[Rule, ...] = (PROVIDED,), **root: Any) -> bool:
        """A new configuration; whether it is in force."""
        new = Configuration((config(*queues, placement_rules=rules, root=root),))
        (answer,) = self.reference.handle(c.UpdateConfiguration("rm", new), self.now)
        return answer == ("configured", "rm", True)


def test_x1_users_and_groups_together() -> None:
    own = (users("*", memory(50)), groups("dev", memory(30)), groups("ops", memory(30)))
    world = World(parent("p", leaf("leaf"), limits=own), limits=(users("bob", memory(100)),))
    assert world.start("app1", "root.p.leaf", 10, "bob", "ops", "dev")
    assert world.room("app1") == memory(20)
    assert world.start("app2", "root.p.leaf", 15, "eve", "dev")
    assert world.room("app1") == memory(5)
    assert world.room("app2") == memory(5)
    world.app("app3", "root.p.leaf", "sid")
    assert world.room("app3") == memory(50)
    grown = c.ExistingAllocation(c.Ask("app2", "x", memory(60)), "x", "n")
    world.reference.handle(c.UpdateAllocations("rm", allocations=(grown,)), world.now)
    assert world.room("app1") == memory(-55)
    assert not world.ask("app1", memory(1))
    assert world.ask("app1", {"vcore": 1})


def test_x2_the_wildcard_group_is_one_amount() -> None:
    world = World(leaf("a"), limits=(groups("dev", memory(100)), groups("*", memory(40), 2)))
    assert world.start("x", "root.a", 10, "x", "qa")
    assert world.start("y", "root.a", 20, "y", "ops")
    assert world.room("x") == world.room("y") == memory(10)
    assert not world.start("z", "root.a", 1, "z", "hr")
    assert world.known("z").held_back == ("quota",)
    assert world.start("free", "root.a", 500, "solo")
    assert world.room("free") is None


def test_x3_applications_per_user() -> None:
    two = (users("bob", None, 2),)
    world = World(leaf("a", limits=two), leaf("b"), limits=(users("bob", None, 3),))
    assert world.start("a1", "root.a", 1, "bob")
    assert world.start("a2", "root.a", 1, "bob")
    assert not world.start("a3", "root.a", 1, "bob")
    assert world.ask("a1", memory(1))
    assert world.start("b1", "root.b", 1, "bob")
    assert not world.start("b2", "root.b", 1, "bob")
    assert world.ask("b1", memory(1))


@pytest.mark.parametrize(
    "user, queue, room", [("bob", "root.p.l", 40), ("eve", "root.p.l", 20), ("eve", "root.q", 100)]
)
def test_x4_wildcards_at_three_levels(user: str, queue: str, room: int) -> None:
    low = leaf("l", limits=(users("*", memory(40)),))
    middle = parent("p", low, limits=(users("bob", memory(60)), users("*", memory(20))))
    world = World(middle, leaf("q"), limits=(users("*", memory(100)),))
    world.app("app", queue, user)
    assert world.room("app") == memory(room)


def test_x5_lowered_below_usage() -> None:
    def queue(amount: int, count: int) -> Any:
        return parent("p", leaf("l"), limits=(users("bob", memory(amount), count),))

    world = World(queue(100, 5))
    assert world.start("a1", "root.p.l", 40, "bob")
    assert world.ask("a1", memory(30))
    assert world.start("a2", "root.p.l", 10, "bob")
    assert world.reload(queue(50, 1))
    assert world.room("a1") == memory(-30)
    assert limits.quota_allows(world.partition, world.known("a1"))
    assert not world.start("a3", "root.p.l", 1, "bob")
    world.release("a1", 40)
    assert world.room("a1") == memory(10)


def test_x6_groups_hide_groups() -> None:
    low = leaf("c", limits=(groups("g2", memory(20)),))
    world = World(parent("p", low, limits=(groups("g1", memory(100)), groups("*", memory(50)))))
    world.app("1", "root.p.c", "u", ("g1",))
    world.app("2", "root.p.c", "u", ("g2", "g1"))
    assert (world.room("1"), world.room("2")) == (memory(100), memory(20))


def test_x7_usage_moves_with_the_application() -> None:
    wild = (groups("*", memory(50)),)
    both = (groups("g1", memory(100)), groups("g2", memory(100)))
    world = World(parent("p", leaf("l"), limits=both + wild))
    assert world.start("a1", "root.p.l", 50, "u2", "g2")
    assert world.start("b1", "root.p.l", 50, "u3", "g3")
    assert (world.known("a1").group, world.known("b1").group) == ("g2", "*")
    assert world.reload(parent("p", leaf("l"), limits=both[:1] + wild))
    assert world.known("a1").group == "*"
    assert world.room("a1") == memory(-50)


def test_x8_and_x9_named_users_come_and_go() -> None:
    wild = users("*", memory(10))
    world = World(parent("p", leaf("l"), limits=(users("bob", memory(100)), wild)))
    assert world.start("1", "root.p.l", 5, "bob")
    assert world.reload(parent("p", leaf("l"), limits=(wild,)))
    assert world.room("1") == memory(5)
    assert limits.used(limits.live(world.partition)) == memory(5)
    assert world.reload(parent("p", leaf("l")))
    assert world.room("1") is None


@pytest.mark.parametrize(
    "path, found", [("root.a", "ops"), ("root.b", "dev"), ("root.b.c.d", "dev")]
)
def test_the_first_group_of_the_configuration_is_chosen(path: str, found: str) -> None:
    partition = tree(
        leaf("a", limits=(groups("ops"), groups("dev"))), limits=(groups("dev"), groups("*"))
    )
    assert limits.choose_group(partition, path, ("dev", "ops")) == found
    assert limits.choose_group(partition, path, ("qa",)) == "*"
    assert limits.choose_group(partition, path, ()) == ""


def test_applications_above_a_queue_s_limit_wait_and_others_go_on() -> None:
    one = parent("p", leaf("a"), leaf("b"), max_applications=1)
    world = World(one, leaf("c"))
    assert world.start("1", "root.p.a", 1, "u")
    assert not world.start("2", "root.p.b", 1, "u")
    assert world.known("2").held_back == ("queue",)
    assert world.start("3", "root.c", 1, "u")
    assert world.ask("1", memory(1))
    world.release("1")
    assert not world.known("1").counted
    world.reference.step(world.now, 10)
    assert len(world.known("2").allocations) == 1
    assert world.known("2").held_back == ()


# ------------------------------------------------------------------------------------ reload


def draining(world: World) -> list[str]:
    """The draining queues."""
    return [path for path, queue in world.partition.queues.items() if queue.draining]


def test_the_walk_through_of_reloads() -> None:
    p = parent("p", leaf("c"))
    seven = {"priority.offset": "7"}
    world = World(leaf("a", properties=seven, max_applications=5), p)
    assert world.start("A1", "root.a", 1, "u")
    assert world.reload(leaf("a", max_applications=9), p)
    a = world.partition.queues["root.a"]
    assert (a.max_applications, a.offset) == (9, 0)
    assert world.reload(p)
    assert draining(world) == ["root.a"]
    assert world.ask("A1", memory(1))
    assert not world.app("A2", "root.a")
    assert world.reload(leaf("a", max_applications=9), p)
    assert draining(world) == []
    world.release("A1")
    world.reference.step(world.now + 40 * SECOND, 0)
    world.reference.step(world.now + 80 * SECOND, 0)
    assert "root.a" in world.partition.queues
    assert world.start("C1", "root.p.c", 1, "u")
    assert world.reload(leaf("a"), leaf("p"))
    assert world.partition.queues["root.p"].leaf
    assert draining(world) == ["root.p.c"]
    assert world.start("P1", "root.p", 1, "u")
    assert world.ask("C1", memory(1))


def test_a_leaf_with_applications_stays_a_leaf() -> None:
    world = World(leaf("a"), leaf("b"))
    world.app("1", "root.a")
    assert not world.reload(parent("a", leaf("x")), leaf("b"), leaf("new"))
    assert set(world.partition.queues) == {"root", "root.a", "root.b"}
    assert world.reload(leaf("a"), parent("b", leaf("x")))
    assert set(world.partition.queues) == {"root", "root.a", "root.b", "root.b.x"}


def test_a_dynamic_queue_becomes_a_configured_one() -> None:
    world = World(leaf("a"), rules=(CREATING,), template=TemplateConfig(max_applications=1))
    assert world.app("1", "root.d")
    assert world.partition.queues["root.d"].max_applications == 1
    assert world.reload(leaf("a"), leaf("d", memory(5), max_applications=3), rules=(CREATING,))
    made = world.partition.queues["root.d"]
    assert (made.managed, made.max_applications, made.maximum) == (True, 3, memory(5))


def test_a_removed_partition_ends_its_applications() -> None:
    world = World(leaf("a"))
    assert world.start("1", "root.a", 1, "u")
    other = Configuration((config(leaf("a"), name="other"),))
    world.reference.handle(c.UpdateConfiguration("rm", other), world.now)
    assert list(world.reference.partitions) == [("rm", "other")]
    assert world.reference.background == [
        ("state", "rm", "1", "Failing"),
        ("state", "rm", "1", "Failed"),
        ("released", "rm", (("1", "k1-0", "k1"),)),
    ]
