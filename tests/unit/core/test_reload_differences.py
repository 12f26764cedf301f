"""Small differences between two configurations, and what they change (chapter 10, section 12)."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from remuda.config.schema import PartitionConfig, QueueConfig, TemplateConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import QUEUE, QUEUE_GUARANTEED, QUEUE_MAX, SET
from remuda.core.model.vectors import TYPES_LIMIT
from tests.unit.core.door import (
    CREATING,
    Caller,
    events,
    groups,
    leaf,
    of,
    parent,
    partition,
    refusal,
    users,
)
from tests.unit.core.reloading import ONE, caller, change, configuration, home_view

WITH_ZERO, WITHOUT = {"vcore": 5, "memory": 0}, {"vcore": 5}
MEMORY = {"memory": 1}
CORES, BYTES = {"vcore": 5000}, {"memory": 10**6}
LARGE = {"vcore": 10_000, "memory": 10**10}
PARITY = {"scheduler.parity": "1.5"}


@pytest.mark.remuda_rule("CHK-5", "SI-85")
def test_without_a_checksum_no_configuration_is_the_one_in_force() -> None:
    door = caller(leaf("a"))
    for cores in (5, 6, 7):
        limited = leaf("a", {"vcore": cores})
        assert change(door, limited, checksum="") == [(QUEUE, "root.a", SET, QUEUE_MAX)]
        assert door.queue("root.a").maximum == {"vcore": cores}
        assert configuration(door).checksum == ""


@pytest.mark.remuda_rule("PAR-2", "NOD-17", "NODE-6")
@pytest.mark.parametrize("action", [c.CREATE_DRAIN, c.DRAIN_NODE])
def test_a_draining_node_takes_nothing_under_another_order(action: int) -> None:
    door = Caller(leaf("a"))
    door.node("small", {"vcore": 1})
    if action == c.DRAIN_NODE:
        door.node("large", {"vcore": 9})
        door.node("large", action=action)
    else:
        door.node("large", {"vcore": 9}, action=action)
    for policy in ("binpacking", "fair"):
        change(door, leaf("a"), node_sort_policy=policy)
        door.app(policy)
        door.ask(policy, policy, {"vcore": 2})
        assert door.place() == []
        door.remove(policy)
    door.node("large", action=c.DRAIN_TO_SCHEDULABLE)
    door.app("last")
    door.ask("last", "k", {"vcore": 2})
    assert door.place() == [("k-0", "large")]


@pytest.mark.remuda_rule("RLD-4", "UGR-20", "REST-67")
def test_another_resolver_is_in_force() -> None:
    door = caller(leaf("a"), user_group_resolver="os")
    for name in ("test", "ldap", "", "os"):
        change(door, leaf("a"), user_group_resolver=name)
        view = home_view(door)
        assert view is not None
        assert view.user_group_resolver == name


def two_homes(*queues: QueueConfig) -> tuple[PartitionConfig, PartitionConfig]:
    """Two partitions with these queues."""
    return (partition(*queues), partition(*queues, name="gpu"))


def furnish(door: Caller, home: str) -> None:
    """A large node; in root.a 5000 cores are used, in root.b a megabyte."""
    door.node(f"node-{home}", LARGE, home=home)
    for name, held in (("a", CORES), ("b", BYTES)):
        door.app(f"{name}-{home}", f"root.{name}", partition=home)
        door.ask(f"{name}-{home}", "old", held, partition=home)
    assert len(door.place()) == 2


def first(door: Caller, home: str, turn: str) -> str:
    """Which queue is served first; both want one core."""
    for name in "ab":
        door.ask(f"{name}-{home}", f"{name}-{turn}", ONE, partition=home)
    return door.order()[0][0]


@pytest.mark.remuda_rule("KV-5", "RES-50", "RES-52")
def test_the_extra_map_is_that_of_every_partition() -> None:
    # Half of the cores is more than a bit of the memory; with parity bytes outweigh cores.
    homes = two_homes(leaf("a"), leaf("b"))
    door = Caller(partitions=homes)
    for home in ("default", "gpu"):
        furnish(door, home)
    for turn, (extra, served) in enumerate((({}, "b"), (PARITY, "a"), ({}, "b"))):
        assert refusal(door.reload(partitions=homes, checksum="X", extra_config=extra)) == ""
        assert [first(door, home, f"{turn}") for home in ("default", "gpu")] == [served] * 2
    door.scheduler.check()


@pytest.mark.remuda_rule("KV-5", "RLD-3", "RES-50")
@pytest.mark.parametrize("together", [True, False])
def test_a_new_partition_goes_by_the_extra_map_in_force(*, together: bool) -> None:
    homes = two_homes(leaf("a"), leaf("b"))
    door = Caller(partitions=homes[:1])
    if together:
        door.reload(partitions=homes, extra_config=PARITY)
    else:
        door.reload(partitions=homes[:1], extra_config=PARITY)
        door.reload(partitions=homes)
    furnish(door, "gpu")
    assert first(door, "gpu", "1") == "a"
    door.reload(partitions=homes, extra_config={})
    assert first(door, "gpu", "2") == "b"


@pytest.mark.remuda_rule("RLD-21", "EVT-67", "EVT-74", "D-C4", "QUE-5")
def test_a_type_at_zero_is_not_a_type_without_maximum() -> None:
    door = caller(leaf("a", WITH_ZERO))
    door.app("1")
    door.ask("1", "k", MEMORY)
    assert door.place() == []
    found = door.reload(leaf("a", WITHOUT))
    (record,) = of(found, e.EventRecord)
    assert (record.object_id, record.detail, record.resource) == ("root.a", QUEUE_MAX, WITHOUT)
    assert door.order() == ["k"]
    (record,) = of(door.reload(leaf("a", WITH_ZERO)), e.EventRecord)
    assert (record.object_id, record.detail, record.resource) == ("root.a", QUEUE_MAX, WITH_ZERO)
    door.ask("1", "more", MEMORY)
    assert door.place() == []


@pytest.mark.remuda_rule("RLD-21", "EVT-68", "EVT-74", "RES-52")
def test_a_type_at_zero_is_not_a_type_without_guarantee() -> None:
    # Whoever is guaranteed no memory and uses some has more than it is due; else it counts
    # as the part of the cluster's, as that of b does.
    door = caller(leaf("a", None, WITH_ZERO), leaf("b"))
    for name, held in (("a", 1), ("b", 2)):
        door.app(name, f"root.{name}")
        door.existing(name, f"old-{name}", "n1", {"memory": held})
        door.ask(name, name, MEMORY, 9)
    assert door.place(1) == [("b-0", "n1")]
    told = change(door, leaf("a", None, WITHOUT), leaf("b"))
    assert told == [(QUEUE, "root.a", SET, QUEUE_GUARANTEED)]
    assert door.place(1) == [("a-0", "n1")]


def quota(resource: Mapping[str, int]) -> dict[str, str]:
    """The tag that limits a namespace to so much."""
    amounts = {name: {"value": value} for name, value in resource.items()}
    return {"namespace.resourcequota": json.dumps({"resources": amounts})}


@pytest.mark.remuda_rule("PLC-83", "PLC-81", "EVT-75", "EVT-67")
def test_a_type_at_zero_in_a_quota_is_not_a_type_without_one() -> None:
    door = Caller(parent("p"), placement_rules=(CREATING,))
    door.node("n1", {"vcore": 10_000, "memory": 100})
    door.app("1", "root.p.x", tags=quota(WITH_ZERO))
    zero = door.queue("root.p.x").maximum
    assert zero is not None
    assert zero["memory"] == 0
    door.ask("1", "k", MEMORY)
    assert door.place() == []
    told = events(door.app("2", "root.p.x", tags=quota(WITHOUT)))
    assert (QUEUE, "root.p.x", SET, QUEUE_MAX) in told
    assert "memory" not in (door.queue("root.p.x").maximum or {})
    assert door.order() == ["k"]
    told = events(door.app("3", "root.p.x", tags=quota(WITHOUT)))
    assert (QUEUE, "root.p.x", SET, QUEUE_MAX) not in told


@pytest.mark.remuda_rule("RES-1", "SI-85", "SI-86")
@pytest.mark.parametrize(
    "changed",
    [
        leaf("a", {"one-more": 1}),
        leaf("a", None, {"one-more": 1}),
        leaf("a", limits=(users("ann", {"one-more": 1}),)),
        leaf("a", limits=(groups("staff", {"one-more": 1}, 3),)),
        parent("p", template=TemplateConfig(maximum={"one-more": 1})),
        parent("p", parent("q", template=TemplateConfig(guaranteed={"one-more": 1}))),
    ],
)
def test_a_change_with_one_resource_type_too_many_is_refused(changed: QueueConfig) -> None:
    door = Caller(leaf("a"))
    door.node("n1", {f"type-{number}": 1 for number in range(TYPES_LIMIT)})
    assert len(door.node_view("n1").capacity) == TYPES_LIMIT == 1024
    assert refusal(door.reload(changed))
    known = leaf("a", {"type-7": 1}, limits=(users("ann", {"type-8": 1}),))
    assert refusal(door.reload(known)) == ""
    door.scheduler.check()
