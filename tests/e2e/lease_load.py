"""A resource manager under load with two schedulers, which counts what is lost or doubled.

It owns the truth: which tasks wait, which run where, which have ended. It asks all the time, ends
what ran longest, and after a break registers with the active scheduler and reports what runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response, resource

QUEUES = """
partitions: [{name: default, queues: [{name: root, submitacl: "*", queues: [{name: default}]}]}]
"""
NODES = tuple(f"node-{number}" for number in range(20))
CAPACITY = {"vcore": 1_000}
APPLICATION = "load"
# Tasks that are asked for at a time, the pause between, and how many run at most.
PORTION = 5
PAUSE_SECONDS = 0.01
RUNNING = 300


class LoadedManager:
    """The manager, on a thread of its own while its block lasts.

    ``addresses``: of both schedulers, with a comma between. ``doubled``: allocations that nobody
    waited for. ``heard``: when the last new allocation came (monotonic), ``lives``: how often it
    registered.
    """

    def __init__(self, addresses: str) -> None:
        self._client = Client(
            addresses, "load", on_response=self._hear, on_disconnect=self._lose, timeout=60
        )
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._lost = threading.Event()
        self._lost.set()
        self.asking = True
        self.asked = 0
        self.waiting: set[str] = set()
        self.running: dict[str, si.Allocation] = {}
        self.doubled: list[str] = []
        self.problems: list[str] = []
        self.heard = 0.0
        self.lives = 0
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join(60)
        self._client.close()

    def settled(self) -> bool:
        """Whether everything that was asked for runs or has run; the asking has to be off."""
        return not self.waiting and not self._lost.is_set()

    def _hear(self, response: Response) -> None:
        if not isinstance(response, si.AllocationResponse):
            return
        with self._lock:
            for new in response.new:
                self.heard = time.monotonic()
                if new.allocationKey in self.waiting:
                    self.waiting.remove(new.allocationKey)
                    self.running[new.allocationKey] = new
                else:
                    self.doubled.append(new.allocationKey)
            self.problems += [each.reason for each in response.rejected]

    def _lose(self, _: ClientError) -> None:
        self._lost.set()

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._lost.is_set():
                    self._register()
                elif self.asking:
                    self._go_on()
            except ClientError:
                self._lost.set()
            self._stopping.wait(PAUSE_SECONDS)

    def _register(self) -> None:
        """Register where a scheduler is active, and tell it all."""
        self._lost.clear()
        self._client.register(QUEUES)
        with self._lock:
            running, waiting = list(self.running.values()), sorted(self.waiting)
        self._client.add_application(APPLICATION, queue="root.default")
        nodes = [
            si.NodeInfo(
                nodeID=name,
                action=si.NodeInfo.CREATE,
                schedulableResource=resource(CAPACITY),
                existingAllocations=[each for each in running if each.nodeID == name],
            )
            for name in NODES
        ]
        self._client.send(si.NodeRequest(nodes=nodes))
        self._ask(waiting)
        self.lives += 1

    def _go_on(self) -> None:
        """Ask for some more, and end what ran longest."""
        names = [f"task-{self.asked + number}" for number in range(PORTION)]
        with self._lock:
            self.asked += PORTION
            self.waiting.update(names)
            surplus = list(self.running.values())[: max(0, len(self.running) - RUNNING)]
            for each in surplus:
                del self.running[each.allocationKey]
        self._ask(names)
        for each in surplus:
            self._client.release(APPLICATION, each.allocationID)

    def _ask(self, names: Iterable[str]) -> None:
        self._client.ask_many(
            si.AllocationAsk(
                applicationID=APPLICATION,
                allocationKey=name,
                resourceAsk=resource({"vcore": 10}),
                maxAllocations=1,
            )
            for name in names
        )
