"""A gRPC server with the real core in this process, and raw streams to talk to it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from remuda.base.errors import ConfigError, Problem
from remuda.config.schema import AccessList, Configuration, Load, PartitionConfig, QueueConfig
from remuda.core.scheduler import Scheduler
from remuda.edges.callers import KnownCallers
from remuda.edges.grpc.measurements import Measurements
from remuda.edges.grpc.security import Security
from remuda.edges.grpc.server import GrpcServer
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.questions.insight import Insight
from remuda.edges.questions.questions import Questions
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.lease.fence import Fence
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.ports import SchedulerFactory
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.line import LINE_CAPACITY
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.telemetry.audit.records import Audit, no_audit
from remuda.telemetry.fair_shares import FairShares
from remuda.telemetry.tracing import Tracing

T = TypeVar("T")
SECONDS = 60.0


def load(text: str) -> Configuration:
    """One leaf, root.a, whatever the text, except for one that is bad."""
    if text == "bad":
        raise ConfigError([Problem("partitions", "CFG-1", "it is bad")])
    everybody = AccessList(everybody=True)
    root = QueueConfig("root", parent=True, queues=(QueueConfig("a"),), submit_acl=everybody)
    return Configuration((PartitionConfig("default", root),))


class Service:
    """A core and a gRPC server, each on its thread; ``address`` is HOST:PORT.

    ``asked``: whether it answers questions about itself (EXT-157). ``scarce``: whether it runs
    short of memory then.
    """

    def __init__(
        self,
        settings: GrpcSettings | None = None,
        *,
        load: Load = load,
        stored: Configuration | None = None,
        resolvers: Resolvers | None = None,
        line_capacity: int = LINE_CAPACITY,
        security: Security | None = None,
        make_scheduler: SchedulerFactory = Scheduler,
        measurements: Measurements | None = None,
        asked: bool = False,
        scarce: bool = False,
        tracing: Tracing | None = None,
        audit: Audit = no_audit,
        fence: Fence | None = None,
        journal: Path | None = None,
        address: str = "127.0.0.1:0",
    ) -> None:
        self._settings = settings
        self._security = security or Security()
        self._load = load
        self._measurements = measurements
        self._tracing = tracing
        self._audit = audit
        self._fence = fence
        self._journal = journal
        self._wanted = address
        self.core = SchedulerLoop(
            make_scheduler,
            documents=StoredDocuments(stored or load("")),
            resolvers=resolvers,
            line_capacity=line_capacity,
        )
        questions = Questions(self.core, lambda: scarce)
        self.insight = Insight(questions, FairShares(self.core)) if asked else None
        self.address = ""
        self._started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        access = self._security.access
        self.server = server = GrpcServer(
            self.core,
            self._load,
            self._settings,
            credentials=self._security.credentials,
            callers=KnownCallers(access.identities, issuers=access.issuers),
            measurements=self._measurements,
            insight=self.insight,
            tracing=self._tracing,
            audit=self._audit,
            fence=self._fence,
            journal=self._journal,
        )
        stop = asyncio.Event()
        address = await server.start(self._wanted)
        self._started.set_result((address, asyncio.get_running_loop(), stop))
        await stop.wait()
        await server.stop(0)

    def __enter__(self) -> Self:
        self.core.start()
        self._thread.start()
        self.address, self._loop, self._stop = self._started.result(SECONDS)
        self.channel = grpc.insecure_channel(self.address)
        self.stub = SchedulerStub(self.channel)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.channel.close()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(SECONDS)
        self.core.stop()

    def register(
        self, rm_id: str = "rm", config: str = "", extra: Mapping[str, str] | None = None
    ) -> None:
        request = si.RegisterResourceManagerRequest(rmID=rm_id, config=config, extraConfig=extra)
        self.stub.RegisterResourceManager(request, timeout=SECONDS)

    def nodes(self, rm_id: str = "") -> Stream[si.NodeResponse]:
        return Stream(self.stub.UpdateNode, rm_id)

    def applications(self, rm_id: str = "") -> Stream[si.ApplicationResponse]:
        return Stream(self.stub.UpdateApplication, rm_id)

    def allocations(self, rm_id: str = "") -> Stream[si.AllocationResponse]:
        return Stream(self.stub.UpdateAllocation, rm_id)


class Stream(Generic[T]):
    """One open duplex stream, written and read by hand; ``rm_id`` goes into the metadata.

    ``seconds``: its deadline.
    """

    def __init__(
        self,
        method: grpc.StreamStreamMultiCallable[Any, Any],
        rm_id: str = "",
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        metadata = (("remuda-rm-id", rm_id),) if rm_id else ()
        self._call = method(iter(self._waiting.get, None), metadata=metadata, timeout=seconds)

    def send(self, request: si.AllocationRequest | si.ApplicationRequest | si.NodeRequest) -> None:
        self._waiting.put(request)

    def half_close(self) -> None:
        self._waiting.put(None)

    def receive(self) -> T:
        """The next response; fails if the stream ends first."""
        response: T = next(iter(self._call))
        return response

    def rest(self) -> list[T]:
        """All responses until the stream ends well."""
        return list(self._call)

    def cancel(self) -> None:
        self._call.cancel()

    def refusal(self) -> tuple[grpc.StatusCode, str]:
        """Wait for the end of the stream and return status and detail."""
        try:
            for _ in self._call:
                pass
        except grpc.RpcError:
            pass
        finally:
            self._waiting.put(None)
        return self._call.code(), self._call.details()
