"""A scheduler that is observed decides what one that is not observed decides."""

from __future__ import annotations

import pytest

from remuda.config.schema import built_in
from remuda.core.messages import commands as c
from remuda.runtime.digest import EffectDigest
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.events.pipeline import EventSystem


class Still:
    """A clock that stands still, so that effects carry equal times."""

    def now_ns(self) -> int:
        return 1_700_000_000_000_000_000

    def wall_ns(self) -> int:
        return self.now_ns()


def run(*, observed: bool) -> str:
    """The digest of everything that a short life of a scheduler brings."""
    core = SchedulerLoop(clock=Still())
    found = EffectDigest()
    core.subscribe(found.update)
    events = EventSystem(core) if observed else None
    core.start()
    try:
        core.register(c.RegisterResourceManager("rm", built_in())).result(60)
        nodes = [c.NodeUpdate(f"n{i}", c.CREATE, {"vcore": 8_000}) for i in range(20)]
        core.submit(c.UpdateNodes("rm", tuple(nodes)))
        for number in range(10):
            app = c.NewApplication(
                f"a{number}", user="ann", groups=("bi",), tags={"namespace": "dev"}
            )
            core.submit(c.UpdateApplications("rm", (app,)))
            asks = tuple([c.Ask(f"a{number}", f"k{i}", {"vcore": 1_000}) for i in range(20)])
            core.submit(c.UpdateAllocations("rm", asks=asks))
            core.idle().result(60)
        core.submit(c.UpdateApplications("rm", remove=(c.ApplicationRemoval("a3", ""),)))
        core.idle().result(60)
    finally:
        core.stop()
        if events is not None:
            events.close()
            counters = events.counters()
            assert counters.created == counters.processed > 600
            assert core.failure == ""
    return found.hexdigest()


@pytest.mark.remuda_rule("EVT-91", "EVT-122")
def test_an_event_system_changes_no_decision() -> None:
    assert run(observed=True) == run(observed=False)


@pytest.mark.remuda_rule("EVT-12", "EVT-101", "EVT-107", "EVT-108", "EVT-109", "RM-7")
def test_tracking_that_is_off_and_on_again_goes_on_with_the_next_id() -> None:
    core = SchedulerLoop()
    events = EventSystem(core)
    stream = events.open_stream("h", lambda: None)
    core.start()

    def join(rm_id: str, **extra: str) -> int:
        """Register an RM with these settings and a node; how many records there are then."""
        settings = {f"event.{name}": value for name, value in extra.items()}
        core.register(c.RegisterResourceManager(rm_id, built_in(), extra_config=settings)).result(
            60
        )
        core.submit(c.UpdateNodes(rm_id, (c.NodeUpdate("n", c.CREATE, {"vcore": 1_000}),)))
        core.idle().result(60)
        events.flush()
        return events.counters().created

    try:
        before = join("first")
        assert before > 0
        assert join("quiet", trackingEnabled="false") == before
        assert not events.settings.event_tracking
        assert len(events.read(0, 1_000) or ()) == before
        after = join("loud", trackingEnabled="true")
        assert after > before
        portion = stream.take(1_000)
    finally:
        core.stop()
        events.close()
    told = events.read(before, 1_000) or ()
    assert {record.rm_id for record in told} == {"loud"}
    assert len(told) == after - before
    assert portion is not None
    assert (portion.first_id, len(portion.records)) == (0, after)
    assert stream.take(1) is None
