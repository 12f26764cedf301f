"""What queues, applications and nodes hold, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from remuda.core.messages.holdings import Holder, HoldingsQuery, HoldingView
from remuda.core.messages.queries import View
from remuda.core.scheduler import Scheduler
from tests.unit.core.door import Caller, leaf, parent
from tests.unit.core.tracking import caller, memory


def tree() -> Caller:
    """Two leaves below root.p, one of them with a maximum and a guarantee."""
    return caller(parent("p", leaf("a", memory(50), memory(20)), leaf("b")), leaf("c"))


def ask(door: Caller, holder: Holder, **other: Any) -> Sequence[HoldingView]:
    """One page, 10 long if not said otherwise."""
    query = HoldingsQuery("default", holder, **{"limit": 10, **other})
    scheduler: Scheduler = door.scheduler
    found: View = scheduler.view(query)
    assert isinstance(found, tuple)
    return [each for each in found if isinstance(each, HoldingView)]


@pytest.mark.remuda_rule("EXT-25")
def test_a_queue_tells_its_settings_and_what_is_used_and_pending() -> None:
    door = tree()
    door.app("1", "root.p.a")
    door.ask("1", "k", memory(30), 2)
    door.place()
    (found,) = ask(door, Holder.QUEUE, name="root.p.a")
    assert (found.capacity, found.guaranteed) == (memory(50), memory(20))
    assert (found.allocated, found.pending) == (memory(30), memory(30))
    assert (found.state, found.occupied) == ("Active", None)
    (above,) = ask(door, Holder.QUEUE, name="root.p")
    assert (above.capacity, above.guaranteed, above.allocated) == (None, None, memory(30))


@pytest.mark.remuda_rule("EXT-25")
def test_an_application_and_its_node_tell_what_they_hold() -> None:
    door = tree()
    door.app("1", "root.c")
    door.ask("1", "k", memory(30))
    ((_, node_id),) = door.place()
    (application,) = ask(door, Holder.APPLICATION)
    assert (application.name, application.allocated) == ("1", memory(30))
    assert application.placeholder is None
    (node,) = ask(door, Holder.NODE, name=node_id)
    assert (node.state, node.allocated) == ("Ready", memory(30))


@pytest.mark.remuda_rule("EXT-25")
def test_pages_follow_each_other_by_name_and_miss_nothing() -> None:
    door = tree()
    names: list[str] = []
    while page := ask(door, Holder.QUEUE, limit=2, after=names[-1] if names else ""):
        assert len(page) <= 2
        names += [each.name for each in page]
    assert names == ["root", "root.c", "root.p", "root.p.a", "root.p.b"]


def test_nobody_of_that_name_holds_anything() -> None:
    door = tree()
    for holder in Holder:
        assert ask(door, holder, name="nobody") == []
    assert door.scheduler.view(HoldingsQuery("other", Holder.NODE, 10)) is None
