"""Events for resource managers in this process (EVT-92, EVT-93, EVT-94, EVT-122)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from tests.unit.edges.cluster import Rm, application, asks, nodes

Record = si.EventRecord


class Deaf:
    """A resource manager without a receiver of events."""


def enter(
    scheduler: InProcessScheduler, rm: object, rm_id: str = "rm", extra: Mapping[str, str] = {}
) -> None:
    request = si.RegisterResourceManagerRequest(rmID=rm_id, extraConfig=extra)
    scheduler.register_resource_manager(request, rm)
    scheduler.update_node(nodes(f"{rm_id}-n", rm_id=rm_id))
    scheduler.update_application(application(rm_id=rm_id))
    scheduler.update_allocation(asks("k", rm_id=rm_id))


def kinds(rm: Rm) -> set[int]:
    return {record.type for record in rm.events}


@pytest.mark.remuda_rule("EVT-94", "RM-10")
def test_two_rms_get_the_events_of_their_own_nodes(scheduler: InProcessScheduler) -> None:
    one, two = Rm(), Rm()
    enter(scheduler, one, "one")
    enter(scheduler, two, "two")
    scheduler.wait_idle()
    for rm, name in ((one, "one-n"), (two, "two-n")):
        found = {record.objectID for record in rm.events if record.type == Record.NODE}
        assert found == {name}
        assert kinds(rm) >= {Record.APP, Record.NODE, Record.QUEUE, Record.USERGROUP}


@pytest.mark.remuda_rule("EVT-93")
def test_an_rm_that_said_so_at_its_registration_gets_only_what_people_are_shown(
    scheduler: InProcessScheduler,
) -> None:
    rm = Rm()
    enter(scheduler, rm, extra={"rm.userEventsOnly": "true"})
    scheduler.update_node(
        si.NodeRequest(
            rmID="rm", nodes=[si.NodeInfo(nodeID="rm-n", action=si.NodeInfo.DECOMISSION)]
        )
    )
    scheduler.wait_idle()
    assert [(record.objectID, record.message) for record in rm.events] == [
        ("rm-n", "Node added to the scheduler"),
        ("rm-n", "Node removed from the scheduler"),
    ]


@pytest.mark.remuda_rule("EVT-92", "EVT-102")
def test_the_capacity_of_the_extra_map_counts_after_the_next_delivery(
    scheduler: InProcessScheduler,
) -> None:
    rm = Rm()
    enter(scheduler, rm, extra={"event.requestCapacity": "1"})
    scheduler.wait_idle()
    rm.events.clear()
    scheduler.update_allocation(asks("l"))
    scheduler.wait_idle()
    assert [(each.type, each.eventChangeDetail, each.referenceID) for each in rm.events] == [
        (Record.APP, Record.APP_REQUEST, "l")
    ]


@pytest.mark.remuda_rule("EVT-122")
def test_every_record_of_the_core_is_counted_with_and_without_a_receiver(
    scheduler: InProcessScheduler,
) -> None:
    made: list[Effect] = []
    scheduler.core.subscribe(made.extend)
    rm = Rm()
    enter(scheduler, rm, "heard")
    enter(scheduler, Deaf(), "deaf")
    scheduler.wait_idle()
    scheduler.unregister_resource_manager("deaf")
    scheduler.wait_idle()
    processed = sum(isinstance(effect, e.EventRecord) for effect in made)
    feeds = scheduler.core.feeds
    assert processed > len(rm.events) > 0
    assert feeds.stored + feeds.not_stored == processed
    assert feeds.collected == feeds.stored == processed
