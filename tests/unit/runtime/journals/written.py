"""A scheduler that works and writes a journal."""

from __future__ import annotations

from pathlib import Path

from remuda.config.load import load_configuration
from remuda.core.messages import commands
from remuda.core.messages.commands import Ask
from remuda.runtime.journals.layout import JournalBounds, SegmentFile, listed
from remuda.runtime.journals.writer import Journal
from remuda.runtime.loop import SchedulerLoop
from tests.waiting import wait

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            resources: {max: {vcore: 20}}
          - name: b
"""

# A segment ends after a few inputs.
SHORT = JournalBounds(segment_inputs=40)


def started(directory: Path, bounds: JournalBounds = SHORT) -> SchedulerLoop:
    """A scheduler with two nodes and two applications."""
    loop = SchedulerLoop(recorder=Journal(directory, bounds))
    loop.start()
    registration = commands.RegisterResourceManager("rm", load_configuration(QUEUES))
    assert loop.register(registration).result(30).reason == ""
    nodes = [commands.NodeUpdate(f"n{n}", commands.CREATE, {"vcore": 40_000}) for n in range(2)]
    loop.submit(commands.UpdateNodes("rm", tuple(nodes)))
    new = [commands.NewApplication(f"app-{q}", queue=f"root.{q}", user="u") for q in "ab"]
    loop.submit(commands.UpdateApplications("rm", tuple(new)))
    loop.idle().result(30)
    return loop


def work(loop: SchedulerLoop, first: int, count: int) -> None:
    """Ask once more in each round, in turn for both applications; release every third."""
    for number in range(first, first + count):
        name = f"app-{'ab'[number % 2]}"
        ask = Ask(name, f"k{number}", {"vcore": 500}, priority=number % 3)
        loop.submit(commands.UpdateAllocations("rm", asks=(ask,)))
        loop.idle().result(30)
        if number % 3 == 2:
            old = commands.AllocationRelease(name, allocation_key=f"k{number - 2}")
            loop.submit(commands.UpdateAllocations("rm", releases=(old,)))
            loop.idle().result(30)
        settle(loop)


def settle(loop: SchedulerLoop) -> None:
    """Wait until no state is being written, so that a segment can end when it is due."""
    journal = loop.recorder
    assert isinstance(journal, Journal)
    wait(lambda: not journal.writes_state())


def journal_of(
    directory: Path, rounds: int = 60, bounds: JournalBounds = SHORT
) -> list[SegmentFile]:
    """Write a journal, and return its segments."""
    loop = started(directory, bounds)
    work(loop, 0, rounds)
    loop.stop()
    return listed(directory)
