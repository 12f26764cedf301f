"""Long requests are unpacked beside everything else, and keep their place all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.client import Client
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import ApplicationsQuery
from remuda.edges.grpc.long_messages import LONG_BYTES
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tests.e2e.grpc_service import SECONDS, Service
from tests.e2e.session_stream import SessionStream


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def long_request(application_id: str) -> si.AllocationRequest:
    """Asks that fit nowhere."""
    request = si.AllocationRequest()
    for number in range(1_000):
        request.asks.add(
            allocationKey=f"{number:0300}",
            applicationID=application_id,
            resourceAsk=resource({"vcore": 1_000_000}),
            maxAllocations=1,
        )
    assert request.ByteSize() >= LONG_BYTES
    return request


def short_request(application_id: str) -> si.AllocationRequest:
    """An ask that fits."""
    request = si.AllocationRequest()
    request.asks.add(
        allocationKey="small",
        applicationID=application_id,
        resourceAsk=resource({"vcore": 1}),
        maxAllocations=1,
    )
    return request


def drop_all(application_id: str) -> si.AllocationRequest:
    request = si.AllocationRequest()
    request.releases.allocationAsksToRelease.add(
        applicationID=application_id, terminationType=si.STOPPED_BY_RM
    )
    return request


def asks_left(service: Service) -> int:
    found = service.core.query(ApplicationsQuery("default", rm_id="rm")).result(SECONDS)
    assert isinstance(found, tuple)
    (application,) = found
    assert isinstance(application, ApplicationView)
    return len(application.requests)


@pytest.mark.remuda_rule("SI-2")
def test_on_a_plain_stream_what_follows_a_long_request_is_handled_after_it(
    service: Service,
) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("app", queue="root.a", user="ann")
        client.send(long_request("app"))
        client.send(short_request("app"))
        (placed,) = client.allocations(1)
        assert placed.allocationKey == "small"
        assert asks_left(service) == 1_000
        client.send(long_request("app"))
        client.send(drop_all("app"))
        client.ask("app", "last", {"vcore": 1})
        (placed,) = client.allocations(1)
        assert placed.allocationKey == "last"
        assert asks_left(service) == 0


@pytest.mark.remuda_rule("SI-2", "EXT-4")
def test_on_a_session_what_follows_a_long_request_is_handled_after_it(service: Service) -> None:
    stream = SessionStream(service.channel)
    stream.register()
    stream.nodes("n1")
    stream.app()
    stream.until("application")
    stream.send(allocation=long_request("app"))
    stream.send(allocation=drop_all("app"))
    stream.send(allocation=short_request("app"))
    assert [each.allocationKey for each in stream.until("allocation").allocation.new] == ["small"]
    assert asks_left(service) == 0
    stream.cut()


@pytest.mark.remuda_rule("SI-105")
def test_an_ask_of_a_long_request_that_cannot_be_read_is_refused_alone(service: Service) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n1": {"vcore": 10}})
        client.add_application("app", queue="root.a", user="ann")
    stream = service.allocations("rm")
    too_long = long_request("app")
    too_long.asks[499].allocationKey = "k" * 1_025
    too_long.asks.add().CopyFrom(short_request("app").asks[0])
    stream.send(too_long)
    (refused,) = stream.receive().rejected
    assert refused.allocationKey == "k" * 1_021 + "..."
    assert "an identifier has more than 1024 characters" in refused.reason
    assert [each.allocationKey for each in stream.receive().new] == ["small"]


@pytest.mark.remuda_rule("SI-3", "SI-4")
def test_the_elements_of_a_long_request_are_answered_in_their_order(service: Service) -> None:
    request = long_request("unknown")
    for number in range(1_000):
        request.allocations.add(allocationKey=f"held-{number}", nodeID="n", applicationID="unknown")
    service.register()
    stream = service.allocations("rm")
    stream.send(request)
    answered: list[str] = []
    while len(answered) < 2_000:
        response = stream.receive()
        answered += [each.allocationKey for each in response.rejectedAllocations]
        answered += [each.allocationKey for each in response.rejected]
    assert answered == [
        *[f"held-{number}" for number in range(1_000)],
        *[f"{number:0300}" for number in range(1_000)],
    ]
