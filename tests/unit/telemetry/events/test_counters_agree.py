"""The counters of both ways of event records: into memory, and towards RMs (EVT-122)."""

from __future__ import annotations

import pytest

from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si
from remuda.telemetry.events.pipeline import EventSystem
from tests.unit.edges.cluster import Rm, application, asks, nodes


@pytest.mark.remuda_rule("EVT-122", "EVT-91", "EVT-92", "MET-39")
@pytest.mark.parametrize("capacity", ["1000", "3"])
def test_what_is_processed_is_stored_or_not_and_all_invariants_hold(capacity: str) -> None:
    core = SchedulerLoop()
    events = EventSystem(core)
    core.start()
    rm = Rm()
    with InProcessScheduler(core=core) as scheduler:
        for rm_id, callback in (("heard", rm), ("deaf", None)):
            request = si.RegisterResourceManagerRequest(
                rmID=rm_id, extraConfig={"event.requestCapacity": capacity}
            )
            scheduler.register_resource_manager(request, callback)
            scheduler.wait_idle()
            scheduler.update_node(nodes("n1", "n2", rm_id=rm_id))
            scheduler.update_application(application(rm_id=rm_id))
            scheduler.update_allocation(asks("k", "l", "m", rm_id=rm_id))
            scheduler.wait_idle()
        events.flush()
        counted, feeds = events.counters(), core.feeds
        assert counted.created == counted.channeled + counted.not_channeled
        assert counted.processed == counted.channeled > 30
        assert feeds.stored + feeds.not_stored == counted.processed
        assert feeds.collected == feeds.stored
        assert (feeds.not_stored > 0) == (capacity == "3")
        assert len(rm.events) < feeds.collected  # those of the other RM nobody takes
    core.stop()
    events.close()
