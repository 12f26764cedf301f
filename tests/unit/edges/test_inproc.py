"""The scheduler as a Python object, with the real core behind it."""

from __future__ import annotations

import logging

import pytest

from remuda.base.errors import ConfigError, ProtocolError
from remuda.core.messages.queries import PartitionsQuery
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si
from tests.unit.edges.cluster import (
    Rm,
    application,
    asks,
    load,
    nodes,
    registering,
    start,
)


@pytest.mark.remuda_rule("SI-4", "SI-7", "SI-42", "SI-79", "RM-2")
def test_the_sequence_of_the_specification_from_start_to_release(
    scheduler: InProcessScheduler,
) -> None:
    rm = Rm()
    start(scheduler, rm, "n1")
    request = asks("k1")
    request.asks[0].maxAllocations = 2
    scheduler.update_allocation(request)
    scheduler.wait_idle()
    assert rm.log == [
        "accepted n1",
        "accepted a",
        "a Accepted",
        "a Starting",
        "new k1 on n1",
        "a Running",
        "new k1 on n1",
    ]
    assert [entry.allocationID for entry in rm.placed] == ["k1-0", "k1-1"]
    release = si.AllocationRelease(
        applicationID="a", allocationID="k1-0", terminationType=si.STOPPED_BY_RM
    )
    releases = si.AllocationReleasesRequest(allocationsToRelease=[release])
    scheduler.update_allocation(si.AllocationRequest(rmID="rm", releases=releases))
    scheduler.wait_idle()
    assert rm.log[-1] == "released k1-0"
    assert rm.threads == {"remuda-core"}


@pytest.mark.remuda_rule("SI-80")
def test_a_callback_without_any_member_is_fine(scheduler: InProcessScheduler) -> None:
    scheduler.register_resource_manager(registering(), object())
    scheduler.update_node(nodes("n1"))
    scheduler.update_application(application())
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    partitions = scheduler.core.query(PartitionsQuery()).result(60)
    assert isinstance(partitions, tuple)
    assert partitions[0].allocated == {"vcore": 1_000}  # type: ignore[union-attr]


@pytest.mark.remuda_rule("SI-8")
def test_a_callback_that_raises_in_every_member_changes_no_decision(
    scheduler: InProcessScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def update_allocation(self, response: si.AllocationResponse) -> None:
            raise ValueError("allocation callback")

        def update_application(self, response: si.ApplicationResponse) -> None:
            raise ValueError("application callback")

        def update_node(self, response: si.NodeResponse) -> None:
            raise ValueError("node callback")

        def send_event(self, records: list[si.EventRecord]) -> None:
            raise ValueError("event callback")

    with caplog.at_level(logging.ERROR):
        scheduler.register_resource_manager(registering(), Broken())
        scheduler.update_node(nodes("n1"))
        scheduler.update_application(application())
        scheduler.update_allocation(asks("k1"))
        scheduler.wait_idle()
    for kind in ("allocation", "application", "node", "event"):
        assert f"{kind} callback" in caplog.text
    assert not scheduler.core.failed
    partitions = scheduler.core.query(PartitionsQuery()).result(60)
    assert isinstance(partitions, tuple)
    assert partitions[0].allocated == {"vcore": 1_000}  # type: ignore[union-attr]


@pytest.mark.remuda_rule("SI-83")
def test_events_come_in_batches_and_only_when_there_are_any(
    scheduler: InProcessScheduler,
) -> None:
    rm = Rm()
    start(scheduler, rm, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    placed = [
        record for record in rm.events if record.eventChangeDetail == si.EventRecord.NODE_ALLOC
    ]
    assert [(record.objectID, record.referenceID) for record in placed] == [("n1", "k1-0")]
    count = len(rm.events)
    scheduler.wait_idle()
    assert len(rm.events) == count


@pytest.mark.remuda_rule("RM-2", "SI-1")
def test_requests_before_registration_are_refused(scheduler: InProcessScheduler) -> None:
    for send in (
        lambda: scheduler.update_node(nodes("n1")),
        lambda: scheduler.update_application(application()),
        lambda: scheduler.update_allocation(asks("k1")),
        lambda: scheduler.update_configuration(si.UpdateConfigurationRequest(rmID="rm")),
        lambda: scheduler.unregister_resource_manager("rm"),
    ):
        with pytest.raises(ProtocolError, match="'rm' is not registered"):
            send()


@pytest.mark.remuda_rule("RM-1")
@pytest.mark.parametrize("rm_id", ["", "a[b", "a]b", "x" * 257, "tab\there"])
def test_a_bad_rm_id_is_refused_with_the_cause(scheduler: InProcessScheduler, rm_id: str) -> None:
    with pytest.raises(ProtocolError, match=r"^rmID .*\(RM-1\)$"):
        scheduler.register_resource_manager(registering(rm_id), Rm())
    assert not scheduler.core.registered(rm_id)


@pytest.mark.remuda_rule("RM-6")
def test_a_bad_configuration_registers_nothing(scheduler: InProcessScheduler) -> None:
    with pytest.raises(ConfigError, match="it is bad"):
        scheduler.register_resource_manager(registering(config="bad"), Rm())
    assert scheduler.core.query(PartitionsQuery()).result(60) == ()


@pytest.mark.remuda_rule("RM-13")
def test_registering_again_with_a_bad_configuration_leaves_the_rm_unregistered(
    scheduler: InProcessScheduler,
) -> None:
    scheduler.register_resource_manager(registering(), Rm())
    with pytest.raises(ConfigError):
        scheduler.register_resource_manager(registering(config="bad"), Rm())
    assert scheduler.core.query(PartitionsQuery()).result(60) == ()
    with pytest.raises(ProtocolError, match="not registered"):
        scheduler.update_node(nodes("n1"))


@pytest.mark.remuda_rule("RM-9", "RM-12")
def test_registering_again_wipes_everything_silently_and_the_old_callback_stays_silent(
    scheduler: InProcessScheduler,
) -> None:
    old, new = Rm(), Rm()
    start(scheduler, old, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    heard = list(old.log)
    start(scheduler, new, "n2")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    assert old.log == heard
    assert new.log[0] == "accepted n2"
    assert new.log[-1] == "new k1 on n2"


@pytest.mark.remuda_rule("RM-19")
def test_unregistering_counts_what_lived_and_sends_nothing(scheduler: InProcessScheduler) -> None:
    rm = Rm()
    start(scheduler, rm, "n1", "n2")
    scheduler.update_application(application("gone"))
    removal = si.RemoveApplicationRequest(applicationID="gone")
    scheduler.update_application(si.ApplicationRequest(rmID="rm", remove=[removal]))
    scheduler.update_application(application("a"))  # taken already: rejected
    scheduler.wait_idle()
    heard = list(rm.log)
    removed = scheduler.unregister_resource_manager("rm")
    assert (removed.partitions, removed.applications, removed.nodes) == (1, 1, 2)
    assert rm.log == heard


@pytest.mark.remuda_rule("SI-9")
def test_a_callback_may_send_requests_but_not_wait(scheduler: InProcessScheduler) -> None:
    refusals: list[str] = []

    class Chained(Rm):
        def update_allocation(self, response: si.AllocationResponse) -> None:
            super().update_allocation(response)
            for entry in response.new:
                if entry.allocationKey == "k1":
                    scheduler.update_allocation(asks("k2"))
                    try:
                        scheduler.wait_idle()
                    except ProtocolError as error:
                        refusals.append(str(error))

    rm = Chained()
    start(scheduler, rm, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    assert [entry.allocationKey for entry in rm.placed] == ["k1", "k2"]
    assert refusals == [
        "wait_idle waits for the scheduler and cannot be called from a callback (SI-9)"
    ]


@pytest.mark.remuda_rule("SI-3")
def test_asks_come_before_releases_within_one_request(scheduler: InProcessScheduler) -> None:
    rm = Rm()
    start(scheduler, rm, "n1")
    request = asks("k1", "k2")
    request.releases.allocationAsksToRelease.add(applicationID="a", allocationKey="k1")
    scheduler.update_allocation(request)
    scheduler.wait_idle()
    assert [entry.allocationKey for entry in rm.placed] == ["k2"]


@pytest.mark.remuda_rule("RM-20")
def test_after_stop_nothing_is_taken(scheduler: InProcessScheduler) -> None:
    scheduler.register_resource_manager(registering(), Rm())
    scheduler.stop()
    with pytest.raises((LoopStoppedError, ProtocolError)):
        scheduler.update_node(nodes("n1"))
    with pytest.raises(LoopStoppedError):
        scheduler.register_resource_manager(registering(), Rm())


def test_an_attached_object_takes_only_its_own_rms_with_it() -> None:
    core = SchedulerLoop()
    core.start()
    with InProcessScheduler(core=core, load=load) as first:
        first.register_resource_manager(registering("kept"), Rm())
        with InProcessScheduler(core=core, load=load) as second:
            second.register_resource_manager(registering("gone"), Rm())
            with pytest.raises(ProtocolError, match="'kept' is not registered"):
                second.update_node(nodes("n1", rm_id="kept"))
        assert core.registered("kept")
        assert not core.registered("gone")
    core.stop()
