"""Elements of requests that could not be read are refused, and their neighbours count."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, leaf, of

BAD = (c.Unreadable("long...", "an identifier is too long", "app"),)
REFUSED = (e.Rejection("long...", "an identifier is too long", "SI-105", "app"),)


@pytest.mark.remuda_rule("SI-4", "SI-105")
def test_what_cannot_be_read_is_refused_and_its_neighbours_count() -> None:
    door = Caller(leaf("a"))
    node = c.NodeUpdate("n1", c.CREATE, {"vcore": 10})
    nodes = of(door.send(c.UpdateNodes("rm", (node,), unreadable=BAD)), e.NodesAnswered)
    assert nodes == [e.NodesAnswered("rm", (), REFUSED), e.NodesAnswered("rm", ("n1",), ())]
    new = c.NewApplication("app", "root.a", user="ada")
    found = of(
        door.send(c.UpdateApplications("rm", (new,), unreadable=BAD)), e.ApplicationsAnswered
    )
    assert found == [
        e.ApplicationsAnswered("rm", (), REFUSED),
        e.ApplicationsAnswered("rm", ("app",), ()),
    ]
    ask = c.Ask("app", "k", {"vcore": 1})
    effects = door.send(
        c.UpdateAllocations("rm", asks=(ask,), unreadable=BAD, unreadable_existing=BAD)
    )
    assert of(effects, e.AsksRejected) == [e.AsksRejected("rm", REFUSED)]
    assert of(effects, e.AllocationsRejected) == [e.AllocationsRejected("rm", REFUSED)]
    assert door.place() == [("k-0", "n1")]
    door.scheduler.check()
