"""What runs already, over gRPC: new sizes, and what others run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.base.resources import Resource
from remuda.client import Client
from remuda.core.messages.queries import NodesQuery, NodeView
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tests.e2e.grpc_service import SECONDS, Service


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """A node of ten cores and an application."""
    with Client(service.address, "rm") as found:
        found.register()
        found.add_nodes({"n": {"vcore": 10}})
        found.add_application("app", queue="root.a", user="ann", groups=["bi"])
        yield found


def node(service: Service) -> NodeView:
    """The only node."""
    found = service.core.query(NodesQuery("default", "rm")).result(SECONDS)
    assert isinstance(found, tuple)
    (view,) = found
    assert isinstance(view, NodeView)
    return view


def report(
    client: Client, application_id: str, key: str, size: Resource, **tags: str
) -> si.Allocation:
    """Report an allocation and wait for the answer."""
    reported = si.Allocation(
        allocationKey=key,
        allocationID="" if tags else key,
        applicationID=application_id,
        nodeID="n",
        resourcePerAlloc=resource(size),
        allocationTags=tags,
    )
    client.send(si.AllocationRequest(allocations=[reported]))
    (answer,) = client.allocations(1)
    return answer


@pytest.mark.remuda_rule("CYC-28", "SI-42")
def test_an_allocation_gets_another_size(service: Service, client: Client) -> None:
    report(client, "app", "k", {"vcore": 2})
    answer = report(client, "app", "k", {"vcore": 7})
    assert (answer.allocationID, answer.nodeID) == ("k", "n")
    assert answer.resourcePerAlloc.resources["vcore"].value == 7
    view = node(service)
    assert (view.allocated, view.available) == ({"vcore": 7}, {"vcore": 3})


@pytest.mark.remuda_rule("SEED-3", "CYC-29", "NODE-17")
def test_what_others_run_takes_room_until_it_is_released(service: Service, client: Client) -> None:
    answer = report(client, "", "daemon", {"vcore": 4}, foreign="static")
    assert (answer.allocationKey, answer.applicationID, answer.nodeID) == ("daemon", "", "n")
    view = node(service)
    assert (view.occupied, view.available) == ({"vcore": 4}, {"vcore": 6})
    assert [each.preemptable for each in view.foreign] == [False]
    client.ask("app", "large", {"vcore": 7})
    client.release("", key="daemon")
    (placed,) = client.allocations(1)
    assert (placed.allocationKey, placed.nodeID) == ("large", "n")
    assert node(service).foreign == ()
