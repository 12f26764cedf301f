"""RMs of the newer interface: an allocation without node is an ask (chapter 70, SI-111)."""

from __future__ import annotations

import pytest

from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource

ONE = resource({"vcore": 1})


class Shim:
    """An RM that notes what it hears of allocations."""

    def __init__(self, scheduler: InProcessScheduler, **build_info: str) -> None:
        self.scheduler = scheduler
        self.heard: list[si.AllocationResponse] = []
        request = si.RegisterResourceManagerRequest(rmID="rm", buildInfo=build_info)
        scheduler.register_resource_manager(request, self)
        node = si.NodeInfo(
            nodeID="n1", action=si.NodeInfo.CREATE, schedulableResource=resource({"vcore": 2})
        )
        scheduler.update_node(si.NodeRequest(rmID="rm", nodes=[node]))
        app = si.AddApplicationRequest(
            applicationID="app",
            ugi=si.UserGroupInformation(user="ann"),
            tags={"namespace": "default"},
        )
        scheduler.update_application(si.ApplicationRequest(rmID="rm", new=[app]))
        scheduler.wait_idle()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note it."""
        self.heard.append(response)

    def send(self, *allocations: si.Allocation, **other: object) -> si.AllocationResponse:
        """One request; everything that was answered, in one message."""
        self.heard = []
        self.scheduler.update_allocation(
            si.AllocationRequest(rmID="rm", allocations=allocations, **other)  # type: ignore[arg-type]
        )
        self.scheduler.wait_idle()
        answer = si.AllocationResponse()
        for response in self.heard:
            answer.MergeFrom(response)
        return answer

    def release(self, key: str, kind: int = si.STOPPED_BY_RM) -> si.AllocationResponse:
        """Release by key, all this form has."""
        release = si.AllocationRelease(
            applicationID="app",
            allocationKey=key,
            terminationType=si.TerminationType.ValueType(kind),
        )
        return self.send(releases=si.AllocationReleasesRequest(allocationsToRelease=[release]))


def wanted(key: str, **other: object) -> si.Allocation:
    """An allocation without node: an ask."""
    return si.Allocation(
        applicationID="app",
        allocationKey=key,
        resourcePerAlloc=ONE,
        **other,  # type: ignore[arg-type]
    )


@pytest.mark.remuda_rule("SI-111", "SI-35")
def test_an_allocation_without_node_is_an_ask_whose_key_is_the_identity() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        (new,) = shim.send(wanted("k")).new
        assert (new.allocationKey, new.allocationID, new.nodeID) == ("k", "k", "n1")
        (released,) = shim.release("k").released
        assert (released.allocationKey, released.allocationID) == ("k", "k")
        assert not shim.send(wanted("other")).released


@pytest.mark.remuda_rule("SI-111")
def test_one_release_drops_ask_and_allocation() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        assert len(shim.send(wanted("a"), wanted("b"), wanted("waits")).new) == 2
        assert not shim.release("waits").released
        assert not shim.release("a").new
        (new,) = shim.send(wanted("a")).new
        assert new.allocationID == "a"


@pytest.mark.remuda_rule("SI-111", "SI-31")
def test_what_is_refused_is_a_refused_allocation_in_this_form() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        answer = shim.send(wanted("k"), wanted("nothing", placeholder=True))
        assert not answer.rejected
        assert [each.allocationKey for each in answer.rejectedAllocations] == ["nothing"]


@pytest.mark.remuda_rule("SI-111", "SI-40", "SI-41")
def test_whoever_says_so_may_report_allocations_by_their_keys_first() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler, si_level="1.6")
        (new,) = shim.send(wanted("k", nodeID="n1")).new
        assert new.allocationID == "k"


@pytest.mark.remuda_rule("SI-111", "SI-40", "SI-61")
def test_the_older_form_is_answered_as_ever() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        ask = si.AllocationAsk(
            applicationID="app", allocationKey="k", resourceAsk=ONE, maxAllocations=1
        )
        bad = si.AllocationAsk(applicationID="app", allocationKey="bad", maxAllocations=1)
        answer = shim.send(asks=[ask, bad])
        assert [new.allocationID for new in answer.new] == ["k-0"]
        assert [each.allocationKey for each in answer.rejected] == ["bad"]
        answer = shim.send(wanted("x", nodeID="n1"))
        assert [each.allocationKey for each in answer.rejectedAllocations] == ["x"]


@pytest.mark.remuda_rule("SI-111", "GANG-14", "GANG-17", "GANG-23")
def test_gangs_work_by_keys() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        (new,) = shim.send(wanted("p", placeholder=True, taskGroupName="g")).new
        assert new.placeholder
        (order,) = shim.send(wanted("r", taskGroupName="g")).released
        assert order.terminationType == si.PLACEHOLDER_REPLACED
        (real,) = shim.release("p", si.PLACEHOLDER_REPLACED).new
        assert (real.allocationKey, real.allocationID) == ("r", "r")
