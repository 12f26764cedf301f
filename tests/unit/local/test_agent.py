"""The agent: what callers and a full disk cannot do to it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from remuda.edges.inproc import InProcessScheduler
from remuda.local.agent import LocalAgent
from remuda.local.bounds import Bounds
from remuda.local.directory import StateDirectory, take_lock
from remuda.local.keeper import BEGUN, write_json
from remuda.local.machine import Machine
from remuda.local.records import Outcome
from tests.unit.local.test_commands import wanted
from tests.waiting import wait


class Scheduler:
    """Takes all requests, and keeps the applications that were removed."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    def takes_requests(self, rm_id: str) -> bool:
        return rm_id == "local"

    def update_application(self, request: Any) -> None:
        self.removed += [each.applicationID for each in request.remove]

    def register_resource_manager(self, request: Any, callback: object) -> None: ...

    def update_node(self, request: Any) -> None: ...

    def update_allocation(self, request: Any) -> None: ...


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[StateDirectory]:
    found = StateDirectory(tmp_path / "state")
    yield found
    found.close()


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


def agent_of(directory: StateDirectory, scheduler: Scheduler) -> LocalAgent:
    machine = Machine("here", (0, 1), 1 << 30)
    bounds = Bounds(directory.path)
    return LocalAgent(cast("InProcessScheduler", scheduler), directory, machine, "", bounds)


@pytest.fixture
def agent(directory: StateDirectory, scheduler: Scheduler) -> Iterator[LocalAgent]:
    found = agent_of(directory, scheduler)
    found.start()
    yield found
    found.stop()


@pytest.mark.remuda_rule("EXT-109")
def test_a_caller_that_is_gone_does_not_end_the_agent(agent: LocalAgent) -> None:
    goes_on = threading.Event()
    ran: list[int] = []
    first = agent.call(goes_on.wait)
    second = agent.call(lambda: ran.append(2))
    assert second.cancel()
    goes_on.set()
    agent.call(lambda: ran.append(3)).result(60)
    assert (first.result(60), ran, agent.failure.done()) == (True, [3], False)


@pytest.mark.remuda_rule("EXT-105", "EXT-108")
def test_an_outcome_that_the_disk_does_not_take_is_written_later(
    agent: LocalAgent,
    directory: StateDirectory,
    scheduler: Scheduler,
    caplog: pytest.LogCaptureFixture,
) -> None:
    directory.add(wanted())
    command = agent.call(lambda: agent.commands.submit(wanted())).result(60)
    outcome = directory.path / "commands" / "c-1" / "outcome.json"
    outcome.mkdir()  # a file cannot take its place
    agent.call(lambda: agent.commands.cancel(command)).result(60)
    assert scheduler.removed == ["c-1"]
    assert "how c-1 ended cannot be written down" in caplog.text
    outcome.rmdir()
    wait(outcome.is_file)
    assert not agent.failure.done()
    (found,) = directory.load()
    assert found.outcome == Outcome(143, "it was cancelled")


@pytest.mark.remuda_rule("EXT-105", "EXT-110")
@pytest.mark.parametrize("begins", [True, False])
def test_a_task_that_was_to_be_ended_is_ended_by_the_next_service(
    directory: StateDirectory, scheduler: Scheduler, *, begins: bool
) -> None:
    """A service is killed after it cancelled a command whose keeper has not begun yet."""
    directory.add(wanted())
    own = directory.task("c-1", 0)
    lock = take_lock(own)
    first = agent_of(directory, scheduler)
    first.start()
    (running,) = first.commands.running()
    first.call(lambda: first.commands.cancel(running[0])).result(60)
    first.stop()
    keeper = subprocess.Popen(["sleep", "1000"])
    if begins:
        write_json(own / BEGUN, {"keeper": keeper.pid})
    else:
        os.close(lock)
        lock = -1
    second = agent_of(directory, scheduler)
    second.start()
    if begins:
        assert keeper.wait(60) == -signal.SIGTERM
        os.close(lock)
    else:
        keeper.kill()
        keeper.wait()
        (command,) = second.commands.all.values()
        assert command.outcome == Outcome(143, "it was ended before it began")
    second.stop()
