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
        self.states: list[str] = []
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

    def update_application(self, response: si.ApplicationResponse) -> None:
        """Note the states."""
        self.states += [each.state for each in response.updated]

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
        answer = shim.send(wanted("x", nodeID="n1", UUID="1", allocationID="2"))
        assert [each.allocationKey for each in answer.rejectedAllocations] == ["x"]


LEVELS = pytest.mark.parametrize("build_info", [{}, {"si_level": "1.6.3"}, {"si_level": "1.7"}])


@LEVELS
@pytest.mark.remuda_rule("SI-40", "SI-41", "SI-111", "REC-1", "REC-3", "APP-1")
def test_an_rm_that_comes_back_reports_by_key_and_releases_by_key(
    build_info: dict[str, str],
) -> None:
    """As the Kubernetes shim does since 1.6, which says no level."""
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler, **build_info)
        answer = shim.send(wanted("a", nodeID="n1"), wanted("b", nodeID="n1"))
        assert not answer.rejectedAllocations
        assert [(new.allocationKey, new.nodeID) for new in answer.new] == [("a", "n1"), ("b", "n1")]
        assert shim.states == ["Accepted", "Running"]
        assert not shim.send(wanted("c")).new  # the node is full
        answer = shim.release("a")
        assert [each.allocationKey for each in answer.released] == ["a"]
        assert [new.allocationKey for new in answer.new] == ["c"]
        # The release dropped ask and allocation, so the key may come back as a new ask.
        shim.release("b")
        assert [new.allocationKey for new in shim.send(wanted("b")).new] == ["b"]
        assert shim.states == ["Accepted", "Running"]


@LEVELS
@pytest.mark.remuda_rule("SI-40", "SI-64", "GANG-40", "GANG-14", "SI-111")
def test_placeholders_that_are_reported_by_key_are_replaced_by_key(
    build_info: dict[str, str],
) -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler, **build_info)
        held = {"nodeID": "n1", "placeholder": True, "taskGroupName": "g"}
        assert len(shim.send(wanted("p", **held)).new) == 1
        (order,) = shim.send(wanted("r", taskGroupName="g")).released
        assert (order.allocationKey, order.terminationType) == ("p", si.PLACEHOLDER_REPLACED)
        (real,) = shim.release("p", si.PLACEHOLDER_REPLACED).new
        assert real.allocationKey == "r"


@pytest.mark.remuda_rule("CYC-29", "NODE-17", "SI-40")
def test_foreign_pods_come_and_go_by_key_alone() -> None:
    """As the shim of 1.7 does, whatever it runs itself."""
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        theirs = si.Allocation(
            allocationKey="theirs",
            nodeID="n1",
            resourcePerAlloc=resource({"vcore": 2}),
            allocationTags={"foreign": "default"},
        )
        assert not shim.send(theirs).rejectedAllocations
        assert not shim.send(wanted("k")).new
        gone = si.AllocationRelease(allocationKey="theirs", terminationType=si.STOPPED_BY_RM)
        releases = si.AllocationReleasesRequest(allocationsToRelease=[gone])
        assert [new.allocationKey for new in shim.send(releases=releases).new] == ["k"]


@pytest.mark.remuda_rule("SI-111", "SI-40")
def test_asks_of_the_older_form_tell_more_than_reports_by_key() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler)
        assert [new.allocationID for new in shim.send(wanted("x", nodeID="n1")).new] == ["x"]
        ask = si.AllocationAsk(
            applicationID="app", allocationKey="k", resourceAsk=ONE, maxAllocations=1
        )
        bad = si.AllocationAsk(applicationID="app", allocationKey="bad", maxAllocations=1)
        answer = shim.send(asks=[ask, bad])
        assert [new.allocationID for new in answer.new] == ["k-0"]
        assert [each.allocationKey for each in answer.rejected] == ["bad"]
        assert [each.allocationKey for each in shim.release("k").released] == ["k"]


@pytest.mark.remuda_rule("SI-43", "SI-111", "SI-61")
def test_what_an_rm_learned_by_id_it_may_name_by_key() -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler, si_level="1.6")
        shim.send(wanted("k", nodeID="n1", UUID="u", allocationID="u"))
        (again,) = shim.send(wanted("k", nodeID="n1")).new
        assert again.allocationID == "u"
        assert [each.allocationKey for each in shim.release("k").released] == ["k"]


@pytest.mark.remuda_rule("SI-111", "APP-1", "APP-4")
@pytest.mark.parametrize(
    "level, told",
    [
        ("1.6", ["Accepted", "Running", "Completing"]),
        ("1.7.0", ["Accepted", "Running", "Completing"]),
        ("1.5.2", ["Accepted", "Starting", "Running", "Completing"]),
    ],
)
def test_the_newer_form_knows_no_starting(level: str, told: list[str]) -> None:
    with InProcessScheduler() as scheduler:
        shim = Shim(scheduler, si_level=level)
        shim.send(wanted("a"))
        shim.send(wanted("b"))
        shim.release("a")
        shim.release("b")
        assert shim.states == told


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
