"""What is given to an answer under way stays as it is, and is copied once (DMP-15)."""

from __future__ import annotations

from remuda.core.messages.commands import Ask, NewApplication
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.submission import Submission
from remuda.core.model.nodes.node import Node
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, ResourceTypes

TYPES = ResourceTypes()
ONE, TWO = TYPES.amounts({"vcore": 1}), TYPES.amounts({"vcore": 2})


def application() -> Application:
    return Application(
        Submission(1, NewApplication("app", "root.a"), 0), Queue("a", None, leaf=True, managed=True)
    )


def node() -> Node:
    return Node("n1", TYPES.amounts({"vcore": 9}), TYPES.amounts({}), True)


def allocation(name: str, of: Application, on: Node, amounts: Amounts = ONE) -> Allocation:
    return Allocation(name, Ask("app", name, {}), amounts, of, on)


def test_a_node_lends_what_is_on_it_and_copies_it_once() -> None:
    app, home = application(), node()
    first, second = allocation("first", app, home), allocation("second", app, home)
    home.put(first)
    before = home.allocations
    lent = home.lend()
    assert lent is before
    home.put(second)
    own = home.allocations
    home.exchange(first, TWO)
    first.amounts = TWO
    home.remove(second)
    assert home.allocations is own
    assert own == {first: TWO}
    assert lent == {first: ONE}


def test_every_change_of_a_node_leaves_what_is_lent_alone() -> None:
    app, home = application(), node()
    first = allocation("first", app, home)
    home.put(first)
    lent = home.lend()
    home.exchange(first, TWO)
    assert lent == {first: ONE}
    first.amounts = TWO
    lent = home.lend()
    home.remove(first)
    assert lent == {first: TWO}
    assert home.lend() == {}


def test_an_application_lends_what_it_has_and_copies_it_once() -> None:
    app, home = application(), node()
    first, second = allocation("first", app, home), allocation("second", app, home)
    app.hold(first)
    before = app.allocations
    lent = app.lend()
    assert lent is before
    app.drop(first)
    own = app.allocations
    app.hold(second)
    assert app.allocations is own
    assert own == {"second": second}
    assert lent == {"first": first}
    lent = app.lend()
    app.hold(first)
    assert lent == {"second": second}
