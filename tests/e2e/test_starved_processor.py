"""A process that gets a tenth of a processor: everything takes longer, and nothing fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGCONT, SIGSTOP
from subprocess import Popen

import pytest

from remuda.client import Client, ClientError
from tests.e2e.serving import FREE_PORTS, Served

# The process runs for one part of ten; as a quota of the kernel gives it, which needs root.
RUNS = 0.01
STANDS = 0.09

# Allocations that are asked for at once, and how often the process stands still at least.
MANY = 2_000
PAUSES = 40
PATIENCE = 120.0


@contextmanager
def starved(process: Popen[str]) -> Iterator[list[int]]:
    """Let a process run for a tenth of the time; yields the number of its pauses so far."""
    pauses = [0]
    over = threading.Event()

    def starve() -> None:
        while not over.wait(RUNS):
            process.send_signal(SIGSTOP)
            over.wait(STANDS)
            process.send_signal(SIGCONT)
            pauses[0] += 1

    thread = threading.Thread(target=starve)
    thread.start()
    try:
        yield pauses
    finally:
        over.set()
        thread.join()


@pytest.mark.remuda_rule("RM-14", "RM-15")
def test_with_a_tenth_of_a_processor_all_is_answered_and_no_stream_ends() -> None:
    ends: list[ClientError] = []
    with (
        Served(*FREE_PORTS) as served,
        Client(served.grpc, "rm", on_disconnect=ends.append, timeout=PATIENCE) as client,
    ):
        client.register()
        client.add_nodes({"n": {"vcore": 1_000 * 1_000_000}})
        client.add_application("app", tags={"namespace": "a"})
        with starved(served.process) as pauses:
            client.ask("app", "many", {"vcore": 1_000}, count=MANY)
            client.allocations(MANY, PATIENCE)
            number = 0
            while pauses[0] < PAUSES:
                number += 1
                client.ask("app", f"task-{number}", {"vcore": 1_000})
                (placed,) = client.allocations(1, PATIENCE)
                assert placed.allocationKey == f"task-{number}"
                answer = served.client.get("/ws/v1/clusters", timeout=PATIENCE)
                assert answer.status_code == 200
        health = served.client.get("/ws/v1/scheduler/healthcheck?strict=true", timeout=PATIENCE)
        assert health.status_code == 200
        client.add_nodes({"another": {"vcore": 1_000}})
        assert ends == []
        assert served.log == ""
