"""Settings of queues that change with the configuration (chapter 10, section 12)."""

from __future__ import annotations

import pytest

from remuda.config.schema import (
    AccessList,
    Configuration,
    PlacementRuleConfig,
    QueueConfig,
    TemplateConfig,
)
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.unit.core.door import (
    CREATING,
    EVERYBODY,
    Caller,
    leaf,
    of,
    parent,
    partition,
    refusal,
)
from tests.unit.core.reloading import (
    NODE,
    OFFSET,
    ONE,
    SORT,
    caller,
    change,
    start,
    verdict,
)

TWO, NINE = {"vcore": 2}, {"vcore": 9}
TAGGED = PlacementRuleConfig("tag", create=True, value="namespace")


@pytest.mark.remuda_rule("RLD-21")
def test_a_lowered_maximum_stops_nothing_that_runs() -> None:
    door = caller(leaf("a", maximum=NINE))
    start(door, "1", count=5)
    change(door, leaf("a", maximum=TWO))
    found = door.queue("root.a")
    assert (found.maximum, found.allocated, found.headroom) == (
        TWO,
        {"vcore": 5},
        {"vcore": -3, "memory": 100},
    )
    door.ask("1", "more", ONE)
    assert door.place() == []
    for number in range(4):
        door.release("1", f"1.k-{number}")
    assert door.order() == ["more"]


@pytest.mark.remuda_rule("RLD-21")
@pytest.mark.parametrize("maximum, more", [({"vcore": 7}, 5), (None, 20), ({"memory": 5}, 20)])
def test_a_raised_or_cleared_maximum_gives_room_at_once(
    maximum: dict[str, int] | None, more: int
) -> None:
    door = caller(parent("p", leaf("a", maximum=TWO)))
    start(door, "1", "root.p.a", 2)
    door.ask("1", "more", ONE, 20)
    assert door.place() == []
    change(door, parent("p", leaf("a", maximum=maximum)))
    assert door.queue("root.p.a").maximum == maximum
    assert len(door.place()) == more


@pytest.mark.remuda_rule("RLD-21", "CYC-25")
def test_a_raised_maximum_gives_room_to_all_who_wait_together() -> None:
    door = caller(leaf("a", maximum=TWO))
    start(door, "1", "root.a", 2)
    for number, user in enumerate(("ann", "bob"), 2):
        door.app(str(number), "root.a", user=user)
        door.ask(str(number), "more", ONE, 5)
    assert door.place() == []
    change(door, leaf("a", maximum={"vcore": 7}))
    assert len(door.place()) == 5


@pytest.mark.remuda_rule("RLD-21")
def test_the_maximum_of_a_parent_binds_its_leaves_at_once() -> None:
    door = caller(parent("p", leaf("a"), leaf("b")))
    start(door, "1", "root.p.a", 2)
    door.app("2", "root.p.b")
    door.ask("2", "k", ONE, 9)
    change(door, parent("p", leaf("a"), leaf("b"), maximum={"vcore": 5}))
    assert len(door.place()) == 3
    change(door, parent("p", leaf("a"), leaf("b")))
    assert len(door.place()) == 6


@pytest.mark.remuda_rule("RLD-21", "D-C4", "QUE-5")
def test_a_maximum_of_zeros_is_a_hard_zero() -> None:
    door = caller(leaf("a", maximum=NINE))
    change(door, leaf("a", maximum={"vcore": 0}))
    assert door.queue("root.a").maximum == {"vcore": 0}
    door.app("1")
    door.ask("1", "cores", ONE)
    door.ask("1", "bytes", {"memory": 1})
    assert door.order() == ["bytes"]
    change(door, leaf("a", maximum={}))
    assert door.queue("root.a").maximum is None
    assert door.order() == ["cores"]


@pytest.mark.remuda_rule("RLD-21", "QUE-5")
@pytest.mark.parametrize("cleared", [None, {}, {"vcore": 0}])
def test_a_guarantee_is_replaced_and_cleared(cleared: dict[str, int] | None) -> None:
    door = caller(leaf("a", guaranteed=TWO))
    change(door, leaf("a", guaranteed=NINE))
    assert door.queue("root.a").guaranteed == NINE
    change(door, leaf("a", guaranteed=cleared))
    assert not door.queue("root.a").guaranteed


@pytest.mark.remuda_rule("RLD-21", "QUE-33")
def test_a_changed_guarantee_changes_the_order_at_once() -> None:
    door = caller(leaf("a", guaranteed=NINE), leaf("b", guaranteed=ONE))
    start(door, "a", "root.a", 2)
    start(door, "b", "root.b", 2)
    for name in ("a", "b"):
        door.ask(name, f"{name}.more", ONE, 2)
    assert [key for key, _ in door.place(1)] == ["a.more-0"]
    change(door, leaf("a", guaranteed=ONE), leaf("b", guaranteed=NINE))
    assert [key for key, _ in door.place(1)] == ["b.more-0"]


@pytest.mark.remuda_rule("RLD-21", "D-C19")
def test_a_queue_named_root_below_root_has_amounts_like_others() -> None:
    door = caller(leaf("root", maximum=NINE))
    assert door.queue("root.root").maximum == NINE
    change(door, leaf("root", maximum=TWO, guaranteed=ONE))
    found = door.queue("root.root")
    assert (found.maximum, found.guaranteed) == (TWO, ONE)


@pytest.mark.remuda_rule("RLD-21", "ACL-14", "ACL-11")
def test_access_lists_are_replaced_at_once() -> None:
    def may(user: str, *, admin: bool = False) -> bool:
        query = q.AccessQuery("default", "root.a", user, admin=admin, rm_id=door.rm)
        found = door.scheduler.view(query)
        assert isinstance(found, q.AccessView)
        return found.allowed

    nobody = {"submit_acl": AccessList()}
    door = caller(leaf("a", submit_acl=AccessList(users=("ann",))), root=nobody)
    start(door, "1")
    assert (may("ann"), may("bob")) == (True, False)
    other = leaf("a", submit_acl=AccessList(users=("bob",)), admin_acl=AccessList(users=("eve",)))
    change(door, other, root=nobody)
    assert (may("ann"), may("bob"), may("eve"), may("eve", admin=True)) == (False, True, True, True)
    assert verdict(door.app("2"))
    assert verdict(door.app("3", user="bob")) == ""
    assert door.state("1") == "Starting"


@pytest.mark.remuda_rule("RLD-22", "D-C20")
def test_the_number_of_applications_is_applied_everywhere() -> None:
    door = caller(parent("p", leaf("a", max_applications=2), max_applications=3))
    inner = leaf("a", max_applications=5)
    change(door, parent("p", inner, max_applications=6), root={"max_applications": 7})
    numbers = [door.queue(path).max_applications for path in ("root", "root.p", "root.p.a")]
    assert numbers == [7, 6, 5]
    change(door, parent("p", leaf("a")))
    numbers = [door.queue(path).max_applications for path in ("root", "root.p", "root.p.a")]
    assert numbers == [0, 0, 0]


@pytest.mark.remuda_rule("RLD-23", "PRP-7", "D-C10", "QUE-21")
def test_properties_are_merged_again_and_reset() -> None:
    own = {SORT: "fair", OFFSET: "7", "application.sort.priority": "disabled", "x": "y"}
    door = caller(parent("p", leaf("a", properties=own)))
    change(door, parent("p", leaf("a"), properties={SORT: "fair", OFFSET: "3", "z": "1"}))
    found = door.queue("root.p.a")
    assert (found.sort_policy, found.priority_offset, found.priority_sorting) == ("fair", 0, True)
    assert found.properties.get("z") == "1"
    assert "x" not in found.properties
    change(door, parent("p", leaf("a")))
    found = door.queue("root.p.a")
    assert (found.sort_policy, dict(found.properties)) == ("fifo", {})


@pytest.mark.remuda_rule("RLD-23", "QUE-21")
def test_the_order_of_applications_follows_the_policy_both_ways() -> None:
    door = caller(leaf("a"))
    for name in ("first", "second"):
        door.now += 1
        door.app(name)
        door.ask(name, name, ONE, 9)
    assert [key for key, _ in door.place(2)] == ["first-0", "first-1"]
    change(door, leaf("a", properties={SORT: "fair"}))
    assert [key for key, _ in door.place(2)] == ["second-0", "second-1"]
    change(door, leaf("a"))
    assert [key for key, _ in door.place(2)] == ["first-2", "first-3"]


@pytest.mark.remuda_rule("RLD-23", "QUE-21", "QUE-40")
def test_priorities_among_applications_can_be_switched() -> None:
    off = {"application.sort.priority": "disabled"}
    door = caller(leaf("a", properties=off))
    for name, priority in (("low", 1), ("high", 9)):
        door.now += 1
        door.app(name)
        door.ask(name, name, ONE, 9, priority=priority)
    assert door.place(1)[0][0] == "low-0"
    change(door, leaf("a"))
    assert door.place(1)[0][0] == "high-0"
    change(door, leaf("a", properties=off))
    assert door.place(1)[0][0] == "low-1"


@pytest.mark.remuda_rule("QUE-30", "RLD-23")
@pytest.mark.parametrize(
    "properties, above, root",
    [({}, 5, 8), ({OFFSET: "-5"}, 0, 3), ({OFFSET: "2", "priority.policy": "fence"}, 2, 5)],
)
def test_changed_offsets_are_seen_up_to_root(
    properties: dict[str, str], above: int, root: int
) -> None:
    def tree(own: dict[str, str]) -> QueueConfig:
        return parent("p", leaf("a", properties=own), properties={OFFSET: "3"})

    door = caller(tree({OFFSET: "7"}))
    door.app("1", "root.p.a")
    door.ask("1", "large", {"vcore": 10_000}, priority=5)
    assert [door.queue(path).current_priority for path in ("root", "root.p")] == [15, 12]
    change(door, tree(properties))
    assert door.queue("root.p.a").current_priority == 5
    assert [door.queue(path).current_priority for path in ("root", "root.p")] == [root, above]


@pytest.mark.remuda_rule("QUE-30", "QUE-33")
def test_a_changed_offset_changes_the_order_of_queues_at_once() -> None:
    door = caller(leaf("a", properties={OFFSET: "9"}), leaf("b"))
    for name in ("a", "b"):
        door.app(name, f"root.{name}")
        door.ask(name, name, ONE, 9)
    assert door.place(1)[0][0] == "a-0"
    change(door, leaf("a"), leaf("b", properties={OFFSET: "9"}))
    assert [key for key, _ in door.place(2)] == ["b-0", "b-1"]


def tagged(door: Caller, name: str) -> q.QueueView:
    """The dynamic leaf that an application of this name space is placed in."""
    assert verdict(door.app(name, "", tags={"namespace": f"root.p.{name}"})) == ""
    return door.queue(f"root.p.{name}")


@pytest.mark.remuda_rule("RLD-24", "TPL-6")
def test_a_changed_template_is_for_new_dynamic_queues() -> None:
    rules = {"placement_rules": (TAGGED,)}
    template = TemplateConfig(2, {SORT: "fair"}, NINE)
    door = caller(parent("p", template=template), **rules)
    assert (tagged(door, "x").maximum, tagged(door, "y").max_applications) == (NINE, 2)
    change(door, parent("p", template=TemplateConfig(3, maximum=TWO)), **rules)
    old, new = door.queue("root.p.x"), tagged(door, "z")
    assert (old.maximum, old.max_applications, old.sort_policy) == (NINE, 2, "fair")
    assert (new.maximum, new.max_applications, new.sort_policy) == (TWO, 3, "fifo")
    change(door, parent("p"), **rules)
    last = tagged(door, "w")
    assert (last.maximum, last.max_applications) == (None, 0)


@pytest.mark.remuda_rule("RLD-24", "TPL-8", "D-C12", "TPL-5")
def test_an_inherited_template_is_inherited_after_a_reload() -> None:
    template = TemplateConfig(2, maximum=NINE)
    fields = {"placement_rules": (TAGGED,), "root": {"template": template, "submit_acl": EVERYBODY}}
    door = caller(parent("p"), **fields)
    change(door, parent("p"), leaf("a"), **fields)
    assert door.queue("root.p").template == template
    assert tagged(door, "x").maximum == NINE


@pytest.mark.remuda_rule("RLD-21", "NODE-1")
def test_a_changed_queue_places_on_nodes_that_came_before_and_after() -> None:
    door = Caller(leaf("a", maximum=ONE))
    door.node("n1", ONE)
    start(door, "1")
    door.ask("1", "more", ONE, 2)
    change(door, leaf("a"))
    assert door.place() == []
    door.node("n2", NODE)
    placed = of(door.step(), e.AllocationNew)
    assert [new.node_id for new in placed] == ["n2", "n2"]


@pytest.mark.remuda_rule("RES-1", "TPL-4", "RLD-24")
@pytest.mark.parametrize("nodes_first", [True, False])
def test_a_template_teaches_no_type_beyond_the_last(*, nodes_first: bool) -> None:
    # Whatever comes last is refused: the change, the node or the application.
    door = Caller(parent("p"), placement_rules=(CREATING,))
    refused = 0
    for node in (True, False) if nodes_first else (False, True):
        if node:
            full = door.node("n1", {f"t-{n}": 1 for n in range(1024)})
            refused += len(of(full, e.NodesAnswered)[0].rejected)
        else:
            queue = parent("p", template=TemplateConfig(maximum={"new": 1}))
            refused += bool(refusal(door.reload(queue, placement_rules=(CREATING,))))
    refused += bool(verdict(door.app("1", "root.p.x")))
    assert refused == 1
    door.scheduler.check()


def served_first(door: Caller) -> str:
    """Which of two queues gets the next allocation; both want one more core each time."""
    (key,) = [identity.partition("-")[0] for identity, _ in door.place(1)]
    return key


@pytest.mark.remuda_rule("KV-5", "RES-50", "RES-52", "QUE-33")
def test_parity_is_switched_by_the_extra_map_both_ways() -> None:
    # By the largest share of what is guaranteed a is far ahead; with parity the memory that
    # nobody guaranteed counts as it is and beats every ratio.
    door = Caller(leaf("a", None, {"vcore": 1000}), leaf("b", None, {"vcore": 1000}))
    door.node("n1", {"vcore": 10_000, "memory": 10**10})
    for name, held in (("a", {"vcore": 100, "memory": 10**9}), ("b", {"vcore": 900})):
        door.app(name, f"root.{name}")
        door.existing(name, f"old-{name}", "n1", held)
        door.ask(name, name, ONE, 9)
    queues = (leaf("a", None, {"vcore": 1000}), leaf("b", None, {"vcore": 1000}))
    assert served_first(door) == "a"
    for parity, first in (("1.5", "b"), ("none", "a"), ("1.5", "b"), ("else", "a")):
        change(door, *queues, checksum="SAME", extra_config={"scheduler.parity": parity})
        assert served_first(door) == first


@pytest.mark.remuda_rule("KV-5", "RES-50")
def test_parity_holds_from_the_registration_on() -> None:
    door = Caller()
    config = Configuration((partition(leaf("a"), leaf("b")),))
    extra = {"scheduler.parity": "1.5"}
    door.send(c.RegisterResourceManager("rm", config, extra_config=extra))
    door.node("n1", {"vcore": 10_000, "memory": 10**10})
    # Without guarantees bytes outweigh cores: b is further on although its share is smaller.
    for name, held in (("a", {"vcore": 5000}), ("b", {"memory": 10**6})):
        door.app(name, f"root.{name}")
        door.existing(name, f"old-{name}", "n1", held)
        door.ask(name, name, ONE)
    assert door.order() == ["a", "b"]
