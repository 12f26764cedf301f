"""A session stream written and read by hand, frame by frame."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import Any

import grpc

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import ResourceManagerSessionStub
from remuda.si.wire import resource

SECONDS = 60.0
ALL = (
    "predicates",
    "preemption-predicates",
    "events",
    "container-states",
    "state-dump",
    "responses",
    "configuration",
    "node-handles",
)
QUIET = ("responses", "configuration")


class SessionStream:
    """One stream of remuda.v1.ResourceManagerSession.

    ``sent``: the number of the last numbered frame sent; ``got``: of the last received. With
    ``acks`` every numbered frame that is received is acknowledged at once.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        *,
        sent: int = 0,
        got: int = 0,
        acks: bool = True,
        metadata: tuple[tuple[str, str | bytes], ...] = (),
    ) -> None:
        self._waiting: queue.SimpleQueue[ext.RMFrame | None] = queue.SimpleQueue()
        self._received: queue.SimpleQueue[ext.CoreFrame | None] = queue.SimpleQueue()
        connect = ResourceManagerSessionStub(channel).Connect
        self._call = connect(iter(self._waiting.get, None), metadata=metadata)
        self.sent = sent
        self.got = got
        self.acks = acks
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for frame in self._call:
                self._received.put(frame)
        except grpc.RpcError:
            pass
        self._received.put(None)

    # ------------------------------------------------------------------ handshake

    def hello(self, hello: ext.Hello | None = None, **fields: Any) -> ext.CoreFrame:
        """Send Hello and return the first frame."""
        content = hello or ext.Hello(version=ext.ProtocolVersion(major=1), **fields)
        self.send_raw(ext.RMFrame(hello=content))
        return self.receive()

    def register(
        self, rm_id: str = "rm", features: Iterable[str] = QUIET, **other: Any
    ) -> ext.Welcome:
        """Register and return what is in force."""
        limits = other.pop("limits", None)
        request = si.RegisterResourceManagerRequest(rmID=rm_id, **other)
        frame = self.hello(register=request, features=list(features), limits=limits)
        assert frame.HasField("welcome"), frame
        return frame.welcome

    def resume(self, rm_id: str, session_id: str, last_seq: int, **other: Any) -> ext.CoreFrame:
        resume = ext.Resume(rm_id=rm_id, session_id=session_id, last_seq=last_seq)
        return self.hello(resume=resume, **other)

    # ------------------------------------------------------------------ frames

    def send_raw(self, frame: ext.RMFrame) -> None:
        self._waiting.put(frame)

    def send(self, **body: Any) -> int:
        """Send a numbered frame and return its number."""
        self.sent += 1
        self.send_raw(ext.RMFrame(seq=self.sent, ack=self.got if self.acks else 0, **body))
        return self.sent

    def ack(self, number: int | None = None) -> None:
        acked = self.got if number is None else number
        self.send_raw(ext.RMFrame(ack=acked, ack_only=ext.Ack()))

    def receive(self, timeout: float = SECONDS) -> ext.CoreFrame:
        """The next frame that is no heartbeat or bare acknowledgement; fails at the end."""
        while True:
            frame = self._received.get(timeout=timeout)
            assert frame is not None, f"the stream ended: {self.status()}"
            if frame.seq:
                assert frame.seq == self.got + 1, f"{frame.seq} follows {self.got}"
                self.got = frame.seq
                if self.acks:
                    self.ack()
            if frame.WhichOneof("body") not in ("heartbeat", "ack_only"):
                return frame

    def receive_any(self, timeout: float = SECONDS) -> ext.CoreFrame | None:
        """The next frame whatever it is, None at the end."""
        return self._received.get(timeout=timeout)

    def until(self, name: str) -> ext.CoreFrame:
        """The next frame with this body; others are dropped."""
        while True:
            frame = self.receive()
            if frame.WhichOneof("body") == name:
                return frame

    def silent(self, seconds: float = 0.3) -> bool:
        """Whether nothing but heartbeats and acknowledgements comes for so long."""
        try:
            self.receive(seconds)
        except queue.Empty:
            return True
        return False

    def goodbye(self) -> ext.Goodbye:
        """Read to the end; the last frame must be Goodbye."""
        last: ext.CoreFrame | None = None
        while True:
            frame = self._received.get(timeout=SECONDS)
            if frame is None:
                break
            last = frame
        assert last is not None, self.status()
        assert last.HasField("goodbye"), last
        return last.goodbye

    def status(self) -> tuple[grpc.StatusCode, str]:
        return self._call.code(), self._call.details()

    def leave(self, reason: ext.Goodbye.Reason.ValueType) -> None:
        self.send_raw(ext.RMFrame(ack=self.got, goodbye=ext.Goodbye(reason=reason)))

    def cut(self) -> None:
        """Break the stream without a word."""
        self._call.cancel()
        self._waiting.put(None)
        self._reader.join(SECONDS)

    # ------------------------------------------------------------------ requests

    def nodes(self, *names: str, cores: int = 10) -> None:
        infos = [
            si.NodeInfo(
                nodeID=name,
                action=si.NodeInfo.CREATE,
                schedulableResource=resource({"vcore": cores}),
            )
            for name in names
        ]
        self.send(node=si.NodeRequest(nodes=infos))

    def app(self, name: str = "app", queue_name: str = "root.a") -> None:
        new = si.AddApplicationRequest(
            applicationID=name,
            queueName=queue_name,
            ugi=si.UserGroupInformation(user="ann", groups=["g"]),
        )
        self.send(application=si.ApplicationRequest(new=[new]))

    def ask(self, *keys: str, cores: int = 1, count: int = 1, app: str = "app") -> None:
        asks = [
            si.AllocationAsk(
                applicationID=app,
                allocationKey=key,
                resourceAsk=resource({"vcore": cores}),
                maxAllocations=count,
            )
            for key in keys
        ]
        self.send(allocation=si.AllocationRequest(asks=asks))

    def release(self, allocation_id: str, app: str = "app") -> None:
        entry = si.AllocationRelease(
            applicationID=app, allocationID=allocation_id, terminationType=si.STOPPED_BY_RM
        )
        releases = si.AllocationReleasesRequest(allocationsToRelease=[entry])
        self.send(allocation=si.AllocationRequest(releases=releases))

    def allocations(self, count: int) -> list[tuple[str, str]]:
        """The next ``count`` new allocations, as (identity, node)."""
        found: list[tuple[str, str]] = []
        while len(found) < count:
            frame = self.until("allocation")
            found += [(new.allocationID, new.nodeID) for new in frame.allocation.new]
        return found
