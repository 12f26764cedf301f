"""The rules of the SI streams, seen by a client over a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import grpc
import pytest

from remuda.base.errors import UsageError
from remuda.core.messages.queries import NodesQuery, PartitionsQuery
from remuda.edges.grpc.server import GrpcServer
from remuda.edges.grpc.settings import GrpcSettings
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import SECONDS, Service, Stream, load


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def quantities(**amounts: int) -> si.Resource:
    return si.Resource(resources={name: si.Quantity(value=n) for name, n in amounts.items()})


def node(name: str, rm_id: str = "rm") -> si.NodeRequest:
    entry = si.NodeInfo(
        nodeID=name,
        action=si.NodeInfo.CREATE,
        schedulableResource=quantities(vcore=1_000_000),
    )
    return si.NodeRequest(rmID=rm_id, nodes=[entry])


def application(name: str = "a", rm_id: str = "rm") -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["bi"])
    entry = si.AddApplicationRequest(applicationID=name, queueName="root.a", ugi=ugi)
    return si.ApplicationRequest(rmID=rm_id, new=[entry])


def asks(count: int, rm_id: str = "rm", tag: str = "") -> si.AllocationRequest:
    return si.AllocationRequest(
        rmID=rm_id,
        asks=[
            si.AllocationAsk(
                allocationKey=f"k{number}",
                applicationID="a",
                resourceAsk=quantities(vcore=1),
                maxAllocations=1,
                tags={"note": tag} if tag else {},
            )
            for number in range(count)
        ],
    )


def prepare(service: Service) -> Stream[si.ApplicationResponse]:
    """Register, add a node and an application; the application stream stays open."""
    service.register()
    nodes = service.nodes()
    nodes.send(node("n"))
    assert [entry.nodeID for entry in nodes.receive().accepted] == ["n"]
    nodes.half_close()
    assert nodes.rest() == []
    applications = service.applications()
    applications.send(application())
    assert [entry.applicationID for entry in applications.receive().accepted] == ["a"]
    return applications


def placed(stream: Stream[si.AllocationResponse], count: int) -> list[str]:
    keys: list[str] = []
    while len(keys) < count:
        keys += [entry.allocationKey for entry in stream.receive().new]
    return keys


def raw_stream(service: Service, method: str) -> grpc.StreamStreamMultiCallable[bytes, bytes]:
    """A stream of bytes that no client library has looked at."""
    return service.channel.stream_stream(f"/si.v1.Scheduler/{method}")


@pytest.mark.remuda_rule("SI-100", "RM-1")
def test_a_bad_id_is_an_invalid_argument_with_the_cause(service: Service) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        service.register("a[b")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "rmID must not contain [ or ]"


@pytest.mark.remuda_rule("SI-100", "RM-6")
def test_a_bad_configuration_is_an_invalid_argument_and_changes_nothing(service: Service) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        service.register(config="bad")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "it is bad" in (caught.value.details() or "")
    assert service.core.query(PartitionsQuery()).result(SECONDS) == ()


@pytest.mark.remuda_rule("SI-100", "RM-13")
def test_a_failed_second_registration_leaves_the_rm_unregistered(service: Service) -> None:
    service.register()
    stream = service.nodes("rm")
    with pytest.raises(grpc.RpcError):
        service.register(config="bad")
    assert stream.refusal()[0] is grpc.StatusCode.ABORTED
    assert service.nodes("rm").refusal()[0] is grpc.StatusCode.FAILED_PRECONDITION
    assert service.core.query(PartitionsQuery()).result(SECONDS) == ()


def test_bytes_that_are_no_message_are_an_invalid_argument(service: Service) -> None:
    service.register()
    unary: grpc.UnaryUnaryMultiCallable[bytes, bytes] = service.channel.unary_unary(
        "/si.v1.Scheduler/RegisterResourceManager"
    )
    with pytest.raises(grpc.RpcError) as caught:
        unary(b"\xff\xff", timeout=SECONDS)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    call = raw_stream(service, "UpdateNode")(iter([b"\xff\xff"]), timeout=SECONDS)
    with pytest.raises(grpc.RpcError) as refused:
        list(call)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.remuda_rule("SI-101")
def test_an_unknown_rm_is_a_failed_precondition(service: Service) -> None:
    service.register("other")
    named = service.allocations()
    named.send(si.AllocationRequest(rmID="rm"))
    for code, detail in (named.refusal(), service.nodes("rm").refusal()):
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "'rm' is not registered" in detail


@pytest.mark.remuda_rule("SI-101")
def test_a_stream_without_any_rm_is_an_invalid_argument(service: Service) -> None:
    stream = service.applications()
    stream.send(si.ApplicationRequest())
    code, detail = stream.refusal()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "no resource manager named" in detail


@pytest.mark.remuda_rule("SI-101")
def test_another_rm_on_the_same_stream_ends_it(service: Service) -> None:
    service.register("rm")
    service.register("other")
    stream = service.nodes()
    stream.send(node("n1"))
    assert [entry.nodeID for entry in stream.receive().accepted] == ["n1"]
    stream.send(node("n2", rm_id="other"))
    code, detail = stream.refusal()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "belongs to 'rm', not to 'other'" in detail
    assert service.core.query(NodesQuery("default", "other")).result(SECONDS) == ()


@pytest.mark.remuda_rule("SI-101")
def test_an_empty_first_message_or_metadata_open_the_response_direction(
    service: Service,
) -> None:
    applications = prepare(service)
    by_message = service.allocations()
    by_message.send(si.AllocationRequest(rmID="rm"))
    requests = service.nodes("rm")
    requests.send(si.NodeRequest())
    by_message.send(asks(1))
    assert placed(by_message, 1) == ["k0"]
    assert applications.receive().updated[0].state == "Accepted"
    requests.half_close()
    assert requests.rest() == []


@pytest.mark.remuda_rule("SI-102")
def test_a_newer_stream_takes_over_and_the_older_is_aborted(service: Service) -> None:
    prepare(service)
    older = service.allocations("rm")
    older.send(asks(1))
    assert placed(older, 1) == ["k0"]
    newer = service.allocations("rm")
    code, detail = older.refusal()
    assert code is grpc.StatusCode.ABORTED
    assert "newer UpdateAllocation stream" in detail
    newer.send(asks(2))
    assert placed(newer, 1) == ["k1"]


@pytest.mark.remuda_rule("SI-103")
def test_responses_wait_while_their_stream_is_closed_and_none_is_lost_or_repeated(
    service: Service,
) -> None:
    prepare(service)
    first = service.allocations("rm")
    first.send(asks(5))
    first.half_close()
    keys = [entry.allocationKey for response in first.rest() for entry in response.new]
    service.core.idle().result(SECONDS)
    second = service.allocations("rm")
    keys += placed(second, 5 - len(keys))
    assert keys == [f"k{number}" for number in range(5)]
    second.half_close()
    assert second.rest() == []


@pytest.mark.remuda_rule("SI-103")
def test_responses_wait_after_a_broken_connection_too(service: Service) -> None:
    prepare(service)
    broken = service.allocations("rm")
    broken.send(asks(1))
    assert placed(broken, 1) == ["k0"]
    broken.cancel()
    nodes = service.nodes("rm")
    nodes.send(si.NodeRequest(nodes=[si.NodeInfo(nodeID="n", action=si.NodeInfo.DECOMISSION)]))
    nodes.half_close()
    assert nodes.rest() == []
    again = service.allocations("rm")
    released = again.receive().released
    assert [entry.allocationKey for entry in released] == ["k0"]


def test_a_half_closed_stream_gets_its_answers_before_it_ends(service: Service) -> None:
    service.register()
    stream = service.nodes()
    for name in ("n1", "n2", "n3"):
        stream.send(node(name))
    stream.half_close()
    accepted = [entry.nodeID for response in stream.rest() for entry in response.accepted]
    assert accepted == ["n1", "n2", "n3"]


@pytest.mark.remuda_rule("RM-9")
def test_registering_again_ends_the_streams_and_drops_what_waited(service: Service) -> None:
    prepare(service)
    stream = service.allocations("rm")
    stream.send(asks(1))
    stream.half_close()
    stream.rest()
    old = service.nodes("rm")
    old.send(node("n2"))
    assert [entry.nodeID for entry in old.receive().accepted] == ["n2"]
    service.register()
    assert old.refusal()[0] is grpc.StatusCode.ABORTED
    fresh = service.allocations("rm")
    fresh.send(si.AllocationRequest())
    fresh.half_close()
    assert fresh.rest() == []
    assert service.core.query(NodesQuery("default", "rm")).result(SECONDS) == ()


@pytest.mark.remuda_rule("SI-104", "SI-79")
def test_states_arrive_before_what_they_cause_when_both_streams_are_read(
    service: Service,
) -> None:
    applications = prepare(service)
    stream = service.allocations("rm")
    stream.send(asks(3))
    states = [entry.state for entry in applications.receive().updated]
    assert states[:1] == ["Accepted"]
    assert placed(stream, 3) == ["k0", "k1", "k2"]


@pytest.mark.remuda_rule("SI-105")
def test_a_message_above_the_receive_limit_is_resource_exhausted() -> None:
    with Service(GrpcSettings(receive_bytes_limit=10_000)) as service:
        service.register()
        stream = service.allocations("rm")
        stream.send(asks(1, tag="x" * 10_001))
        assert stream.refusal()[0] is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.remuda_rule("SI-105")
def test_the_default_receive_limit_is_64_mebibytes() -> None:
    assert GrpcSettings().receive_bytes_limit == 67_108_864


def test_too_many_elements_in_one_message_are_resource_exhausted(service: Service) -> None:
    prepare(service)
    million = si.AllocationRequest(asks=[si.AllocationAsk()] * 1_000).SerializeToString() * 1_000
    raw = raw_stream(service, "UpdateAllocation")
    call = raw(iter([million]), metadata=(("remuda-rm-id", "rm"),), timeout=SECONDS)
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "more than 100000 elements" in (caught.value.details() or "")
    stream = service.allocations("rm")
    stream.send(asks(1))
    assert placed(stream, 1) == ["k0"]


def test_maps_that_are_too_large_refuse_their_ask_or_registration(service: Service) -> None:
    prepare(service)
    stream = service.allocations("rm")
    bomb = asks(1)
    for number in range(1_025):
        bomb.asks[0].resourceAsk.resources[f"type-{number}"].value = 1
    stream.send(bomb)
    (refused,) = stream.receive().rejected
    assert refused.reason.startswith("a resource has more than 1024 types")
    request = si.RegisterResourceManagerRequest(rmID="other")
    request.buildInfo.update({str(number): "" for number in range(1_025)})
    with pytest.raises(grpc.RpcError) as caught:
        service.stub.RegisterResourceManager(request, timeout=SECONDS)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.remuda_rule("SEED-24", "RM-16")
def test_an_rm_that_takes_no_responses_has_to_register_again() -> None:
    with Service(GrpcSettings(outbound_messages_limit=8)) as service:
        applications = prepare(service)
        nodes = service.nodes("rm")
        for number in range(12):
            nodes.send(node(f"n{number}"))
            nodes.receive()
        asking = service.allocations("rm")
        for number in range(12):
            pinned = asks(1)
            pinned.asks[0].allocationKey = f"k{number}"
            pinned.asks[0].tags["yunikorn.apache.org/requiredNode"] = f"n{number}"
            asking.send(pinned)
            assert placed(asking, 1) == [f"k{number}"]
        asking.half_close()
        asking.rest()
        for number in range(12):
            gone = si.NodeInfo(nodeID=f"n{number}", action=si.NodeInfo.DECOMISSION)
            nodes.send(si.NodeRequest(nodes=[gone]))
        code, detail = nodes.refusal()
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "too many responses waited for resource manager 'rm'; register again" in detail
        assert service.allocations("rm").refusal()[0] is grpc.StatusCode.FAILED_PRECONDITION
        applications.cancel()
        prepare(service)


@pytest.mark.remuda_rule("SI-106")
def test_predicates_pass_over_the_streams(service: Service) -> None:
    prepare(service)
    stream = service.allocations("rm")
    stream.send(asks(2))
    assert placed(stream, 2) == ["k0", "k1"]
    stream.half_close()
    assert stream.rest() == []


def test_a_taken_port_is_refused_in_one_line(service: Service) -> None:
    async def start_another() -> None:
        server = GrpcServer(service.core, load)
        try:
            await server.start(service.address)
        finally:
            await server.stop(0)

    with pytest.raises(UsageError, match=rf"^cannot listen on {service.address} for gRPC.*$"):
        asyncio.run(start_another())


@pytest.mark.remuda_rule("SI-104", "SI-4")
def test_asks_before_the_application_was_accepted_are_rejected(service: Service) -> None:
    service.register()
    stream = service.allocations("rm")
    stream.send(asks(2))
    rejected = stream.receive().rejected
    assert [(entry.allocationKey, entry.applicationID) for entry in rejected] == [
        ("k0", "a"),
        ("k1", "a"),
    ]
    assert all("a" in entry.reason for entry in rejected)
