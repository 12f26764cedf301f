"""The interface is one: through the object in this process and over gRPC the same is told."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from remuda.client import Client
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Request, Response, resource
from tests.e2e.grpc_service import SECONDS, Service, load

Told = list[tuple[str, str, str]]


def ask(key: str, vcore: int, count: int = 1) -> si.AllocationAsk:
    """An ask of the application."""
    size = resource({"vcore": vcore})
    return si.AllocationAsk(
        applicationID="app", allocationKey=key, resourceAsk=size, maxAllocations=count
    )


def node(name: str, action: si.NodeInfo.ActionFromRM.ValueType) -> si.NodeInfo:
    """An action on a node of ten cores."""
    return si.NodeInfo(nodeID=name, action=action, schedulableResource=resource({"vcore": 10}))


def added(name: str, path: str) -> si.AddApplicationRequest:
    """An application for a queue."""
    ann = si.UserGroupInformation(user="ann", groups=["bi"])
    return si.AddApplicationRequest(applicationID=name, queueName=path, ugi=ann)


def requests() -> Iterator[Request]:
    """A day in the life: nodes, applications, asks and releases, good ones and bad ones."""
    create, drain = si.NodeInfo.CREATE, si.NodeInfo.DRAIN_NODE
    yield si.NodeRequest(nodes=[node("n1", create), node("n1", create), node("n2", drain)])
    yield si.ApplicationRequest(new=[added("app", "root.a"), added("other", "root.nowhere")])
    yield si.AllocationRequest(asks=[ask("k", 3, 2), ask("huge", 11), ask("none", 0)])
    ran = si.Allocation(
        allocationKey="ran",
        allocationID="ran",
        applicationID="app",
        nodeID="n1",
        resourcePerAlloc=resource({"vcore": 1}),
    )
    lost = si.Allocation(allocationKey="lost", allocationID="lost", applicationID="nobody")
    yield si.AllocationRequest(allocations=[ran, lost])
    gone = si.AllocationRelease(
        applicationID="app", allocationID="k-0", terminationType=si.STOPPED_BY_RM
    )
    yield si.AllocationRequest(releases=si.AllocationReleasesRequest(allocationsToRelease=[gone]))
    yield si.NodeRequest(nodes=[node("n1", si.NodeInfo.DECOMISSION)])
    yield si.ApplicationRequest(remove=[si.RemoveApplicationRequest(applicationID="app")])


def elements(response: Response) -> Iterator[tuple[str, str, str]]:
    """Kind, list and content of each element; when a state was entered is not compared."""
    for field, value in response.ListFields():
        for element in value:
            if isinstance(element, si.UpdatedApplication):
                element.ClearField("stateTransitionTimestamp")
            yield response.DESCRIPTOR.name, field.name, str(element)


class Keeper:
    """A resource manager in this process that keeps all it is told."""

    def __init__(self) -> None:
        self.told: Told = []

    def keep(self, response: Response) -> None:
        self.told.extend(elements(response))

    update_allocation = update_application = update_node = keep


def in_process() -> list[Told]:
    """What is answered to each request, through the object."""
    keeper, answers = Keeper(), []
    with InProcessScheduler(load=load) as scheduler:
        scheduler.register_resource_manager(si.RegisterResourceManagerRequest(rmID="rm"), keeper)
        send = {
            si.NodeRequest: scheduler.update_node,
            si.ApplicationRequest: scheduler.update_application,
            si.AllocationRequest: scheduler.update_allocation,
        }
        for request in requests():
            request.rmID = "rm"
            send[type(request)](request)  # type: ignore[operator]
            scheduler.wait_idle()
            answers.append(keeper.told)
            keeper.told = []
    return answers


def over_streams(expected: list[Told]) -> list[Told]:
    """What is answered to each request over gRPC; as many elements are waited for."""
    received: queue.SimpleQueue[tuple[str, str, str]] = queue.SimpleQueue()

    def keep(response: Response) -> None:
        for element in elements(response):
            received.put(element)

    with Service() as service, Client(service.address, "rm", on_response=keep) as client:
        client.register()
        answers = []
        for request, told in zip(requests(), expected, strict=True):
            client.send(request)
            answers.append([received.get(timeout=SECONDS) for _ in told])
    assert received.empty()
    return answers


def of_kind(told: Told, kind: str) -> Told:
    """The part that one stream carries."""
    return [element for element in told if element[0] == kind]


@pytest.mark.remuda_rule("SEED-1", "SEED-9", "SEED-171", "SEED-213", "SI-7", "SI-104")
def test_the_object_and_the_streams_tell_the_same() -> None:
    here = in_process()
    there = over_streams(here)
    kinds = ("NodeResponse", "ApplicationResponse", "AllocationResponse")
    for mine, theirs in zip(here, there, strict=True):
        for kind in kinds:  # streams keep their order, and know none among each other
            assert of_kind(theirs, kind) == of_kind(mine, kind)
    lists = {(kind, name) for told in here for kind, name, _ in told}
    assert lists == {
        ("NodeResponse", "accepted"),
        ("NodeResponse", "rejected"),
        ("ApplicationResponse", "accepted"),
        ("ApplicationResponse", "rejected"),
        ("ApplicationResponse", "updated"),
        ("AllocationResponse", "new"),
        ("AllocationResponse", "released"),
        ("AllocationResponse", "rejected"),
        ("AllocationResponse", "rejectedAllocations"),
    }


@pytest.mark.remuda_rule("SEED-15", "SI-1")
def test_each_of_the_five_methods_but_registration_returns_before_it_is_answered() -> None:
    """A request is taken while the answer to the one before is still being delivered.

    An update of the configuration is answered by its return, and nothing else.
    """
    delivering, finish = threading.Event(), threading.Event()

    class Slow(Keeper):
        def update_node(self, response: Response) -> None:
            delivering.set()
            assert finish.wait(SECONDS)
            self.keep(response)

    slow = Slow()
    with InProcessScheduler(load=load) as scheduler:
        scheduler.register_resource_manager(si.RegisterResourceManagerRequest(rmID="rm"), slow)
        scheduler.update_node(si.NodeRequest(rmID="rm", nodes=[node("n1", si.NodeInfo.CREATE)]))
        assert delivering.wait(SECONDS)
        scheduler.update_application(si.ApplicationRequest(rmID="rm", new=[added("app", "root.a")]))
        scheduler.update_allocation(si.AllocationRequest(rmID="rm", asks=[ask("k", 1)]))
        assert slow.told == []
        finish.set()
        scheduler.update_configuration(si.UpdateConfigurationRequest(rmID="rm"))
        scheduler.wait_idle()
    assert [(kind, name) for kind, name, _ in slow.told] == [
        ("NodeResponse", "accepted"),
        ("ApplicationResponse", "accepted"),
        ("ApplicationResponse", "updated"),
        ("ApplicationResponse", "updated"),
        ("AllocationResponse", "new"),
    ]
