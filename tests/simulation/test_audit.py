"""The checks of the simulation find what they are there for.

The audit after each input finds whatever the full check finds in the partition that the input
names, and elsewhere within some inputs. Placements are judged by what the witness was told, so a
witness that was told of less room takes a lawful placement for a wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from remuda.base.errors import InvariantViolation
from remuda.config.schema import LimitConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from tests.property.test_corruption import CORRUPTIONS
from tests.property.test_corruption import World as Corrupted
from tests.simulation.faults.audit import FULL, Audit
from tests.simulation.faults.bounds import Bounds
from tests.simulation.faults.clock import SECOND, START
from tests.simulation.faults.configurations import Layout, configuration
from tests.simulation.faults.ledger import held_as
from tests.simulation.faults.witness import Witness

RM: Final = "east"

# After that time an ask that finds no room reserves a node.
LONG: Final = 10 * SECOND


def audit_of(world: Corrupted) -> Audit:
    """An audit that has seen a world as it was, with a ledger that agrees."""
    scheduler = world.door.scheduler
    witness = Witness(Counter(), scheduler, lambda *_: "")
    for app in world.partition.applications.values():
        for identity, allocation in app.allocations.items():
            name = (world.door.rm, "default", app.application_id, identity)
            witness.held[name] = held_as(allocation.ask, allocation.node.node_id)
    audit = Audit(scheduler, witness)
    audit.check_changed(None, [])
    return audit


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_a_corruption_where_something_happened_is_found_at_once(what: str) -> None:
    world = Corrupted()
    audit = audit_of(world)
    CORRUPTIONS[what](world)
    with pytest.raises((InvariantViolation, AssertionError)):
        audit.check_changed(c.UpdateAllocations(world.door.rm, asks=(c.Ask("", "", {}),)), [])


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_a_corruption_where_nothing_happened_is_found_soon(what: str) -> None:
    world = Corrupted()
    audit = audit_of(world)
    CORRUPTIONS[what](world)
    audit.inputs = FULL - 1
    with pytest.raises((InvariantViolation, AssertionError)):
        audit.check_changed(None, [])


def test_a_partition_that_is_as_it_was_is_not_checked_again() -> None:
    world = Corrupted()
    assert audit_of(world).check_changed(None, []) == 0


class Placing:
    """A core, its witness, and one ask that is about to be placed."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.witness = Witness(Counter(), self.scheduler, lambda *_: "")
        config = configuration(Layout(0, True, False, 24, True, False, False))
        self.send(c.RegisterResourceManager(RM, config))
        self.add_node("n", 8)
        gang = {"vcore": 2}
        new = c.NewApplication("app", "root.b.x", "", "ann", ("staff",), placeholder_ask=gang)
        self.send(c.UpdateApplications(RM, new=(new,)))
        holder = c.Ask("app", "holder", {"vcore": 1}, placeholder=True, task_group="g")
        self.send(c.UpdateAllocations(RM, asks=(holder, replace(holder, allocation_key="last"))))

    @property
    def bounds(self) -> Bounds:
        """What placements are judged by."""
        return self.witness.bounds

    def send(self, command: Command) -> list[Effect]:
        """One command; the witness stands beside."""
        effects = self.scheduler.handle(command, START)
        self.witness.handled(command, effects, START)
        return effects

    def place(self, now: int = START) -> None:
        """Decisions; the witness judges them."""
        self.witness.stepped(self.scheduler.step(now, 100), now)

    def add_node(self, name: str, vcore: int) -> None:
        """One more node."""
        capacity = {"vcore": vcore, "memory": 8}
        self.send(c.UpdateNodes(RM, (c.NodeUpdate(name, c.CREATE, capacity),)))

    def reserve(self, *names: str) -> None:
        """Other applications of the queue are about to reserve nodes; none fits a node now."""
        self.add_node("second", 8)
        self.place()
        for name in names:
            new = c.NewApplication(name, "root.b.x", "", "bob", ("staff",))
            self.send(c.UpdateApplications(RM, new=(new,)))
            self.send(c.UpdateAllocations(RM, asks=(c.Ask(name, "one", {"vcore": 8}),)))
        self.place()

    def configure(self, **fields: object) -> None:
        """Let the witness believe in other settings of queue root.b.x."""
        (partition,) = self.bounds.configs[RM].partitions
        queues = [self._changed(queue, fields) for queue in partition.root.queues]
        root = replace(partition.root, queues=tuple(queues))
        changed = replace(partition, root=root)
        self.bounds.configs[RM] = replace(self.bounds.configs[RM], partitions=(changed,))

    def _changed(self, queue: QueueConfig, fields: dict[str, object]) -> QueueConfig:
        below = tuple(self._changed(each, fields) for each in queue.queues)
        return replace(queue, queues=below, **(fields if queue.name == "x" else {}))  # type: ignore[arg-type]


def drained(placing: Placing) -> None:
    """The node takes nothing."""
    placing.bounds.nodes[RM, "default", "n"].schedulable = False


def small(placing: Placing) -> None:
    """The node is too small."""
    placing.bounds.nodes[RM, "default", "n"].capacity = {"vcore": 1}


def refused(placing: Placing) -> None:
    """The RM does not want the task there."""
    placing.bounds.predicates.add(RM)
    placing.bounds.judge = lambda *_: "not liked"


def narrow(placing: Placing) -> None:
    """The queue may hold less."""
    placing.configure(maximum={"vcore": 1})


def poor(placing: Placing) -> None:
    """The user may hold less."""
    placing.configure(limits=(LimitConfig(("ann",), (), {"vcore": 1}),))


def crowded(placing: Placing) -> None:
    """Another application runs, and only one may."""
    placing.configure(max_applications=1)
    other = (RM, "default", "other")
    placing.bounds.apps[other] = replace(placing.bounds.app((RM, "default", "app")))
    placing.bounds.states[RM, "other"] = "Running"


def small_gang(placing: Placing) -> None:
    """Fewer placeholders were asked for."""
    keys = placing.bounds.members.asked[RM, "app", "g"]
    keys.popitem()


LAWS: Final[dict[str, tuple[Callable[[Placing], None], ...]]] = {
    "I2": (small,),
    "I6": (narrow,),
    "I8": (poor,),
    "I9": (crowded,),
    "I30": (drained, refused),
    "I33": (small_gang,),
}


@pytest.mark.parametrize(
    "law, lie",
    [(law, lie) for law, lies in LAWS.items() for lie in lies],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_placement_that_breaks_a_law_is_found(law: str, lie: Callable[[Placing], None]) -> None:
    placing = Placing()
    lie(placing)
    with pytest.raises(AssertionError, match=rf"\({law}\)$"):
        placing.place()


def test_a_lawful_placement_is_judged_and_let_pass() -> None:
    placing = Placing()
    placing.place()
    assert placing.bounds.counts["placement judged"] == 2


def early() -> Placing:
    """A real ask, while the witness believes that the gang lacks a placeholder."""
    placing = Placing()
    placing.place()
    real = c.Ask("app", "real", {"vcore": 1})
    placing.send(c.UpdateAllocations(RM, asks=(real,)))
    app = placing.bounds.app((RM, "default", "app"))
    app.gang = {"vcore": 3}
    placing.bounds.state_is(RM, "app", "Accepted")
    return placing


def test_a_real_ask_before_the_gang_is_complete_is_found() -> None:
    placing = early()
    with pytest.raises(AssertionError, match=r"\(I32\)$"):
        placing.place()


def test_a_real_ask_of_a_gang_that_has_given_up_is_let_pass() -> None:
    placing = early()
    for state in ("Resuming", "Accepted"):
        placing.bounds.state_is(RM, "app", state)
    placing.place()
    assert placing.bounds.counts["real ask of a gang placed"] == 1


def test_that_a_gang_has_given_up_is_forgotten_when_it_ends() -> None:
    bounds = early().bounds
    bounds.state_is(RM, "app", "Resuming")
    bounds.app_ended(RM, "app")
    assert bounds.given_up == set()
    bounds.state_is(RM, "app", "Resuming")
    assert bounds.given_up == {(RM, "app")}
    bounds.forget(RM)
    assert bounds.given_up == set()


@pytest.mark.parametrize("others", [("large",), ("large", "larger")], ids=len)
def test_applications_count_at_their_queues_from_their_first_reservation_on(
    others: tuple[str, ...],
) -> None:
    """One application runs already."""
    placing = Placing()
    placing.reserve(*others)
    placing.configure(max_applications=len(others))
    with pytest.raises(AssertionError, match=r"^large\w* reserves a node: .* \(I9\)$"):
        placing.place(START + LONG)


def test_queues_do_not_stop_the_start_of_an_application_with_a_reservation() -> None:
    """Rules: QUE-24."""
    placing = Placing()
    placing.reserve("large")
    placing.place(START + LONG)
    assert placing.bounds.reserved == {(RM, "default", "large")}
    placing.configure(max_applications=1)
    placing.add_node("more", 8)
    placing.place(START + LONG)
    assert placing.bounds.app((RM, "default", "large")).placed
    assert placing.bounds.counts["start after a reservation"] == 1


def test_a_required_node_is_the_only_one() -> None:
    placing = Placing()
    new = c.NewApplication("daemons", "root.c", user="bob")
    placing.send(c.UpdateApplications(RM, new=(new,)))
    tags = {"yunikorn.apache.org/requiredNode": "n"}
    ask = c.Ask("daemons", "one", {"vcore": 1}, tags=tags)
    placing.send(c.UpdateAllocations(RM, asks=(ask,)))
    placing.place()
    assert placing.bounds.counts["placement on a required node"] == 1
