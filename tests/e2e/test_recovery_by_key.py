"""A scheduler that was killed, and an RM that knows what runs by key and node only (SI-111).

That is what the Kubernetes shim sends since release 1.6: it says nothing of a level, its
allocations have neither ``UUID`` nor ``allocationID``, and its releases name a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from signal import SIGKILL

import grpc
import pytest

from remuda.client import Client
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response, resource
from tests.e2e.grpc_service import Service
from tests.e2e.queue_files import ONE
from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.e2e.session_stream import SessionStream
from tests.waiting import wait

LEVELS = pytest.mark.parametrize("level", ["", "1.6.3", "1.7.0"])


def pod(key: str, node_id: str = "", **other: object) -> si.Allocation:
    """A pod as the shim sends it; one without a node is still to be placed."""
    return si.Allocation(
        allocationKey=key,
        applicationID="app",
        nodeID=node_id,
        partitionName="default",
        resourcePerAlloc=resource({"vcore": 1}),
        allocationTags={"kubernetes.io/meta/podName": key},
        **other,  # type: ignore[arg-type]
    )


def ended(key: str, kind: int = si.STOPPED_BY_RM, app: str = "app") -> si.AllocationRequest:
    """A release by key, all the shim has."""
    release = si.AllocationRelease(
        partitionName="default",
        applicationID=app,
        allocationKey=key,
        terminationType=si.TerminationType.ValueType(kind),
    )
    return si.AllocationRequest(
        releases=si.AllocationReleasesRequest(allocationsToRelease=[release])
    )


def application() -> si.ApplicationRequest:
    """The one application, as it is submitted again after a restart."""
    new = si.AddApplicationRequest(
        applicationID="app",
        queueName="root.a",
        ugi=si.UserGroupInformation(user="ann", groups=["dev"]),
        tags={"application.create.force": "true"},
    )
    return si.ApplicationRequest(new=[new])


def created(action: si.NodeInfo.ActionFromRM.ValueType, cores: int = 4) -> si.NodeRequest:
    """The one node."""
    info = si.NodeInfo(nodeID="n", action=action, schedulableResource=resource({"vcore": cores}))
    return si.NodeRequest(nodes=[info])


class Shim:
    """An RM that keeps nothing but keys and nodes of what runs."""

    def __init__(self, address: str, level: str) -> None:
        self.running: dict[str, str] = {}
        self.rejected: list[str] = []
        self.verdicts: list[str] = []
        self.states: list[str] = []
        self.ordered: list[str] = []
        self.client = Client(address, "shim", on_response=self.hear, timeout=60)
        build_info = {"buildVersion": "1"} | ({"si_level": level} if level else {})
        self.client.register(ONE, build_info=build_info)

    def hear(self, response: Response) -> None:
        """Note it, as far as this form of the interface has it."""
        if isinstance(response, si.AllocationResponse):
            assert not response.releasedAsks
            assert not response.rejected
            for released in response.released:
                if released.terminationType == si.STOPPED_BY_RM:
                    self.running.pop(released.allocationKey, None)
                else:
                    self.ordered.append(released.allocationKey)
            self.running |= {new.allocationKey: new.nodeID for new in response.new}
            self.rejected += [
                f"{bad.allocationKey}: {bad.reason}" for bad in response.rejectedAllocations
            ]
        elif isinstance(response, si.ApplicationResponse):
            self.verdicts += [each.applicationID for each in response.accepted]
            self.states += [each.state for each in response.updated]
        else:
            self.verdicts += [each.nodeID for each in response.accepted]

    def start(self) -> None:
        """Nodes drained, then the application, each with its verdict (REC-3)."""
        self.client.send(created(si.NodeInfo.CREATE_DRAIN))
        wait(lambda: self.verdicts == ["n"])
        self.client.send(application())
        wait(lambda: self.verdicts == ["n", "app"])

    def undrain(self) -> None:
        """Let the node take new pods."""
        self.client.send(created(si.NodeInfo.DRAIN_TO_SCHEDULABLE))

    def tell(self, *pods: si.Allocation) -> None:
        """Send pods, each in a request of its own as the shim does."""
        for each in pods:
            self.client.send(si.AllocationRequest(allocations=[each]))

    def await_running(self, *keys: str) -> None:
        """Wait until exactly these run."""
        wait(lambda: sorted(self.running) == sorted(keys) or bool(self.rejected))
        assert self.rejected == []


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@LEVELS
@pytest.mark.remuda_rule("REC-1", "REC-3", "REC-12", "SI-40", "SI-61", "SI-111")
def test_running_pods_survive_a_killed_scheduler_and_end_by_key(level: str) -> None:
    with Served(*FREE_PORTS) as served:
        shim = Shim(served.grpc, level)
        with shim.client:
            shim.start()
            shim.undrain()
            shim.tell(pod("a"), pod("b"), pod("c"))
            shim.await_running("a", "b", "c")
            known = dict(shim.running)
            served.end(SIGKILL)
    with Served(*FREE_PORTS) as served:
        shim = Shim(served.grpc, level)
        with shim.client:
            shim.start()
            shim.tell(*(pod(key, node_id) for key, node_id in known.items()))
            shim.await_running("a", "b", "c")
            shim.undrain()
            shim.tell(pod("d"), pod("e"))
            wait(lambda: len(shim.running) == 4)
            (node,) = served.client.get(f"{PARTITION}/nodes").json()
            assert node["allocated"]["vcore"] == 4
            for key in ("a", "b", "c"):
                shim.client.send(ended(key))
            shim.await_running("d", "e")
            (node,) = served.client.get(f"{PARTITION}/nodes").json()
            assert node["allocated"]["vcore"] == 2
            assert shim.states == ["Accepted", "Running"]


@LEVELS
@pytest.mark.remuda_rule("REC-1", "GANG-40", "SI-40", "SI-64", "SI-111")
def test_placeholders_survive_a_restart_and_are_replaced_by_key(
    service: Service, level: str
) -> None:
    shim = Shim(service.address, level)
    with shim.client:
        shim.start()
        shim.tell(pod("p", "n", placeholder=True, taskGroupName="g"))
        shim.await_running("p")
        shim.undrain()
        shim.tell(pod("r", taskGroupName="g"))
        wait(lambda: shim.ordered == ["p"])
        shim.client.send(ended("p", si.PLACEHOLDER_REPLACED))
        shim.await_running("p", "r")
        assert set(shim.running.values()) == {"n"}  # a confirmation is not answered


@pytest.mark.remuda_rule("REC-1", "CYC-29", "NODE-17", "SI-40")
def test_foreign_pods_are_reported_and_end_by_key(service: Service) -> None:
    shim = Shim(service.address, "")
    with shim.client:
        shim.start()
        theirs = pod("theirs", "n")
        theirs.applicationID = ""
        theirs.allocationTags["foreign"] = "default"
        theirs.resourcePerAlloc.CopyFrom(resource({"vcore": 4}))
        shim.tell(theirs)
        shim.await_running("theirs")
        shim.undrain()
        shim.tell(pod("a"))
        shim.client.send(ended("theirs", app=""))
        shim.await_running("theirs", "a")
        assert shim.running["a"] == "n"  # nobody answers the end of a foreign one


@pytest.mark.remuda_rule("REC-12", "EXT-9", "SI-40", "SI-43", "SI-111")
def test_a_session_that_is_resumed_goes_on_in_the_same_form(service: Service) -> None:
    with grpc.insecure_channel(service.address) as channel:
        first = SessionStream(channel)
        welcome = first.register()
        first.nodes("n", cores=1)
        first.app()
        first.send(allocation=si.AllocationRequest(allocations=[pod("a", "n")]))
        assert first.allocations(1) == [("a", "n")]
        first.cut()
        second = SessionStream(channel, sent=first.sent, got=first.got)
        assert second.resume("rm", welcome.session_id, first.got).HasField("welcome")
        # What runs may be reported again; what is asked for waits until the key is released.
        second.send(allocation=si.AllocationRequest(allocations=[pod("a", "n"), pod("b")]))
        assert second.allocations(1) == [("a", "n")]
        second.send(allocation=ended("a"))
        frame = second.until("allocation")
        assert [each.allocationKey for each in frame.allocation.released] == ["a"]
        assert second.allocations(1) == [("b", "n")]
        second.cut()


@pytest.mark.remuda_rule("APP-1", "SI-111", "REST-77")
def test_an_rm_of_the_newer_form_hears_running_where_rest_shows_starting() -> None:
    with Served(*FREE_PORTS) as served:
        shim = Shim(served.grpc, "1.7.0")
        with shim.client:
            shim.start()
            shim.undrain()
            shim.tell(pod("a"))
            shim.await_running("a")
            wait(lambda: len(shim.states) == 2)
            (shown,) = served.client.get(f"{PARTITION}/queue/root.a/applications").json()
            assert shown["applicationState"] == "Starting"
            shim.tell(pod("b"))
            shim.await_running("a", "b")
            shim.client.send(ended("a"))
            shim.client.send(ended("b"))
            wait(lambda: shim.states[-1] == "Completing")
            assert shim.states == ["Accepted", "Running", "Completing"]
