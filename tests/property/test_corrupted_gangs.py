"""What is kept of gangs is corrupted, one thing at a time, and must be noticed by the check.

One application waits for the quota, one has placeholders and holds its real asks back, one has
replacements in flight on the same and on another node, one cannot replace its placeholder.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.base.errors import InvariantViolation
from remuda.core.messages import commands as c
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.gang import Gang
from remuda.core.model.partition import Partition
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.unit.core.door import Caller, leaf

ONE = {"vcore": 1}


def refuse(question: NodesQuestion) -> NodesAnswer:
    """``stay`` fits nowhere; ``move`` only on n2."""
    if question.allocation_key == "stay":
        return NodesAnswer(-1, ("no",) * len(question.node_ids))
    if question.allocation_key == "move":
        for index, node_id in enumerate(question.node_ids):
            if node_id == "n2":
                return NodesAnswer(index, ("no",) * index)
        return NodesAnswer(-1, ("no",) * len(question.node_ids))
    return NodesAnswer(0)


class World:
    """The scheduler and short ways to its parts."""

    def __init__(self) -> None:
        self.door = door = Caller(leaf("a", {"vcore": 12}), predicates=refuse)
        door.node("n1", {"vcore": 20})
        self.submit("holds", {"vcore": 3})
        self.hold("holds", "h1")
        door.ask("holds", "h2", {"vcore": 1, "gpu": 1}, placeholder=True, task_group="g")
        self.want("holds", "real")
        self.submit("swaps", {})
        for key in ("s1", "s2", "s3"):
            self.hold("swaps", key)
        self.submit("stuck", {})
        self.hold("stuck", "k1")
        door.step()
        door.node("n2", {"vcore": 20})
        self.want("swaps", "same")
        door.step()
        self.want("swaps", "move")
        self.want("stuck", "stay")
        door.step()
        self.submit("gated", {"vcore": 12})
        self.hold("gated", "g1")
        door.step()
        door.scheduler.check()
        assert len(self.gang("swaps").replacing) == 2
        assert self.partition.waiting.failed_swaps

    def submit(self, name: str, total: dict[str, int]) -> None:
        """An application that may want placeholders first."""
        new = c.NewApplication(name, "root.a", user="ann", placeholder_ask=total)
        self.door.send(c.UpdateApplications(self.door.rm, (new,)))

    def hold(self, name: str, key: str) -> None:
        """Ask for a placeholder."""
        self.door.ask(name, key, ONE, placeholder=True, task_group="g")

    def want(self, name: str, key: str) -> None:
        """Ask for what takes its place."""
        self.door.ask(name, key, ONE, task_group="g")

    @property
    def partition(self) -> Partition:
        (partition,) = self.door.scheduler._cluster.partitions()
        return partition

    def gang(self, name: str) -> Gang:
        """What an application has of placeholders."""
        gang = self.partition.applications[name].gang
        assert gang is not None
        return gang

    def moved(self) -> Allocation:
        """The real allocation in flight on another node."""
        flying = self.gang("swaps").replacing.values()
        (real,) = [each for each in flying if each.node.node_id == "n2"]
        return real

    def leave_node(self) -> None:
        """Take what is in flight off the node it was charged to."""
        real = self.moved()
        real.node.remove(real)

    def serve_another(self) -> None:
        """Let an ask of another application be the first of a task group."""
        (other,) = self.partition.applications["gated"].requests.values()
        self.gang("stuck").groups["g"].order._first = other

    def forget_an_ask(self) -> None:
        """Take an ask off the list of its task group."""
        order = self.gang("stuck").groups["g"].order
        order.drop(order.first())

    def let_class_queue_in(self) -> None:
        """Wake nobody though the quota has room for the gang."""
        self.partition.applications["gated"].queue.allocated.amounts[0] -= 9


CORRUPTIONS: dict[str, Callable[[World], object]] = {
    "a placeholder is forgotten": lambda w: w.gang("holds").placeholders.clear(),
    "usage of placeholders": lambda w: w.gang("holds").usage.amounts.__setitem__(0, 7),
    "placeholders asked for": lambda w: setattr(w.gang("holds"), "pending", 5),
    "placeholders of the partition": lambda w: setattr(w.partition, "placeholder_count", 1),
    "a gate is open": lambda w: setattr(w.gang("gated"), "needs_gang_quota", False),
    "real asks do not wait": lambda w: setattr(w.gang("holds"), "real_asks_wait", False),
    "a reservation is over": lambda w: setattr(w.gang("holds"), "over", True),
    "a free one is forgotten": lambda w: w.gang("swaps").groups["g"].free.clear(),
    "an ask is forgotten": World.forget_an_ask,
    "an ask is out of order": World.serve_another,
    "members": lambda w: setattr(w.gang("swaps").groups["g"], "count", 0),
    "members that timed out": lambda w: setattr(w.gang("swaps").groups["g"], "timed_out", -1),
    "what is able": lambda w: w.gang("stuck").able.clear(),
    "what is expected": lambda w: w.gang("holds").expecting.clear(),
    "a link is cut": lambda w: setattr(w.moved(), "replaces", None),
    "a link goes nowhere": lambda w: w.gang("swaps").replacing.update(x=w.moved()),
    "the target is not charged": World.leave_node,
    "one is stuck and not listed": lambda w: w.partition.waiting.failed_swaps.clear(),
    "one is not stuck any more": lambda w: setattr(w.gang("stuck"), "swap_failed", False),
    "a timer without placeholders": lambda w: setattr(
        w.gang("gated"), "timer", w.gang("holds").timer
    ),
    "an application counted early is not counted": lambda w: setattr(
        w.partition.root, "counted_early", 0
    ),
    "a gang waits though it fits": World.let_class_queue_in,
}


@pytest.mark.remuda_rule("GANG-7", "GANG-14", "GANG-35", "GANG-37")
@pytest.mark.parametrize("what", CORRUPTIONS)
def test_a_corrupted_gang_is_noticed(what: str) -> None:
    world = World()
    CORRUPTIONS[what](world)
    with pytest.raises(InvariantViolation):
        world.door.scheduler.check()
