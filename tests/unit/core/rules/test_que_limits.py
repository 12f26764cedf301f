"""Limits of queues and the counters they are compared with (chapter 50 section A.2)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ADD,
    APP,
    DETAILS_NONE,
    QUEUE,
    QUEUE_APP,
    QUEUE_GUARANTEED,
    QUEUE_MAX,
    REMOVE,
    SET,
)
from remuda.core.messages.gates import QUEUE_QUOTA
from tests.unit.core.door import CREATING, Caller, events, leaf, of, parent

ONE = {"vcore": 1}


def amounts_told(effects: list[e.Effect]) -> list[tuple[str, int, Mapping[str, int]]]:
    """The events about maximum and guarantee: path, which of the two, the value now."""
    return [
        (record.object_id, record.detail, dict(record.resource or {}))
        for record in of(effects, e.EventRecord)
        if record.kind == QUEUE and record.change == SET
    ]


def caller(*queues: object, **other: object) -> Caller:
    """A large node and these queues."""
    door = Caller(*queues, **other)  # type: ignore[arg-type]
    door.node("n1", {"vcore": 100, "memory": 100})
    return door


# --------------------------------------------------------------------- maximum and guarantee


@pytest.mark.remuda_rule("QUE-5")
@pytest.mark.parametrize(
    "given, maximum, guaranteed",
    [
        ({"memory": 0, "vcore": 1}, {"memory": 0, "vcore": 1}, {"memory": 0, "vcore": 1}),
        ({"memory": 0}, {"memory": 0}, None),
        ({"memory": 5}, {"memory": 5}, {"memory": 5}),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_what_is_set_by_a_configured_amount(
    given: dict[str, int] | None,
    maximum: dict[str, int] | None,
    guaranteed: dict[str, int] | None,
) -> None:
    # At creation, and when an existing queue that had amounts gets these instead.
    created = caller(leaf("a", given, given))
    changed = caller(leaf("a", {"gpu": 9}, {"gpu": 9}))
    effects = changed.reload(leaf("a", given, given))
    for door in (created, changed):
        found = door.queue("root.a")
        assert (found.maximum, found.guaranteed) == (maximum, guaranteed)
    assert amounts_told(effects) == [
        ("root.a", QUEUE_MAX, maximum or {}),
        ("root.a", QUEUE_GUARANTEED, guaranteed or {}),
    ]


@pytest.mark.remuda_rule("QUE-5")
def test_what_a_maximum_of_zeros_forbids_stays_forbidden_until_it_is_cleared() -> None:
    door = caller(leaf("a", {"vcore": 0}))
    door.app("app")
    door.ask("app", "k", ONE, 2)
    assert door.place() == []
    assert amounts_told(door.reload(leaf("a", {"vcore": 1}))) == [("root.a", QUEUE_MAX, ONE)]
    assert len(door.place()) == 1
    assert amounts_told(door.reload(leaf("a"))) == [("root.a", QUEUE_MAX, {})]
    assert len(door.place()) == 1


@pytest.mark.remuda_rule("QUE-6")
def test_root_ignores_configured_amounts() -> None:
    fields = {"maximum": {"vcore": 1}, "guaranteed": {"vcore": 1}}
    door = Caller(leaf("a"), root=fields)
    assert (door.queue("root").maximum, door.queue("root").guaranteed) == (None, None)
    door.node("n1", {"vcore": 10})
    door.reload(leaf("a"), leaf("b"), root=fields)
    assert (door.queue("root").maximum, door.queue("root").guaranteed) == ({"vcore": 10}, None)
    door.app("app")
    door.ask("app", "k", ONE, 4)
    assert len(door.place()) == 4


@pytest.mark.remuda_rule("QUE-6")
def test_the_maximum_of_root_is_told_with_its_new_value() -> None:
    door = Caller(leaf("a"))
    story = [
        (door.node("n1", {"vcore": 10, "memory": 5}), {"vcore": 10, "memory": 5}),
        (door.node("n2", {"vcore": 1}, c.CREATE_DRAIN), {"vcore": 11, "memory": 5}),
        (door.node("n1", {"vcore": 3}, c.UPDATE), {"vcore": 4}),
        (door.node("n1", action=c.DRAIN_NODE), None),
        (door.node("n2", action=c.DECOMISSION), {"vcore": 3}),
        (door.node("n1", action=c.DECOMISSION), {}),
    ]
    for effects, expected in story:
        told = [(path, detail, now) for path, detail, now in amounts_told(effects)]
        assert told == ([] if expected is None else [("root", QUEUE_MAX, expected)])
    assert door.queue("root").maximum is None


@pytest.mark.remuda_rule("QUE-6")
def test_a_cluster_of_nothing_but_zeros_has_no_maximum() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 0})
    assert not any((door.queue("root").maximum or {}).values())
    door.app("app")
    door.ask("app", "k", ONE)
    assert door.place() == []
    door.node("n2", ONE)
    assert door.order() == ["k"]


# ------------------------------------------------------------------------------ quota tags


def quota(amount: str) -> dict[str, str]:
    """The tag that limits the queue of a name space to so much memory."""
    return {
        "namespace.resourcequota": f'{{"resources":{{"memory":{{"value":{amount}}}}}}}',
        "namespace.resourceguaranteed": '{"resources":{"memory":{"value":1}}}',
    }


@pytest.mark.remuda_rule("QUE-7")
def test_the_last_of_two_quotas_counts_also_when_it_is_lower() -> None:
    door = caller(leaf("a"), placement_rules=(CREATING,))
    door.app("one", "root.ns", tags=quota("20"))
    door.app("two", "root.ns", tags=quota("6"))
    assert door.queue("root.ns").maximum == {"memory": 6}
    door.ask("one", "k", {"memory": 4}, 3)
    assert len(door.place()) == 1
    for nothing in ("0", '"6"', "-3"):
        door.app(f"app-{nothing}", "root.ns", tags=quota(nothing))
        assert door.queue("root.ns").guaranteed == {"memory": 1}
    door.app("three", "root.ns", tags=quota("8"))
    assert len(door.place()) == 1


@pytest.mark.remuda_rule("QUE-7")
def test_a_managed_queue_keeps_its_own_amounts_whatever_the_tags_say() -> None:
    door = caller(leaf("a", {"memory": 9}, {"memory": 2}))
    assert amounts_told(door.app("app", tags=quota("5"))) == []
    found = door.queue("root.a")
    assert (found.maximum, found.guaranteed) == ({"memory": 9}, {"memory": 2})


# -------------------------------------------------------------------------------- charging


@pytest.mark.remuda_rule("QUE-8")
def test_a_maximum_is_used_up_exactly() -> None:
    door = caller(parent("p", leaf("a", {"vcore": 7})))
    door.app("app", "root.p.a")
    door.ask("app", "three", {"vcore": 3}, 3)
    door.ask("app", "one", ONE, 3)
    assert [identity for identity, _ in door.place()] == ["three-0", "three-1", "one-0"]
    assert door.queue("root.p.a").allocated == {"vcore": 7}


@pytest.mark.remuda_rule("QUE-8")
@pytest.mark.parametrize("level", ["root.p", "root.p.q", "root.p.q.a"])
def test_every_level_of_the_path_must_agree_and_a_refusal_charges_none(level: str) -> None:
    maximum = {path: ({"vcore": 2} if path == level else None) for path in
               ("root.p", "root.p.q", "root.p.q.a")}  # fmt: skip
    inner = parent("q", leaf("a", maximum["root.p.q.a"]), maximum=maximum["root.p.q"])
    door = caller(parent("p", inner, maximum=maximum["root.p"]))
    door.app("app", "root.p.q.a")
    door.ask("app", "k", {"vcore": 2, "memory": 1}, 2)
    assert len(door.place()) == 1
    for path in ("root", *maximum):
        assert door.queue(path).allocated == {"vcore": 2, "memory": 1}
        assert door.queue(path).pending == {"vcore": 2, "memory": 1}
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-8")
def test_usage_beyond_a_lowered_maximum_blocks_only_asks_for_that_type() -> None:
    door = caller(leaf("a", {"vcore": 10, "memory": 10}))
    door.app("app")
    door.ask("app", "full", {"memory": 10})
    door.place()
    door.reload(leaf("a", {"vcore": 10, "memory": 4}))
    for key, size in (("both", {"vcore": 1, "memory": 1}), ("zero", {"vcore": 1, "memory": 0})):
        door.ask("app", key, size)
    assert door.order() == ["zero"]


@pytest.mark.remuda_rule("QUE-8", "QUE-6")
def test_a_type_that_left_the_cluster_is_rejected_by_root() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.node("n2", {"vcore": 10, "gpu": 1})
    door.app("app")
    door.ask("app", "gpu", {"vcore": 1, "gpu": 1}, 2)
    assert door.place() == [("gpu-0", "n2")]
    door.node("n2", action=c.DECOMISSION)
    assert door.place() == []
    finding = door.apps()["app"].requests[0].finding
    assert finding is not None
    assert (finding.gate, finding.subject) == (QUEUE_QUOTA, "root")
    door.node("n3", {"vcore": 10, "gpu": 1})
    assert door.place() == [("gpu-1", "n3")]


@pytest.mark.remuda_rule("QUE-9")
def test_reported_allocations_may_exceed_the_maximum_on_every_level() -> None:
    door = caller(parent("p", leaf("a", {"vcore": 1}), maximum={"vcore": 2}))
    door.app("app", "root.p.a")
    effects = door.existing("app", "run", "n1", {"vcore": 90, "memory": 3})
    assert len(of(effects, e.AllocationNew)) == 1
    for path in ("root", "root.p", "root.p.a"):
        assert door.queue(path).allocated == {"vcore": 90, "memory": 3}
    door.ask("app", "cores", ONE)
    door.ask("app", "bytes", {"memory": 1})
    assert door.order() == ["bytes"]
    door.release("app", "run")
    assert door.order() == ["cores"]


@pytest.mark.remuda_rule("QUE-10")
def test_what_was_given_back_can_be_used_again_and_no_more() -> None:
    door = caller(parent("p", leaf("a"), leaf("b"), maximum={"vcore": 4}))
    for name in ("a", "b"):
        door.app(name, f"root.p.{name}")
        door.ask(name, name, {"vcore": 2}, 3)
    assert len(door.place()) == 2
    door.release("a", "a-0")
    assert door.queue("root.p").allocated == {"vcore": 2}
    assert door.queue("root.p.b").allocated == {"vcore": 2}
    assert len(door.place()) == 1
    # The same release again, and one of the application that does not have it, take nothing.
    for app, identity in (("a", "a-0"), ("a", "b-0"), ("nobody", "b-0")):
        door.release(app, identity)
    assert door.queue("root.p").allocated == {"vcore": 4}
    assert door.place() == []
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-11", "QUE-46", "QUE-34")
def test_pending_never_falls_below_zero_however_an_ask_changes() -> None:
    # Upstream a replaced ask that was placed all the same made pending negative, which hid the
    # queue from then on (QUE-34).
    door = Caller(parent("p", leaf("a")))
    door.node("n1", {"vcore": 4, "memory": 100})
    door.app("app", "root.p.a")
    door.ask("app", "k", {"vcore": 2, "memory": 1}, 3)
    door.step(1)
    door.ask("app", "k", {"vcore": 1}, 2)  # a smaller one, of another type set, one to come
    for path in ("root", "root.p", "root.p.a"):
        assert {k: v for k, v in door.queue(path).pending.items() if v} == {"vcore": 1}
    door.place()
    door.ask("app", "k", {"vcore": 1}, 1)  # fewer than were made
    door.release_ask("app", "k")
    door.release_ask("app", "k")
    for path in ("root", "root.p", "root.p.a"):
        assert not any(door.queue(path).pending.values())
    door.ask("app", "next", {"vcore": 1, "memory": 1})
    assert door.order() == ["next"]
    door.scheduler.check()


# ------------------------------------------------------------------------- leaving a queue


@pytest.mark.remuda_rule("QUE-12")
def test_an_application_takes_everything_it_had_out_of_the_whole_path() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b")))
    door.node("n1", {"vcore": 10})
    door.app("stays", "root.p.b")
    door.ask("stays", "s", ONE, 2, priority=-4)
    door.place(1)
    door.app("goes", "root.p.a")
    door.ask("goes", "g", ONE, 2, priority=7)
    door.place(1)
    door.node("n1", {"vcore": 2}, c.UPDATE)
    door.step()
    assert [door.queue(path).current_priority for path in ("root", "root.p")] == [7, 7]
    told = [event for event in events(door.remove("goes")) if event[0] == QUEUE]
    assert told == [(QUEUE, "root.p.a", REMOVE, QUEUE_APP)]
    for path in ("root", "root.p"):
        found = door.queue(path)
        assert (found.allocated, found.pending) == (ONE, ONE)
        assert (found.current_priority, found.running_applications) == (-4, 1)
    gone = door.queue("root.p.a")
    assert not any(gone.allocated.values())
    assert not any(gone.pending.values())
    assert (gone.current_priority, gone.running_applications) == (-(2**31), 0)


@pytest.mark.remuda_rule("QUE-12")
def test_the_removal_is_told_for_queue_and_application() -> None:
    door = caller(leaf("a"))
    assert (QUEUE, "root.a", ADD, QUEUE_APP) in events(door.app("app"))
    door.ask("app", "k", ONE, 2)
    door.place()
    told = events(door.remove("app"))
    assert told.count((QUEUE, "root.a", REMOVE, QUEUE_APP)) == 1
    assert told.count((APP, "app", REMOVE, DETAILS_NONE)) == 1


@pytest.mark.remuda_rule("QUE-12")
def test_removing_an_unknown_application_changes_nothing() -> None:
    door = caller(leaf("a"))
    door.app("app")
    door.ask("app", "k", ONE, 2)
    door.place(1)
    before = door.queue("root")
    assert events(door.remove("nobody")) == []
    assert door.queue("root") == before
