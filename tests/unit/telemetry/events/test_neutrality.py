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


def run(*, observed: bool) -> str:
    """The digest of everything that a short life of a scheduler brings."""
    core = SchedulerLoop(clock=Still())
    found = EffectDigest()
    core.subscribe(found.update)
    events = EventSystem(core) if observed else None
    core.start()
    try:
        core.register(c.RegisterResourceManager("rm", built_in())).result(10)
        nodes = [c.NodeUpdate(f"n{i}", c.CREATE, {"vcore": 8_000}) for i in range(20)]
        core.submit(c.UpdateNodes("rm", tuple(nodes)))
        for number in range(10):
            app = c.NewApplication(
                f"a{number}", user="ann", groups=("bi",), tags={"namespace": "dev"}
            )
            core.submit(c.UpdateApplications("rm", (app,)))
            asks = tuple([c.Ask(f"a{number}", f"k{i}", {"vcore": 1_000}) for i in range(20)])
            core.submit(c.UpdateAllocations("rm", asks=asks))
            core.idle().result(10)
        core.submit(c.UpdateApplications("rm", remove=(c.ApplicationRemoval("a3", ""),)))
        core.idle().result(10)
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
