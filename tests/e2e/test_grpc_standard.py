"""What every gRPC server is expected to answer: probes, and tools that look around."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from remuda.core.messages.commands import NewApplication, UpdateApplications
from remuda.edges.grpc.security import read_security
from remuda.edges.grpc.server import GrpcServer
from remuda.runtime.loop import SchedulerLoop
from tests.e2e.grpc_service import SECONDS, Service, load
from tests.e2e.test_grpc_security import BY_TOKEN, TOKEN, token
from tests.unit.runtime.fakes import Factory, registration
from tests.waiting import wait

SERVICES = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1alpha.ServerReflection",
    "remuda.v1.Admin",
    "remuda.v1.Journal",
    "remuda.v1.Metrics",
    "remuda.v1.SchedulerExtension",
    "si.v1.Scheduler",
]
Status = health_pb2.HealthCheckResponse


def check(channel: grpc.Channel, service: str) -> int:
    request = health_pb2.HealthCheckRequest(service=service)
    return int(HealthStub(channel).Check(request, timeout=SECONDS).status)


def test_a_probe_hears_that_all_is_served() -> None:
    with Service() as service:
        for name in ("", "si.v1.Scheduler", "remuda.v1.Admin", "remuda.v1.SchedulerExtension"):
            assert check(service.channel, name) == Status.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            check(service.channel, "si.v2.Scheduler")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def status(call: Any) -> int:
    """The next status that a call which watches is told."""
    return int((await call.read()).status)


def test_who_watches_hears_at_once_and_again_when_it_changes() -> None:
    core = SchedulerLoop(Factory())
    core.start()

    async def scenario() -> list[int]:
        server = GrpcServer(core, load)
        address = await server.start("127.0.0.1:0")
        async with grpc.aio.insecure_channel(address) as channel:
            watch = channel.unary_stream(
                "/grpc.health.v1.Health/Watch",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            known, unknown = (
                watch(health_pb2.HealthCheckRequest(service=name), timeout=SECONDS)
                for name in ("si.v1.Scheduler", "si.v2.Scheduler")
            )
            found = [await status(known), await status(unknown)]
            core.register(registration()).result(SECONDS)
            core.submit(UpdateApplications("rm", new=(NewApplication("fault"),)))
            found.append(await status(known))
            for call in (known, unknown):
                call.cancel()
        await server.stop(0)
        return found

    expected = [Status.SERVING, Status.SERVICE_UNKNOWN, Status.NOT_SERVING]
    assert asyncio.run(scenario()) == expected


def test_a_probe_hears_of_a_scheduler_that_failed() -> None:
    core = SchedulerLoop(Factory())
    core.start()

    async def scenario() -> list[int]:
        server = GrpcServer(core, load)
        address = await server.start("127.0.0.1:0")
        with grpc.insecure_channel(address) as channel:
            found = [await asyncio.to_thread(check, channel, "si.v1.Scheduler")]
            core.register(registration()).result(SECONDS)
            core.submit(UpdateApplications("rm", new=(NewApplication("fault"),)))
            fails = lambda: check(channel, "si.v1.Scheduler") == Status.NOT_SERVING  # noqa: E731
            await asyncio.to_thread(wait, fails)
            found.append(await asyncio.to_thread(check, channel, ""))
        await server.stop(0)
        return found

    assert asyncio.run(scenario()) == [Status.SERVING, Status.NOT_SERVING]


def services(channel: grpc.Channel, metadata: tuple[tuple[str, str], ...] = ()) -> list[str]:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    stub = ServerReflectionStub(channel)
    calls = stub.ServerReflectionInfo(iter([request]), timeout=SECONDS, metadata=metadata)
    (answer,) = list(calls)
    return sorted(each.name for each in answer.list_services_response.service)


@pytest.mark.remuda_rule("SEED-11")
def test_a_tool_finds_the_services_and_their_messages() -> None:
    with Service() as service:
        assert set(services(service.channel)) >= set(SERVICES)
        request = reflection_pb2.ServerReflectionRequest(
            file_containing_symbol="si.v1.AllocationAsk"
        )
        stub = ServerReflectionStub(service.channel)
        (answer,) = list(stub.ServerReflectionInfo(iter([request]), timeout=SECONDS))
        assert len(answer.file_descriptor_response.file_descriptor_proto) > 0


@pytest.mark.remuda_rule("EXT-23")
def test_probes_need_no_identity_and_tools_do(tmp_path: Path) -> None:
    path = tmp_path / "access.toml"
    path.write_text(BY_TOKEN)
    with Service(security=read_security(None, path)) as service:
        assert check(service.channel, "") == Status.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            services(service.channel)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert set(services(service.channel, token(TOKEN))) >= set(SERVICES)
