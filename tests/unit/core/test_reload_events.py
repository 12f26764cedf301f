"""Records of a changed configuration: exactly the differences (chapter 90 section 2.4)."""

from __future__ import annotations

import pytest

from remuda.config.schema import QueueConfig, TemplateConfig
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ADD,
    DETAILS_NONE,
    QUEUE,
    QUEUE_GUARANTEED,
    QUEUE_MAX,
    QUEUE_TYPE,
    REMOVE,
    SET,
)
from tests.unit.core.door import (
    CREATING,
    SECOND,
    START,
    Caller,
    events,
    groups,
    leaf,
    of,
    parent,
    refusal,
    users,
)
from tests.unit.core.reloading import ONE, caller, change, start

TWO = {"vcore": 2}


def records(door: Caller, *queues: QueueConfig, **other: object) -> list[e.EventRecord]:
    """The records of an accepted reload."""
    effects = door.reload(*queues, **other)
    assert refusal(effects) == ""
    return of(effects, e.EventRecord)


@pytest.mark.remuda_rule("EVT-74", "UPD-5", "D-C15")
def test_an_identical_configuration_gives_no_record() -> None:
    properties = {"priority.offset": "7"}
    limits = (users("ann", TWO), users("*", ONE), groups("staff *", None, 5))
    queues = (
        leaf("a", TWO, ONE, properties, max_applications=2, limits=limits),
        parent("p", leaf("b"), template=TemplateConfig(3), maximum=TWO),
    )
    door = caller(*queues, placement_rules=(CREATING,))
    start(door, "1")
    start(door, "2", "root.p.dyn")
    assert change(door, *queues, placement_rules=(CREATING,)) == []


@pytest.mark.remuda_rule("EVT-74", "EVT-67")
def test_one_changed_maximum_gives_one_record() -> None:
    door = caller(leaf("a", maximum=ONE), leaf("b", maximum=ONE), parent("p", leaf("c")))
    (record,) = records(
        door, leaf("a", maximum=TWO), leaf("b", maximum=ONE), parent("p", leaf("c"))
    )
    assert (record.kind, record.object_id, record.change, record.detail) == (
        QUEUE,
        "root.a",
        SET,
        QUEUE_MAX,
    )
    assert (record.resource, record.reference_id, record.message) == (TWO, "", "")
    assert (record.rm_id, record.partition, record.timestamp_ns) == ("rm", "default", START)


@pytest.mark.remuda_rule("EVT-67", "EVT-68", "QUE-5")
@pytest.mark.parametrize("detail", [QUEUE_MAX, QUEUE_GUARANTEED])
@pytest.mark.parametrize(
    "before, after, told",
    [
        (ONE, TWO, [TWO]),
        (None, TWO, [TWO]),
        (TWO, None, [{}]),
        (TWO, {}, [{}]),
        (TWO, {"vcore": 2, "gpu": 1}, [{"vcore": 2, "gpu": 1}]),
        (TWO, TWO, []),
        (None, {}, []),
    ],
)
def test_amounts_are_told_when_they_differ(
    detail: int, before: dict[str, int] | None, after: dict[str, int] | None, told: list[object]
) -> None:
    def with_amount(amount: dict[str, int] | None) -> QueueConfig:
        return leaf("a", amount) if detail == QUEUE_MAX else leaf("a", None, amount)

    found = records(caller(with_amount(before)), with_amount(after))
    assert [(r.kind, r.object_id, r.change, r.detail) for r in found] == [
        (QUEUE, "root.a", SET, detail)
    ] * len(told)
    assert [r.resource or {} for r in found] == told


@pytest.mark.remuda_rule("EVT-67", "D-C4", "QUE-5")
def test_a_maximum_of_zeros_is_told_as_set() -> None:
    door = caller(leaf("a"))
    (record,) = records(door, leaf("a", maximum={"vcore": 0}))
    assert (record.detail, record.resource) == (QUEUE_MAX, {"vcore": 0})


@pytest.mark.remuda_rule("EVT-62", "EVT-71", "EVT-74")
def test_new_queues_are_told_parents_first_without_their_amounts() -> None:
    door = caller(leaf("a"), parent("p", leaf("x")))
    new = parent("new", leaf("z", TWO, ONE), leaf("y"), maximum=TWO)
    told = change(door, leaf("a"), parent("p", leaf("x"), leaf("w", TWO)), new)
    paths = ["root.p.w", "root.new", "root.new.z", "root.new.y"]
    assert told == [(QUEUE, path, ADD, DETAILS_NONE) for path in paths]


@pytest.mark.remuda_rule("EVT-69", "RLD-26", "RLD-27")
@pytest.mark.parametrize("to_leaf", [True, False])
def test_a_change_of_kind_is_told(*, to_leaf: bool) -> None:
    before, after = (parent("a"), leaf("a")) if to_leaf else (leaf("a"), parent("a"))
    (record,) = records(caller(before), after)
    assert (record.kind, record.object_id) == (QUEUE, "root.a")
    assert (record.change, record.detail, record.resource or {}) == (SET, QUEUE_TYPE, {})
    assert record.message == ("leaf queue: true" if to_leaf else "leaf queue: false")


@pytest.mark.remuda_rule("EVT-69", "EVT-62", "EVT-71")
def test_a_leaf_that_gets_children() -> None:
    told = change(caller(leaf("a")), parent("a", leaf("x")))
    assert sorted(told) == sorted(
        [(QUEUE, "root.a", SET, QUEUE_TYPE), (QUEUE, "root.a.x", ADD, DETAILS_NONE)]
    )


@pytest.mark.remuda_rule("EVT-72", "EVT-64")
def test_draining_is_not_told_and_removal_is() -> None:
    door = caller(leaf("a"), parent("p", leaf("x")))
    assert change(door, leaf("a")) == []
    assert events(door.wait(10 * SECOND)) == [
        (QUEUE, "root.p.x", REMOVE, DETAILS_NONE),
        (QUEUE, "root.p", REMOVE, DETAILS_NONE),
    ]


@pytest.mark.remuda_rule("EVT-72", "OBJ-2", "EVT-74")
def test_coming_back_is_not_told() -> None:
    door = caller(leaf("a"), leaf("b", maximum=ONE))
    assert change(door, leaf("a")) == []
    assert change(door, leaf("a"), leaf("b", maximum=ONE)) == []
    assert events(door.wait(20 * SECOND)) == []


@pytest.mark.remuda_rule("OBJ-7", "RLD-25", "EVT-67")
def test_a_dynamic_queue_that_is_configured_tells_changed_values_only() -> None:
    door = caller(parent("p", template=TemplateConfig(2, maximum=TWO)), placement_rules=(CREATING,))
    start(door, "1", "root.p.x")
    assert change(door, parent("p", leaf("x", maximum=TWO))) == []
    assert change(door, parent("p", leaf("x", maximum=ONE))) == [
        (QUEUE, "root.p.x", SET, QUEUE_MAX)
    ]


@pytest.mark.remuda_rule("EVT-74")
def test_settings_without_a_record() -> None:
    door = caller(leaf("a"))
    changed = leaf("a", None, None, {"priority.offset": "5"}, max_applications=4)
    assert change(door, changed, placement_rules=(CREATING,), node_sort_policy="binpacking") == []


@pytest.mark.remuda_rule("EVT-74", "SI-86", "D-C15")
def test_a_refused_change_gives_no_record() -> None:
    door = caller(leaf("a"), leaf("b", maximum=ONE))
    door.app("1")
    found = door.reload(parent("a"), leaf("b", maximum=TWO, limits=(users("ann", ONE),)), leaf("c"))
    assert refusal(found)
    assert events(found) == []


@pytest.mark.remuda_rule("EVT-74", "EVT-71")
def test_back_and_forth_tells_each_difference_once() -> None:
    first = (leaf("a", ONE, ONE), parent("p", leaf("x")))
    second = (leaf("a", TWO), parent("p", leaf("x"), leaf("y")), leaf("b"))
    door = caller(*first)
    assert sorted(change(door, *second)) == sorted(
        [
            (QUEUE, "root.a", SET, QUEUE_MAX),
            (QUEUE, "root.a", SET, QUEUE_GUARANTEED),
            (QUEUE, "root.p.y", ADD, DETAILS_NONE),
            (QUEUE, "root.b", ADD, DETAILS_NONE),
        ]
    )
    assert sorted(change(door, *first)) == sorted(
        [(QUEUE, "root.a", SET, QUEUE_MAX), (QUEUE, "root.a", SET, QUEUE_GUARANTEED)]
    )
    assert sorted(events(door.wait(10 * SECOND))) == sorted(
        [
            (QUEUE, "root.p.y", REMOVE, DETAILS_NONE),
            (QUEUE, "root.b", REMOVE, DETAILS_NONE),
        ]
    )
