"""A configuration that changes: as a whole, and what belongs to a partition (10.10 to 10.12)."""

from __future__ import annotations

import pytest

from remuda.config.schema import (
    AccessList,
    Configuration,
    PartitionConfig,
    PlacementRuleConfig,
)
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.events import ADD, DETAILS_NONE, QUEUE, QUEUE_MAX, SET
from tests.unit.core.door import (
    CREATING,
    PROVIDED,
    Caller,
    answers,
    groups,
    leaf,
    of,
    parent,
    partition,
    refusal,
    users,
)
from tests.unit.core.reloading import (
    NODE,
    ONE,
    caller,
    change,
    configuration,
    home_view,
    start,
    statuses,
    verdict,
    views,
)

FIXED = PlacementRuleConfig("fixed", value="root.b")


@pytest.mark.remuda_rule("SI-85", "RLD-2")
def test_a_stranger_changes_nothing() -> None:
    door = caller(leaf("a"))
    before = views(door)
    config = Configuration((partition(leaf("b")),), checksum="X")
    (answer,) = door.send(c.UpdateConfiguration("stranger", config, {"x": "y"}))
    assert isinstance(answer, e.RequestRefused | e.ConfigurationAnswered)
    assert (answer.rm_id, bool(answer.reason)) == ("stranger", True)
    assert views(door) == before


@pytest.mark.remuda_rule("SI-85", "SI-88")
def test_a_good_change_is_answered_and_in_force() -> None:
    door = caller(leaf("a"))
    found = door.reload(leaf("a"), leaf("b"), checksum="ABC", extra_config={"x": "y"})
    assert answers(found) == [e.ConfigurationAnswered("rm", "")]
    view = configuration(door)
    assert (view.rm_id, view.checksum, view.text) == ("rm", "ABC", "# ABC")
    assert view.extra_config == {"x": "y"}
    assert verdict(door.app("1", "root.b")) == ""


@pytest.mark.remuda_rule("CHK-5", "SI-85")
def test_the_checksum_in_force_changes_no_queue_but_the_extra_map() -> None:
    door = caller(leaf("a"))
    change(door, leaf("a"), checksum="X", extra_config={"x": "1"})
    before = views(door)[2:]
    found = door.reload(leaf("b"), checksum="X", extra_config={"x": "2"})
    assert answers(found) == [e.ConfigurationAnswered("rm", "")]
    assert len(found) == 1
    assert views(door)[2:] == before
    assert configuration(door).extra_config == {"x": "2"}
    change(door, leaf("b"), checksum="Y")
    assert statuses(door) == {"root": "Active", "root.a": "Draining", "root.b": "Active"}


@pytest.mark.remuda_rule("SI-85")
def test_the_extra_map_is_replaced_as_a_whole_or_left_alone() -> None:
    door = caller(leaf("a"))
    for given, expected in (({"x": "1", "y": "2"},) * 2, (None, {"x": "1", "y": "2"})):
        change(door, leaf("a"), extra_config=given)
        assert configuration(door).extra_config == expected
    change(door, leaf("a"), extra_config={"z": "3"})
    assert configuration(door).extra_config == {"z": "3"}
    change(door, leaf("a"), extra_config={})
    assert configuration(door).extra_config == {}


@pytest.mark.remuda_rule("SI-85", "SI-86", "RLD-5", "RLD-6", "D-C15", "CFG-5")
def test_a_refused_change_leaves_everything_as_it_was() -> None:
    limits = (users("ann", {"vcore": 50}), groups("staff", {"vcore": 60}))
    door = caller(leaf("a", limits=limits, maximum={"vcore": 70}), leaf("b"))
    change(
        door, leaf("a", limits=limits, maximum={"vcore": 70}), leaf("b"), extra_config={"x": "1"}
    )
    start(door, "1", count=2)
    before = views(door)
    found = door.reload(
        leaf("b", maximum=ONE, max_applications=1, limits=(users("ann", ONE),)),
        leaf("new"),
        parent("a", leaf("x")),  # a leaf with applications
        placement_rules=(FIXED,),
        node_sort_policy="binpacking",
        preemption=False,
        extra_config={"x": "2"},
    )
    (answer,) = found
    assert isinstance(answer, e.ConfigurationAnswered)
    assert "root.a" in answer.reason
    assert answer.problems[0] == answer.reason
    assert views(door) == before
    door.scheduler.check()


@pytest.mark.remuda_rule("SI-86", "RLD-3", "RLD-5")
def test_a_fault_in_the_last_partition_stops_the_change_of_the_first() -> None:
    homes = [partition(leaf("a")), partition(leaf("a"), name="gpu"), partition(name="old")]
    door = Caller(partitions=homes)
    door.node("n1", NODE, home="gpu")
    door.app("1", partition="gpu")
    before = views(door, "default", "gpu", "old", "new")
    changed = [
        partition(leaf("a", maximum=ONE), leaf("b")),
        partition(leaf("a"), name="new"),
        partition(parent("a"), name="gpu"),
    ]
    assert refusal(found := door.reload(partitions=changed))
    assert len(found) == 1
    assert views(door, "default", "gpu", "old", "new") == before


@pytest.mark.remuda_rule("SI-85", "SI-86")
def test_all_problems_are_named() -> None:
    door = caller(leaf("a"), leaf("b"))
    start(door, "1", "root.a")
    start(door, "2", "root.b")
    (answer,) = of(door.reload(parent("a"), parent("b")), e.ConfigurationAnswered)
    assert len(answer.problems) == 2
    assert "root.a" in answer.problems[0]
    assert "root.b" in answer.problems[1]


@pytest.mark.remuda_rule("RLD-7", "D-C16", "CHK-5")
def test_after_a_refusal_the_old_and_the_next_change_work() -> None:
    door = caller(leaf("a"))
    change(door, leaf("a", maximum={"vcore": 9}), checksum="OLD")
    start(door, "1")
    assert refusal(door.reload(parent("a"), checksum="BAD"))
    assert configuration(door).checksum == "OLD"
    before = views(door)
    assert answers(door.reload(leaf("a"), checksum="OLD")) == [e.ConfigurationAnswered("rm", "")]
    assert views(door) == before  # nothing to repair
    assert refusal(door.reload(parent("a"), checksum="BAD"))
    change(door, leaf("a", maximum={"vcore": 8}), checksum="NEXT")
    assert door.queue("root.a").maximum == {"vcore": 8}


@pytest.mark.remuda_rule("SI-85", "EXT-24")
@pytest.mark.parametrize("good", [True, False])
def test_a_dry_run_only_says_whether(good: bool) -> None:
    door = caller(leaf("a"))
    start(door, "1")
    before = views(door)
    queue = leaf("a", maximum=ONE) if good else parent("a")
    found = door.reload(queue, dry_run=True, extra_config={"x": "y"})
    assert (refusal(found) == "") is good
    assert len(found) == 1
    assert views(door) == before
    assert door.scheduler.next_deadline() is not None


@pytest.mark.remuda_rule("RES-1", "SI-86")
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_change_with_too_many_new_types_is_refused(dry_run: bool) -> None:
    door = Caller(leaf("a"))
    door.node("n1", {f"seen-{n}": 1 for n in range(1000)})
    before = views(door)
    large = {f"new-{n}": 1 for n in range(100)}
    for queue in (leaf("a", large), leaf("a", None, large), leaf("a", limits=(users("*", large),))):
        assert refusal(door.reload(queue, dry_run=dry_run))
        assert views(door) == before
    change(door, leaf("a", maximum={f"new-{n}": 1 for n in range(24)}))


@pytest.mark.remuda_rule("RLD-1", "RM-9")
def test_registering_again_starts_from_nothing() -> None:
    door = caller(leaf("a", limits=(users("ann", {"vcore": 5}),)))
    change(door, leaf("b"), parent("p", leaf("c")), extra_config={"x": "y"})
    start(door, "1", "root.b")
    config = Configuration((partition(leaf("a"), name="gpu"),), checksum="Z", text="# Z")
    found = door.send(c.RegisterResourceManager("rm", config))
    assert answers(found) == [e.RegistrationAnswered("rm", "")]
    assert home_view(door) is None
    assert statuses(door, "gpu") == {"root": "Active", "root.a": "Active"}
    assert door.usage(home="gpu") == {}
    assert (configuration(door).checksum, configuration(door).extra_config) == ("Z", {})


@pytest.mark.remuda_rule("RLD-3", "RLD-4")
def test_partitions_are_handled_in_the_order_given_and_leave_last() -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="gpu")])
    found = door.reload(
        partitions=[
            partition(leaf("b"), name="new"),
            partition(leaf("a", maximum=ONE), leaf("c"), name="gpu"),
        ]
    )
    assert refusal(found) == ""
    told = [
        (r.partition, r.object_id, r.change, r.detail)
        for r in of(found, e.EventRecord)
        if r.kind == QUEUE and r.partition != "default"
    ]
    assert told[:2] == [("new", "root", ADD, DETAILS_NONE), ("new", "root.b", ADD, DETAILS_NONE)]
    assert sorted(told[2:]) == sorted(
        [("gpu", "root.a", SET, QUEUE_MAX), ("gpu", "root.c", ADD, DETAILS_NONE)]
    )
    assert verdict(door.app("1", "root.b", partition="new")) == ""
    assert verdict(door.app("1", "root.c", partition="gpu")) == ""
    assert verdict(door.app("1", "root.a", partition="default"))


@pytest.mark.remuda_rule("RLD-4", "PLC-13")
def test_placement_rules_are_replaced_as_a_whole() -> None:
    door = caller(leaf("a"), leaf("b"), placement_rules=(CREATING,))
    assert verdict(door.app("1", "root.dyn")) == ""
    change(door, leaf("a"), leaf("b"), placement_rules=(FIXED,))
    assert verdict(door.app("2", "root.new")) == ""
    assert door.apps()["2"].queue == "root.b"
    assert door.scheduler.view(q.PlacementRulesQuery("default", "rm")) == (FIXED,)
    assert door.apps()["1"].queue == "root.dyn"  # placed before


@pytest.mark.remuda_rule("RLD-30", "PLC-11")
def test_without_rules_the_provided_rule_holds() -> None:
    door = caller(leaf("a"), placement_rules=(FIXED,))
    root = parent("root", leaf("a"), leaf("b"), submit_acl=AccessList(everybody=True))
    change(door, partitions=[PartitionConfig("default", root)])
    assert verdict(door.app("1", "root.a")) == ""
    assert verdict(door.app("2", "root.new"))
    assert door.scheduler.view(q.PlacementRulesQuery("default", "rm")) == (PROVIDED,)


@pytest.mark.remuda_rule("RLD-4", "PAR-2")
def test_the_order_of_nodes_changes_at_once() -> None:
    def two(door: Caller) -> int:
        start(door, f"app-{door.reloads}", count=2)
        used = [view for view in door.node_views().values() if view.allocations]
        door.remove(f"app-{door.reloads}")
        return len(used)

    door = caller(leaf("a"))
    door.node("n2", NODE)
    assert two(door) == 2
    change(door, leaf("a"), node_sort_policy="binpacking")
    assert two(door) == 1
    change(door, leaf("a"))
    assert two(door) == 2


@pytest.mark.remuda_rule("PAR-2")
def test_weights_replace_both_defaults_and_are_scored_by_type() -> None:
    door = Caller(leaf("a"))
    for name, vcore, memory in (("n1", 60, 10), ("n2", 20, 90)):
        door.node(name, NODE)
        door.app(name)
        door.existing(name, f"old-{name}", name, {"vcore": vcore, "memory": memory})
    # By both types n1 is less used (35 % against 55 %), by cores alone it is n2.
    start(door, "1")
    change(door, leaf("a"), node_sort_weights={"vcore": 1.0})
    start(door, "2")
    homes = {a.application_id: v.node_id for v in door.node_views().values() for a in v.allocations}
    assert (homes["1"], homes["2"]) == ("n1", "n2")
    view = home_view(door)
    assert view is not None
    assert view.node_sort_weights == {"vcore": 1.0}


@pytest.mark.remuda_rule("RLD-4", "PAR-3")
def test_the_flag_of_preemption_changes_at_once() -> None:
    def flags() -> tuple[bool, bool]:
        view = home_view(door)
        assert view is not None
        return view.preemption, view.quota_preemption

    door = caller(leaf("a"))
    assert flags() == (True, False)
    change(door, leaf("a"), preemption=False, quota_preemption=True)
    assert flags() == (False, True)
    change(door, leaf("a"))
    assert flags() == (True, False)


@pytest.mark.remuda_rule("RLD-4", "RLD-21", "ACL-14")
def test_the_access_list_of_root_changes_at_once() -> None:
    door = caller(leaf("a"))
    start(door, "1")
    change(door, leaf("a"), root={"submit_acl": AccessList(users=("bob",))})
    assert verdict(door.app("2"))
    assert verdict(door.app("3", user="bob")) == ""
    door.ask("1", "more", ONE)  # evaluated at submission only
    assert door.order() == ["more"]
    change(door, leaf("a"), root={"submit_acl": AccessList()})
    assert verdict(door.app("4", user="bob"))


@pytest.mark.remuda_rule("RLD-4", "RLD-21", "RLD-22")
def test_settings_of_root_change_at_once() -> None:
    properties = {"application.sort.policy": "fair", "x": "y"}
    door = caller(leaf("a"), properties=properties)
    assert door.queue("root.a").sort_policy == "fair"
    change(door, leaf("a"), root={"max_applications": 3})
    assert door.queue("root").max_applications == 3
    assert dict(door.queue("root").properties) == {}
    assert door.queue("root.a").sort_policy == "fifo"


@pytest.mark.remuda_rule("PAR-1")
@pytest.mark.parametrize(
    "home, known", [("", True), ("default", True), ("[rm]default", True), ("Default", False)]
)
def test_names_of_partitions(home: str, known: bool) -> None:
    door = caller(leaf("a"))
    change(door, leaf("b"))
    assert (verdict(door.app("1", "root.b", partition=home)) == "") is known


@pytest.mark.remuda_rule("PAR-4", "RLD-21")
def test_the_maximum_of_root_stays_the_sum_of_the_nodes() -> None:
    door = caller(leaf("a"))
    change(door, leaf("a", maximum=ONE), leaf("b"))
    assert door.queue("root").maximum == NODE
    door.node("n1", action=c.DECOMISSION)
    assert door.queue("root").maximum is None
    change(door, leaf("a"))
    assert door.queue("root").maximum is None


@pytest.mark.remuda_rule("RLD-21", "RLD-4")
def test_what_runs_is_never_touched() -> None:
    door = caller(leaf("a"), parent("p"), placement_rules=(CREATING,))
    start(door, "1", count=3)
    start(door, "2", "root.p.x")
    before = views(door)[3:5]  # nodes and applications
    change(
        door,
        leaf("a", maximum=ONE, guaranteed=ONE, max_applications=1, limits=(users("*", ONE),)),
        parent("p", maximum=ONE),
        leaf("new"),
        placement_rules=(FIXED,),
    )
    assert views(door)[3:5] == before
    assert door.queue("root.a").allocated == {"vcore": 3}
    assert door.queue("root").allocated == {"vcore": 4}
    assert statuses(door)["root.p.x"] == "Active"


@pytest.mark.remuda_rule("RLD-3", "SI-86")
def test_two_managers_are_configured_apart() -> None:
    door = caller(leaf("a"))
    door.send(c.RegisterResourceManager("other", Configuration((partition(leaf("a")),))))
    change(door, leaf("b"))
    assert "root.b" in statuses(door)
    door.rm = "other"
    assert statuses(door) == {"root": "Active", "root.a": "Active"}
