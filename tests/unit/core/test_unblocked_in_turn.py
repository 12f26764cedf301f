"""Where many wait for the same room only those are looked at whose turn it is (CYC-25)."""

from __future__ import annotations

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, leaf, of, parent

# Asks of the tenant on each of ten nodes.
EACH = 4
SIZE = {"vcore": 60, "memory": 60}


def tree(count: int, levels: int, prefix: str = "q") -> list[tuple[str, QueueConfig]]:
    """So many leaves, each with its path below the parent, six to a parent if there are levels."""
    if levels == 1:
        return [(f"{prefix}{n:03}", leaf(f"{prefix}{n:03}")) for n in range(count)]
    found = []
    for group in range(6):
        below = tree(count // 6, levels - 1, f"{prefix}{group}")
        name = f"p{prefix}{group}"
        inner = parent(name, *{id(each): each for _, each in below}.values())
        found += [(f"{name}.{path}", inner) for path, _ in below]
    return found


class Crowd(Caller):
    """A tenant fills ten nodes; ``count`` queues wait, of whose wishes none exceeds another."""

    def __init__(self, count: int, levels: int) -> None:
        leaves = tree(count, levels)
        tops = {each.name: each for _, each in leaves}
        super().__init__(leaf("tenant"), *tops.values())
        for node in range(10):
            self.node(f"n{node}", {kind: EACH * size for kind, size in SIZE.items()})
        self.app("tenant", "root.tenant")
        self.ask("tenant", "tenant", SIZE, 10 * EACH)
        self.running = [identity for identity, _ in self.place()]
        assert len(self.running) == 10 * EACH
        self.names = [path.rpartition(".")[2] for path, _ in leaves]
        for number, (path, _) in enumerate(leaves):
            name = self.names[number]
            self.app(name, f"root.{path}")
            more, less = number + 1, len(leaves) - number
            self.ask(name, f"{name}/a", {"vcore": 60, "memory": 30}, more)
            self.ask(name, f"{name}/b", {"vcore": 30, "memory": 60}, less)
        assert self.place() == []

    def let_in(self, count: int) -> tuple[list[str], int]:
        """End so many allocations of the tenant; who was let in, and how much was decided."""
        self.send(
            c.UpdateAllocations(
                self.rm,
                releases=tuple(
                    c.AllocationRelease("tenant", self.running.pop(), termination_type=1)
                    for _ in range(count)
                ),
            )
        )
        placed: list[str] = []
        decisions = 0
        while self.scheduler.has_work():
            decisions += 1
            placed += [new.ask.application_id for new in of(self.step(1), e.AllocationNew)]
        return placed, decisions


@pytest.mark.remuda_rule("CYC-25", "QUE-35")
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_release_looks_at_those_it_lets_in_and_not_at_all_that_wait(levels: int) -> None:
    door = Crowd(216, levels)
    # All want the same sum (217 x 90 of 2400), so the name decides: on each level the first.
    placed, decisions = door.let_in(1)
    assert placed == [door.names[0]]
    assert decisions <= 8
    door.scheduler.check()
    # After that each has its turn: the others have used nothing yet.
    for _ in range(5):
        placed, decisions = door.let_in(1)
        assert len(placed) == 1
        assert placed[0] != door.names[0]
        assert decisions <= 8
    door.scheduler.check()


@pytest.mark.remuda_rule("CYC-25", "QUE-35")
def test_many_releases_look_at_hardly_more_than_they_let_in() -> None:
    door = Crowd(216, 1)
    placed, decisions = door.let_in(20)
    assert placed == door.names[:20]
    assert decisions <= 6 * 20
    door.scheduler.check()


@pytest.mark.remuda_rule("CYC-25", "NOD-14")
def test_those_that_wait_for_a_node_are_looked_at_in_their_turn_too() -> None:
    # The cluster as a whole has room for all, no node has.
    door = Caller(*(leaf(f"q{number:03}") for number in range(200)))
    for node in range(400):
        door.node(f"n{node:03}", {"vcore": 5})
    for number in range(200):
        door.app(f"a{number:03}", f"root.q{number:03}")
        door.ask(f"a{number:03}", f"k{number:03}", {"vcore": 6})
    assert door.place() == []
    door.node("large", {"vcore": 13})
    assert door.place(1) == [("k000-0", "large")]
    assert door.place(1) == [("k001-0", "large")]
    decisions = 0
    while door.scheduler.has_work():
        door.step(1)
        decisions += 1
    assert decisions <= 8
    door.scheduler.check()


@pytest.mark.remuda_rule("CYC-25", "CYC-12", "REST-120")
def test_an_ask_that_comes_while_others_are_unblocked_is_served_in_order() -> None:
    door = Crowd(36, 1)
    door.send(
        c.UpdateAllocations(
            door.rm,
            releases=(c.AllocationRelease("tenant", door.running.pop(), termination_type=1),),
        )
    )
    # Before anything is decided one more queue has a wish: larger, so that it is first.
    door.ask(door.names[20], "more", {"vcore": 60, "memory": 60}, 9, priority=1)
    assert [identity for identity, _ in door.place()] == ["more-0"]
    door.scheduler.check()
