"""The museum of the reference's defects: who is next, and on which node."""

from __future__ import annotations

import pytest

from remuda.base import scores
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import SECOND, Caller, events, leaf, of, parent

ONE = {"vcore": 1}
BYTES = {"vcore": 1, "memory": 1_000_000_000}


@pytest.mark.remuda_rule("RES-50", "RES-52", "QUE-33")
def test_bytes_do_not_outweigh_cores() -> None:
    """1.5.1 takes the amount for the share if nothing is guaranteed, so bytes outweigh cores.

    remuda compares shares of the cluster.
    """
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", {"vcore": 100, "memory": 1_000_000_000_000})
    for app, queue, size in (("one", "root.a", {"vcore": 50}), ("two", "root.b", BYTES)):
        door.app(app, queue)
        door.existing(app, f"{app}-runs", "n1", size)
        door.ask(app, app, ONE)
    assert door.order() == ["two", "one"]


@pytest.mark.remuda_rule("QUE-44", "QUE-46")
def test_asks_of_the_same_second_keep_their_order() -> None:
    """Up to 1.6 asks of the same age may change places, and removing one of them may fail.

    remuda keeps the order in which they came, also after one was removed.
    """
    door = Caller(leaf("a"))
    door.app("app")
    for key in ("k1", "k2", "k3", "k4"):
        door.ask("app", key, ONE)
    door.release_ask("app", "k2")
    door.ask("app", "k5", ONE)
    door.node("n1", {"vcore": 10})
    assert door.order() == ["k1", "k3", "k4", "k5"]


@pytest.mark.remuda_rule("CYC-28", "NOD-14")
def test_an_allocation_that_grows_makes_its_node_less_free() -> None:
    """The reference leaves the node where it is in the order until the next allocation there.

    remuda orders the node anew at once.
    """
    door = Caller(leaf("a"))
    for node_id in ("n1", "n2"):
        door.node(node_id, {"vcore": 10})
    door.app("app")
    door.existing("app", "x", "n1", {"vcore": 1})
    door.existing("app", "y", "n2", {"vcore": 2})
    door.existing("app", "x", "n1", {"vcore": 5})
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n2")]


@pytest.mark.remuda_rule("NOD-19")
def test_a_type_that_a_node_does_not_have_does_not_make_it_full() -> None:
    """The reference divides by zero, and the node has an infinite share.

    remuda leaves the type out.
    """
    door = Caller(leaf("a"))
    door.node("odd", {"vcore": 0, "memory": 100}, occupied={"vcore": 5})
    door.node("rival", {"vcore": 100, "memory": 100}, occupied={"memory": 50, "vcore": 50})
    door.app("app")
    door.ask("app", "k", {"memory": 1})
    assert door.place() == [("k-0", "odd")]


@pytest.mark.remuda_rule("RES-56")
def test_the_dominant_type_does_not_depend_on_chance() -> None:
    """The reference lets the order of a map decide between equal shares.

    remuda takes the name that sorts first.
    """
    for names in (("memory", "vcore"), ("vcore", "memory")):
        used = dict.fromkeys(names, 5)
        assert scores.dominant_resource_type(used, dict.fromkeys(names, 10)) == "memory"


@pytest.mark.remuda_rule("QUE-25", "EVT-33")
def test_a_running_application_is_not_told_that_it_cannot_run() -> None:
    """Up to 1.9 an application in a full queue is told so because it asks for more itself.

    remuda tells it to those who wait.
    """
    door = Caller(leaf("a", max_applications=1))
    door.node("n1", {"vcore": 2})
    door.app("app")
    door.ask("app", "k1", ONE)
    door.place()
    door.ask("app", "k2", {"vcore": 5})
    found = door.step()
    door.app("next")
    door.ask("next", "k", ONE)
    found += door.step()
    told = [name for _, name, _, detail in events(found) if detail == ev.APP_CANNOTRUN_QUEUE]
    assert told == ["next"]


@pytest.mark.remuda_rule("CYC-30")
def test_two_queues_do_not_order_the_same_room_twice() -> None:
    """Up to 1.7 each leaf counts all its parent's room, so an autoscaler adds too many nodes.

    In remuda, leaves share the room of their parent.
    """
    door = Caller(parent("p", leaf("a"), leaf("b"), maximum={"vcore": 6}))
    door.node("n1", {"vcore": 2})
    door.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    for app, queue in (("one", "root.p.a"), ("two", "root.p.b")):
        door.app(app, queue)
        door.ask(app, app, {"vcore": 5})
    door.step()
    assert len(of(door.wait(SECOND), e.ContainerStateUpdated)) == 1
