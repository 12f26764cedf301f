"""Maximum, headroom and accounting of queues (chapter 50, A.2 and A.3)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import Caller, leaf, parent


def holding_beyond_nodes() -> Caller:
    """The tree of the example in QUE-13."""
    inner = leaf("b", maximum={"memory": 50, "gpu": 2})
    door = Caller(parent("a", inner, maximum={"vcore": 10000}))
    door.node("n1", {"vcore": 20000, "memory": 100})
    door.app("app", "root.a.b")
    door.existing("app", "k", "n1", {"vcore": 4000, "memory": 10, "gpu": 1, "pods": 3})
    return door


@pytest.mark.remuda_rule("QUE-13")
def test_headroom_is_the_smallest_of_the_path_per_type() -> None:
    door = holding_beyond_nodes()
    assert door.queue("root.a.b").headroom == {"gpu": 1, "memory": 40, "vcore": 6000}
    assert door.queue("root.a").headroom == {"vcore": 6000, "memory": 90}
    assert door.queue("root").headroom == {"vcore": 16000, "memory": 90}


@pytest.mark.remuda_rule("QUE-13", "RES-30")
def test_a_type_limited_nowhere_is_not_in_the_headroom() -> None:
    headroom = holding_beyond_nodes().queue("root.a.b").headroom
    assert headroom is not None
    assert "pods" not in headroom


@pytest.mark.remuda_rule("QUE-13", "QUE-6", "NOD-5")
def test_headroom_turns_negative_when_capacity_shrinks_below_usage() -> None:
    door = holding_beyond_nodes()
    door.node("n1", {"vcore": 3000, "memory": 100}, c.UPDATE)
    assert door.queue("root").headroom == {"vcore": -1000, "memory": 90}
    assert door.queue("root.a.b").headroom == {"gpu": 1, "memory": 40, "vcore": -1000}
    door.ask("app", "more", {"vcore": 1})
    door.ask("app", "other", {"memory": 1})
    assert door.order() == ["other"]


@pytest.mark.remuda_rule("QUE-6", "CYC-4")
def test_the_maximum_of_root_is_the_sum_of_all_nodes() -> None:
    door = Caller(leaf("a"))
    assert door.queue("root").maximum is None
    door.node("n1", {"vcore": 10, "memory": 5})
    door.node("n2", {"vcore": 1, "gpu": 1}, c.CREATE_DRAIN)
    assert door.queue("root").maximum == {"vcore": 11, "memory": 5, "gpu": 1}
    door.node("n1", action=c.DECOMISSION)
    assert {t: v for t, v in (door.queue("root").maximum or {}).items() if v} == {
        "vcore": 1,
        "gpu": 1,
    }
    door.node("n2", action=c.DECOMISSION)
    assert door.queue("root").maximum is None


@pytest.mark.remuda_rule("QUE-5", "RES-32")
@pytest.mark.parametrize(
    "maximum, placed",
    [
        ({"memory": 0, "vcore": 1}, ["cores"]),
        ({"memory": 0}, ["cores"]),
        ({"memory": 0, "vcore": 0}, []),
        ({}, ["bytes", "cores"]),
        (None, ["bytes", "cores"]),
        ({"gpu": 0}, ["bytes", "cores"]),
    ],
)
def test_an_explicit_zero_is_a_hard_limit(
    maximum: dict[str, int] | None, placed: list[str]
) -> None:
    door = Caller(leaf("a", maximum=maximum))
    door.node("n1", {"vcore": 10, "memory": 10})
    door.app("app")
    door.ask("app", "bytes", {"memory": 1})
    door.ask("app", "cores", {"vcore": 1})
    assert door.order() == placed


@pytest.mark.remuda_rule("QUE-5")
def test_a_guarantee_of_zeros_is_no_guarantee() -> None:
    door = Caller(
        leaf("a", guaranteed={"memory": 0}), leaf("b", guaranteed={"memory": 0, "vcore": 1})
    )
    assert not door.queue("root.a").guaranteed
    assert door.queue("root.b").guaranteed == {"memory": 0, "vcore": 1}


@pytest.mark.remuda_rule("QUE-8", "QUE-9", "SI-41")
def test_only_the_types_an_ask_wants_are_compared_with_the_maximum() -> None:
    door = Caller(leaf("a", maximum={"vcore": 10, "memory": 10}))
    door.node("n1", {"vcore": 100, "memory": 100})
    door.app("app")
    door.existing("app", "big", "n1", {"memory": 20})  # beyond the maximum: it exists
    assert door.queue("root.a").allocated == {"memory": 20}
    door.ask("app", "bytes", {"memory": 1})
    door.ask("app", "cores", {"vcore": 10})
    door.ask("app", "core", {"vcore": 1})
    assert door.order() == ["cores"]


@pytest.mark.remuda_rule("QUE-8", "RES-29", "RES-34")
def test_a_type_the_cluster_does_not_have_is_never_placed() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "gpu", {"gpu": 1, "vcore": 1})
    door.ask("app", "none", {"gpu": 0, "vcore": 1})
    assert door.order() == ["none"]


@pytest.mark.remuda_rule("QUE-8", "QUE-13")
def test_the_limit_of_a_parent_binds_all_its_leaves_together() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b"), maximum={"vcore": 3}))
    door.node("n1", {"vcore": 10})
    door.app("x", "root.p.a")
    door.app("y", "root.p.b")
    door.ask("x", "x", {"vcore": 1}, 5)
    door.ask("y", "y", {"vcore": 1}, 5)
    assert len(door.place()) == 3
    assert door.queue("root.p").allocated == {"vcore": 3}
    door.release("x", key="x")
    door.place()
    assert door.queue("root.p").allocated == {"vcore": 3}


@pytest.mark.remuda_rule("QUE-2", "QUE-10", "QUE-11", "QUE-12", "SI-32")
def test_pending_and_allocated_move_on_the_whole_path() -> None:
    door = Caller(parent("p", leaf("a")))
    door.node("n1", {"vcore": 10})
    door.app("app", "root.p.a")
    door.ask("app", "k", {"vcore": 2, "memory": 0}, 3)
    for path in ("root", "root.p", "root.p.a"):
        assert door.queue(path).pending["vcore"] == 6
    door.step(2)
    for path in ("root", "root.p", "root.p.a"):
        assert door.queue(path).pending["vcore"] == 2
        assert door.queue(path).allocated["vcore"] == 4
    door.release("app", "k-0")
    assert door.queue("root.p").allocated["vcore"] == 2
    door.remove("app")
    for path in ("root", "root.p", "root.p.a"):
        assert not any(door.queue(path).pending.values())
        assert not any(door.queue(path).allocated.values())


@pytest.mark.remuda_rule("RES-25", "RES-26")
def test_amounts_at_the_end_of_the_range_stay_exact() -> None:
    most = 2**63 - 1
    door = Caller(leaf("a"))
    door.node("n1", {"bytes": most})
    door.node("n2", {"bytes": most})
    assert door.queue("root").maximum == {"bytes": most}
    door.app("app")
    door.ask("app", "k", {"bytes": most}, 2)
    assert door.queue("root.a").pending == {"bytes": most}
