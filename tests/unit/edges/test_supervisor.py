"""What the supervisor of a process is told, and when it is told nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from concurrent.futures import Future
from pathlib import Path

import pytest

from remuda.edges.supervisor import Supervisor
from remuda.telemetry.pulse import Pulse


class Loop:
    """A core thread that goes round, or stands still."""

    def __init__(self) -> None:
        self.turns = 0
        self.stuck = False

    def running(self) -> bool:
        return True

    def barrier(self) -> Future[None]:
        done: Future[None] = Future()
        if not self.stuck:
            self.turns += 1
            done.set_result(None)
        return done


def listener(address: str) -> socket.socket:
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(address)
    told.settimeout(60)
    return told


def test_a_supervisor_is_told_of_the_begin_and_the_end(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listener(address) as told:
        supervisor = Supervisor({"NOTIFY_SOCKET": address})
        supervisor.ready("listening here")
        supervisor.stopping()
        assert told.recv(1_000) == b"READY=1\nSTATUS=listening here"
        assert told.recv(1_000) == b"STOPPING=1"


def test_a_name_may_be_abstract() -> None:
    name = f"remuda-test-{os.getpid()}"
    with listener(f"\0{name}") as told:
        Supervisor({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert told.recv(1_000) == b"STOPPING=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@nobody-listens-there"])
def test_nobody_there_is_no_fault(address: str) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": address})
    supervisor.ready("fine")
    supervisor.stopping()


@pytest.mark.parametrize(
    "environment, seconds",
    [
        ({}, 0.0),
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
    ],
)
def test_the_watchdog_is_that_of_this_process(environment: dict[str, str], seconds: float) -> None:
    assert Supervisor(environment).watchdog_seconds == seconds


def test_signs_of_life_end_when_the_core_thread_stands_still(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    loop = Loop()
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return float(looks)  # each look comes a second after the one before

    async def looked(times: int) -> None:
        until = looks + times
        while looks < until:  # noqa: ASYNC110 - nothing tells of a look
            await asyncio.sleep(0.005)

    async def test(told: socket.socket) -> None:
        environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "30000"}
        keeping = asyncio.create_task(Supervisor(environment).keep(Pulse(loop, clock)))
        for _ in range(3):
            assert await asyncio.to_thread(told.recv, 1_000) == b"WATCHDOG=1"
        loop.stuck = True
        await looked(3)
        told.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while told.recv(1_000):
                pass
        await looked(3)
        with pytest.raises(BlockingIOError):
            told.recv(1_000)
        keeping.cancel()

    with listener(address) as told:
        asyncio.run(test(told))
