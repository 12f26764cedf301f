"""Measure how long a resource manager waits while others make noise.

    python -m tools.neighbours                   all kinds of noise, 20 s each
    python -m tools.neighbours nothing --seconds 60
    PYTHONPATH=build/compiled python -m tools.neighbours

A manager asks 20 times a second, and releases what it got. Other processes send meanwhile what a
manager with a fault, or with bad intentions, may send. The line of each kind has the milliseconds
from an ask to its allocation, how much memory the scheduler took more, and how long the machine let
nobody run (a long wait at such a time says nothing). Every kind has a scheduler of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

import grpc

from remuda.bench.services.witness import witness
from remuda.bench.throughput.run import resident_of
from remuda.client import Client
from remuda.runtime.build import core_build
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.si.wire import Response, resource
from tests.e2e.memory_load import CONFIG
from tests.e2e.serving import FREE_PORTS, Served
from tests.memory import peak_kilobytes

_RATE: Final = 20
_WARM_SECONDS: Final = 2.0
_TIMEOUT: Final = 60.0
# The limits of one message (remuda.si.limits).
_ELEMENTS: Final = 100_000
_ENTRIES: Final = 1_000_000
_MESSAGE_BYTES: Final = 4 << 20

Noise = Callable[[str, float], None]


class Good:
    """The manager that is measured. ``waits``: milliseconds from each ask to its allocation."""

    def __init__(self, address: str) -> None:
        self.waits: list[float] = []
        self._sent: dict[str, float] = {}
        self._placed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.client = Client(address, "good", on_response=self._hear)

    def run(self, seconds: float) -> None:
        """Ask for so long. The time of an ask counts from when it was due."""
        self.waits = []
        began = time.monotonic()
        count = int(seconds * _RATE)
        held = count
        for number in range(count):
            due = began + number / _RATE
            time.sleep(max(0.0, due - time.monotonic()))
            key = f"k{began}-{number}"
            self._sent[key] = due
            self.client.ask("app", key, {"vcore": 1})
            while not self._placed.empty():
                self.client.release("app", self._placed.get())
                held -= 1
        for _ in range(held):
            self.client.release("app", self._placed.get(timeout=_TIMEOUT))

    def _hear(self, response: Response) -> None:
        now = time.monotonic()
        for each in getattr(response, "new", ()):
            self.waits.append((now - self._sent[each.allocationKey]) * 1e3)
            self._placed.put(each.allocationKey)


def _stream(address: str, rm_id: str, messages: Iterator[si.AllocationRequest]) -> None:
    """Send messages as one manager; what comes back is dropped, an end of the stream ends it."""
    with grpc.insecure_channel(address) as channel, contextlib.suppress(grpc.RpcError):
        stub = SchedulerStub(channel)
        request = si.RegisterResourceManagerRequest(rmID=rm_id, config=CONFIG)
        stub.RegisterResourceManager(request, _TIMEOUT)
        application = si.AddApplicationRequest(
            applicationID="app",
            queueName="root.a",
            partitionName="default",
            ugi=si.UserGroupInformation(user="ann"),
        )
        applications = iter([si.ApplicationRequest(rmID=rm_id, new=[application])])
        answer = next(stub.UpdateApplication(applications))
        assert answer.accepted, answer
        for _ in stub.UpdateAllocation(messages):
            pass


def _each_second(message: si.AllocationRequest, seconds: float) -> Iterator[si.AllocationRequest]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield message
        time.sleep(1.0)


def _asks(rm_id: str, first: int, count: int, vcore: int) -> si.AllocationRequest:
    wanted = resource({"vcore": vcore, "memory": 1})
    return si.AllocationRequest(
        rmID=rm_id,
        asks=[
            si.AllocationAsk(
                allocationKey=f"key-{first + number:012}",
                applicationID="app",
                partitionName="default",
                maxAllocations=1,
                resourceAsk=wanted,
                tags={"kubernetes.io/meta/podName": f"a-pod-with-a-usual-name-{number:06}"},
            )
            for number in range(count)
        ],
    )


def _none(address: str, seconds: float) -> None:
    """Nobody else is there."""


def _empty(address: str, seconds: float) -> None:
    """One message of 200 kB with 100,000 empty asks."""
    asks = [si.AllocationAsk() for _ in range(_ELEMENTS)]
    time.sleep(seconds / 4)
    _stream(address, "noise", iter([si.AllocationRequest(rmID="noise", asks=asks)]))


def _empties(address: str, seconds: float) -> None:
    """The same once a second."""
    asks = [si.AllocationAsk() for _ in range(_ELEMENTS)]
    message = si.AllocationRequest(rmID="noise", asks=asks)
    _stream(address, "noise", _each_second(message, seconds))


def _five(address: str, seconds: float) -> None:
    """Five managers send 1 MB a second in total, ten messages a second each."""

    def usual(rm_id: str) -> Iterator[si.AllocationRequest]:
        size = _asks(rm_id, 0, 100, 10**6).ByteSize() // 100
        count = 20_000 // size
        end = time.monotonic() + seconds
        first = 0
        while time.monotonic() < end:
            yield _asks(rm_id, first, count, 10**6)
            first += count
            time.sleep(0.1)

    names = [f"noise-{number}" for number in range(5)]
    threads = [
        threading.Thread(target=_stream, args=(address, name, usual(name))) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _nothing(address: str, seconds: float) -> None:
    """A million asks that fit no node, as fast as they are taken."""

    def many() -> Iterator[si.AllocationRequest]:
        end = time.monotonic() + seconds
        for first in range(0, 1_000_000, 1_000):
            if time.monotonic() > end:
                return
            yield _asks("noise", first, 1_000, 10**9)

    _stream(address, "noise", many())


def _worst(address: str, seconds: float) -> None:
    """The worst messages of 4 MiB once a second: entries of maps, unknown fields, empty asks."""
    entries = _ENTRIES - 1_000
    tags = si.AllocationAsk(tags={f"{number:x}": "" for number in range(1_000)})
    many = si.AllocationRequest(rmID="noise", asks=[tags] * min(entries // 1_000, 250))
    unknown = si.AllocationRequest.FromString(
        si.AllocationRequest(rmID="noise").SerializeToString() + b"\xf8\x07\x01" * 1_300_000
    )
    most = si.AllocationRequest(rmID="noise", asks=[si.AllocationAsk()] * _ELEMENTS)
    long = si.AllocationRequest(
        rmID="noise", asks=[si.AllocationAsk(allocationKey="x" * 40)] * 90_000
    )
    shapes = [each for each in (many, unknown, most, long) if each.ByteSize() < _MESSAGE_BYTES]

    def turns() -> Iterator[si.AllocationRequest]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for shape in shapes:
                yield shape
                time.sleep(1.0)

    _stream(address, "noise", turns())


NOISES: Final[dict[str, Noise]] = {
    "none": _none,
    "empty": _empty,
    "empties": _empties,
    "five": _five,
    "nothing": _nothing,
    "worst": _worst,
}


def measure(name: str, seconds: float) -> str:
    """Return the line of one kind of noise."""
    with Served(*FREE_PORTS) as served, witness() as stood_still:
        good = Good(served.grpc)
        with good.client as client:
            client.register(CONFIG)
            client.add_nodes({f"n{number}": {"vcore": 1_000} for number in range(10)})
            client.add_application("app", queue="root.a", user="ann")
            good.run(_WARM_SECONDS)
            before = resident_of(str(served.process.pid)) >> 20
            context = multiprocessing.get_context("spawn")
            noise = context.Process(target=NOISES[name], args=(served.grpc, seconds))
            noise.start()
            began = time.monotonic()
            good.run(seconds)
            gap = stood_still.longest_milliseconds(began, time.monotonic())
            noise.kill()
            noise.join()
        waits = sorted(good.waits)
        parts = [waits[math.ceil(len(waits) * share) - 1] for share in (0.5, 0.99, 1.0)]
        told = ", ".join(
            f"{what} {ms:.1f}" for what, ms in zip(("p50", "p99", "max"), parts, strict=True)
        )
        more = (peak_kilobytes(served.process.pid) >> 10) - before
        return f"{name:8} {told} ms; {more} MiB more; the machine stood still for {gap:.0f} ms"


def main() -> None:
    """Measure, and print a line for each kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("noise", nargs="*", default=[*NOISES], help=", ".join(NOISES))
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    unknown = [name for name in given.noise if name not in NOISES]
    if unknown:
        parser.error(f"{unknown[0]}: no such noise; there are {', '.join(NOISES)}")
    print(f"{core_build()}, {_RATE} asks a second for {given.seconds:g} s", flush=True)
    for name in given.noise:
        print(measure(name, given.seconds), flush=True)


if __name__ == "__main__":
    main()
