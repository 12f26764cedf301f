"""The calls of one caller that last, and how they end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import httpx2

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import MetricsStub
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from tests.e2e.serving import Served
from tests.waiting import wait

SECONDS = 60.0


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def metadata(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


class Read:
    """What a call or request gives, read on a thread until it ends; ``end``: how it ended."""

    def __init__(self, items: Iterator[Any]) -> None:
        self.items: list[object] = []
        self.end: object = None
        self._thread = threading.Thread(target=self._read, args=(items,), daemon=True)
        self._thread.start()

    def _read(self, items: Iterator[Any]) -> None:
        try:
            for item in items:
                self.items.append(item)
        except grpc.RpcError as error:
            self.end = error.code()
        except httpx2.HTTPError as error:
            self.end = type(error)
        else:
            self.end = "it ended"

    def begun(self) -> bool:
        return bool(self.items)

    def over(self) -> bool:
        return self.end is not None


class Calls:
    """The calls of one identity that last: streams, a session, events over gRPC and HTTP."""

    def __init__(self, served: Served, channel: grpc.Channel, token: str, rm_id: str) -> None:
        who = metadata(token)
        stub = SchedulerStub(channel)
        stub.RegisterResourceManager(
            si.RegisterResourceManagerRequest(rmID=rm_id), SECONDS, metadata=who
        )
        self._requests: queue.SimpleQueue[si.NodeRequest | None] = queue.SimpleQueue()
        node = si.NodeInfo(nodeID="n", action=si.NodeInfo.CREATE)
        self._requests.put(si.NodeRequest(rmID=rm_id, nodes=[node]))
        nodes = stub.UpdateNode(iter(self._requests.get, None), metadata=who)
        watch = ext.WatchEventsRequest(history=10)
        events = MetricsStub(channel).WatchEvents(watch, metadata=who)
        self.reads = [Read(nodes), Read(events)]
        wait(lambda: all(each.begun() for each in self.reads))
        self._client = httpx2.Client(base_url=f"http://{served.rest}", timeout=60)
        stream = self._client.stream("GET", "/ws/v1/events/stream?count=10", headers=bearer(token))
        self._stream = stream
        lines = stream.__enter__()
        assert lines.status_code == 200
        self.reads.append(Read(lines.iter_lines()))
        wait(self.reads[-1].begun)

    def close(self) -> None:
        self._requests.put(None)
        self._client.close()
