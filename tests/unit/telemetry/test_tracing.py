"""Spans of calls, requests and steps, and what happens without the library."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import grpc
import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from remuda.base.errors import UsageError
from remuda.client import Client
from remuda.edges.rest.transport.app import build_app
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import AdminStub, SchedulerExtensionStub
from remuda.telemetry.tracing import Tracing, open_tracing
from tests.e2e.grpc_service import SECONDS, Service
from tests.waiting import wait

# The example of the W3C recommendation.
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class Kept:
    """Tracing whose spans are kept here."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider)

    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def wait_for(self, name: str) -> ReadableSpan:
        """The first span of this name."""
        wait(lambda: any(each.name == name for each in self.spans()))
        return next(each for each in self.spans() if each.name == name)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def service(kept: Kept) -> Iterator[Service]:
    with Service(tracing=kept.tracing) as running:
        yield running


def parent_of(span: ReadableSpan) -> tuple[str, str] | None:
    """Trace and span it belongs to."""
    if span.parent is None:
        return None
    return f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}"


def test_a_call_is_a_span_in_the_trace_of_its_caller(service: Service, kept: Kept) -> None:
    stub = SchedulerExtensionStub(service.channel)
    metadata = (("traceparent", TRACEPARENT), ("authorization", "Bearer correct horse"))
    stub.GetCapabilities(ext.CapabilitiesRequest(), timeout=SECONDS, metadata=metadata)
    span = kept.wait_for("remuda.v1.SchedulerExtension/GetCapabilities")
    assert span.kind is SpanKind.SERVER
    assert parent_of(span) == (TRACE, PARENT)
    assert dict(span.attributes or {}) == {
        "rpc.system": "grpc",
        "rpc.service": "remuda.v1.SchedulerExtension",
        "rpc.method": "GetCapabilities",
        "rpc.grpc.status_code": 0,
    }


def test_a_trace_that_cannot_be_read_is_none(service: Service, kept: Kept) -> None:
    stub = SchedulerExtensionStub(service.channel)
    metadata = (("traceparent", "00-nonsense"),)
    stub.GetCapabilities(ext.CapabilitiesRequest(), timeout=SECONDS, metadata=metadata)
    assert parent_of(kept.wait_for("remuda.v1.SchedulerExtension/GetCapabilities")) is None


def test_a_refused_call_has_its_status(service: Service, kept: Kept) -> None:
    request = ext.ChangeObjectStateRequest(rm_id="nobody", action=ext.ChangeObjectStateRequest.STOP)
    with pytest.raises(grpc.RpcError) as caught:
        AdminStub(service.channel).ChangeObjectState(request, timeout=SECONDS)
    span = kept.wait_for("remuda.v1.Admin/ChangeObjectState")
    assert (span.attributes or {})["rpc.grpc.status_code"] == caught.value.code().value[0]
    assert span.status.status_code is StatusCode.UNSET


def test_a_step_that_placed_something_is_a_span(service: Service, kept: Kept) -> None:
    service.core.watch_steps(kept.tracing.steps.watch)
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n": {"vcore": 1_000}})
        client.add_application("app", queue="root.a")
        client.ask("app", "k", {"vcore": 400}, count=2)
        client.allocations(2)
    kept.tracing.tell_steps()
    steps = [each for each in kept.spans() if each.name == "schedule"]
    assert sum(int(str((each.attributes or {})["remuda.allocations"])) for each in steps) == 2
    for each in steps:
        assert each.start_time is not None
        assert each.end_time is not None
        assert each.start_time < each.end_time
        assert int(str((each.attributes or {})["remuda.effects"])) > 0
    kept.tracing.tell_steps()
    assert len([each for each in kept.spans() if each.name == "schedule"]) == len(steps)


def test_steps_that_are_too_many_are_counted_and_told(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    effects = [object()]
    for _ in range(10_003):
        kept.tracing.steps.watch(1, effects)  # type: ignore[arg-type]
    kept.tracing.steps.watch(1, ())
    kept.tracing.tell_steps()
    assert len(kept.spans()) == 10_000
    assert "3 steps were left out" in caplog.text


def test_a_request_is_a_span_with_its_route_and_no_parameters(service: Service, kept: Kept) -> None:
    app = build_app(service.core, tracing=kept.tracing)

    async def ask() -> None:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            path = "/ws/v1/partition/secret/queues?token=secret"
            await client.get(path, headers={"traceparent": TRACEPARENT})

    asyncio.run(ask())
    (span,) = kept.spans()
    route = "/ws/v1/partition/{partition}/queues"
    assert span.name == f"GET {route}"
    assert parent_of(span) == (TRACE, PARENT)
    assert dict(span.attributes or {}) == {
        "http.request.method": "GET",
        "http.route": route,
        "http.response.status_code": 404,
    }


# ---------------------------------------------------------------------------------- settings


def test_an_exporter_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no exporter 'nonsense' is installed"):
        open_tracing({"OTEL_TRACES_EXPORTER": "nonsense"})


def test_traces_may_go_nowhere() -> None:
    tracing = open_tracing({"OTEL_TRACES_EXPORTER": "none"})
    with tracing.serving("name", {}, {}) as span:
        span.note("a", 1)
        span.fail("text")
    tracing.close()


@pytest.mark.remuda_rule("KV-6")
def test_without_the_library_tracing_is_refused_in_a_line() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from remuda.cli.main import main\n"
        "sys.argv = ['remuda', 'serve', '--tracing', 'otel', '--duration', '1s',"
        " '--rest-address', '127.0.0.1:0', '--grpc-address', '127.0.0.1:0']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert "install remuda with its extra 'otel'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_collector_that_is_not_there_is_told_in_lines() -> None:
    code = (
        "from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter\n"
        "from remuda.telemetry.tracing import open_tracing\n"
        "class Broken(SpanExporter):\n"
        "    def export(self, spans):\n"
        "        raise OSError('nobody listens')\n"
        "tracing = open_tracing({'OTEL_TRACES_EXPORTER': 'none'})\n"
        "tracing._provider.add_span_processor(BatchSpanProcessor(Broken()))\n"
        "with tracing.serving('a', {}, {}):\n"
        "    pass\n"
        "tracing.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("\n") == 1
    assert "ERROR opentelemetry" in done.stderr


def test_without_tracing_the_library_is_not_even_imported() -> None:
    code = (
        "import sys\n"
        "import remuda.app\n"
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
