"""Priorities of asks, applications and queues (chapter 50, A.6)."""

from __future__ import annotations

import pytest

from remuda.config.schema import QueueConfig
from tests.unit.core.door import Caller, leaf, parent

LOWEST, HIGHEST = -(2**31), 2**31 - 1


def two_queues(
    properties: dict[str, str], priority: int, rival: int, *, plain_first: bool
) -> list[str]:
    """The order of one ask in a queue with properties and one in a plain queue.

    The names decide ties: the plain queue comes first by name or last.
    """
    plain, special = ("a", "b") if plain_first else ("b", "a")
    door = Caller(leaf(plain), leaf(special, properties=properties))
    door.node("n1", {"vcore": 10})
    door.app("plain", f"root.{plain}")
    door.app("special", f"root.{special}")
    door.ask("plain", "plain", {"vcore": 1}, priority=rival)
    door.ask("special", "special", {"vcore": 1}, priority=priority)
    return door.order()


@pytest.mark.remuda_rule("QUE-29", "QUE-33")
@pytest.mark.parametrize(
    "offset, policy, priority, shown",
    [
        ("5", "default", LOWEST, LOWEST),
        ("5", "fence", LOWEST, LOWEST),
        ("5", "fence", 100, 5),
        ("2147483647", "default", 5, HIGHEST),
        ("-2147483648", "default", -5, LOWEST),
        ("5", "default", 100, 105),
        ("-5", "default", 100, 95),
        ("0", "fence", -100, 0),
    ],
)
def test_what_a_queue_shows_of_its_priority(
    offset: str, policy: str, priority: int, shown: int
) -> None:
    properties = {"priority.offset": offset, "priority.policy": policy}
    # Against a rival of exactly that priority the name decides, in both directions...
    assert two_queues(properties, priority, shown, plain_first=True) == ["plain", "special"]
    assert two_queues(properties, priority, shown, plain_first=False) == ["special", "plain"]
    # ...and against one above or below, the priority does.
    if shown < HIGHEST:
        above = two_queues(properties, priority, shown + 1, plain_first=False)
        assert above == ["plain", "special"]
    if shown > LOWEST:
        below = two_queues(properties, priority, shown - 1, plain_first=True)
        assert below == ["special", "plain"]


def service_tree() -> tuple[QueueConfig, ...]:
    """The tree of QUE-31."""
    fence = {"priority.policy": "fence"}
    system = parent(
        "system",
        leaf("normal"),
        leaf("high", properties={"priority.offset": "1000"}),
        leaf("low", properties={"priority.offset": "-1000"}),
    )
    tenant_a = parent(
        "tenant-a", leaf("a1"), leaf("a2"), properties={**fence, "priority.offset": "10"}
    )
    tenant_b = parent("tenant-b", leaf("b1"), leaf("b2"), properties=fence)
    return system, parent("tenants", tenant_a, tenant_b, properties=fence)


@pytest.mark.remuda_rule("QUE-31", "QUE-28", "QUE-30", "CYC-10")
def test_the_worked_example_as_a_full_run() -> None:
    door = Caller(*service_tree())
    door.node("n1", {"vcore": 100})
    wanted = {
        "root.system.normal": (10, 2),
        "root.system.high": (1,),
        "root.system.low": (3,),
        "root.tenants.tenant-a.a1": (8, 5),
        "root.tenants.tenant-a.a2": (6, 4),
        "root.tenants.tenant-b.b1": (9, 7),
        "root.tenants.tenant-b.b2": (8,),
    }
    for path, priorities in wanted.items():
        name = path.rpartition(".")[2]
        door.app(name, path)
        for priority in priorities:
            door.ask(name, f"{name}:{priority}", {"vcore": 1}, priority=priority)
    assert door.order() == [
        "high:1", "normal:10", "normal:2",
        "a1:8", "a2:6", "a1:5", "a2:4",
        "b1:9", "b2:8", "b1:7",
        "low:3",
    ]  # fmt: skip


@pytest.mark.remuda_rule("QUE-28", "QUE-29")
def test_the_worked_example_shows_its_priorities() -> None:
    door = Caller(*service_tree())
    door.app("app", "root.tenants.tenant-a.a1")
    assert door.queue("root.tenants.tenant-a.a1").current_priority == LOWEST
    door.ask("app", "k", {"vcore": 1}, priority=8)
    assert door.queue("root.tenants.tenant-a.a1").current_priority == 8
    assert door.queue("root.tenants.tenant-a").current_priority == 8
    assert door.queue("root.tenants").current_priority == 10
    assert door.queue("root").current_priority == 0


@pytest.mark.remuda_rule("QUE-27", "QUE-30")
def test_priorities_follow_asks_that_come_change_and_go() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 1})
    door.app("app")
    door.ask("app", "low", {"vcore": 1}, priority=-3)
    assert door.queue("root.a").current_priority == -3
    door.ask("app", "high", {"vcore": 2}, priority=7)
    assert door.apps()["app"].max_request_priority == 7
    door.ask("app", "high", {"vcore": 2}, priority=2)
    assert door.queue("root").current_priority == 2
    door.release_ask("app", "high")
    assert door.queue("root").current_priority == -3
    assert door.order() == ["low"]
    assert door.queue("root").current_priority == LOWEST
