"""What it costs a scheduler to be shadowed over the network: `python -m tools.shadow_cost`.

The inputs are those of ``tools.journal_cost``: in turn an ask and the release of an allocation,
each with the step after it, in a cluster of 1,000 nodes. They are given to a core that keeps a
journal, which this process serves. In every second run `remuda shadow --of` follows it from another
process, under the same configuration but for a queue more, in which the last application comes: so
the shadow tells when it has followed all. Two things are compared with the median time of a
decision: how much longer it is by the clock, because threads that serve the journal may keep the
core waiting, and the time that these threads need of a processor for each decision.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGTERM
from statistics import median
from typing import Final

# As the service does, before anything loads gRPC: copies of the process write the states.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc.aio

from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.core.messages.commands import Command, NewApplication, UpdateApplications
from remuda.core.messages.effects import AllocationNew
from remuda.core.scheduler import Scheduler
from remuda.edges.grpc.journal import JournalService
from remuda.runtime.guarded import GuardedScheduler
from remuda.runtime.journals.writer import Journal
from tools.journal_cost import commands

_STEP: Final = 2_000

# An application, and the queue that only the shadow has.
_LAST: Final = "last"

# How long a shadow may take to begin and to end.
_PATIENCE: Final = 120.0

# The queues of the inputs.
_QUEUES: Final = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: last
"""


@dataclass(frozen=True)
class Cost:
    """Of one run: nanoseconds of the median decision, and of a processor beside the core.

    ``decisions``: how many there were, and how many of them the shadow was told: ``followed``.
    ``behind``: the seconds after the last one in which the shadow was told of it.
    """

    median_ns: float
    beside_ns: int
    decisions: int
    followed: int = 0
    behind: float = 0.0


def run(work: list[Command], rate: float, *, shadowed: bool) -> Cost:
    """Give the commands to a core, so many a second (0: as fast as it takes them)."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "journal"
        directory.mkdir()
        journal = Journal(directory)
        journal.begin(None, DEFAULT_LIMITS)
        try:
            with serving(directory) as (address, service):
                if not shadowed:
                    return played(work, rate, journal)
                with shadow(address, Path(scratch) / "same.yaml", service) as process:
                    cost = played(work, rate, journal)
                    begin = time.monotonic()
                    assert process.stdout is not None
                    difference = json.loads(process.stdout.readline())
                    behind = time.monotonic() - begin
                    process.send_signal(SIGTERM)
                    summary = json.loads(process.stdout.readline())
                if (difference["application_id"], summary["differences"]) != (_LAST, 1):
                    raise SystemExit(f"the shadow found differences: {summary['counts']}")
                return replace(cost, followed=summary["decisions"], behind=behind)
        finally:
            journal.close()


def played(work: list[Command], rate: float, journal: Journal) -> Cost:
    """Have all commands decided, and measure each decision."""
    scheduler = Scheduler()
    journal.write_states_of(scheduler)
    guarded = GuardedScheduler(scheduler, journal, None)
    taken: list[int] = []
    beside = time.process_time_ns() - time.thread_time_ns()
    due = time.monotonic()
    for command in work:
        begin = time.perf_counter_ns()
        guarded.handle(command, time.time_ns())
        effects = guarded.step(time.time_ns(), _STEP, timers=True)
        took = time.perf_counter_ns() - begin
        if sum(isinstance(each, AllocationNew) for each in effects) == 1:
            taken.append(took)
        if rate:
            due = max(due + 1 / rate, time.monotonic() - 1)
            time.sleep(max(0.0, due - time.monotonic()))
    beside = time.process_time_ns() - time.thread_time_ns() - beside
    last = NewApplication(_LAST, f"root.{_LAST}", user="user-1")
    guarded.handle(UpdateApplications("rm", (last,)), time.time_ns())
    return Cost(median(taken), beside, len(taken))


@contextmanager
def serving(directory: Path) -> Iterator[tuple[str, JournalService]]:
    """Serve a journal on a thread, as a scheduler does."""
    service = JournalService(directory, followers_limit=1)
    started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((service.handlers(),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        stop = asyncio.Event()
        started.set_result((port, asyncio.get_running_loop(), stop))
        await stop.wait()
        await server.stop(0)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    port, loop, stop = started.result(_PATIENCE)
    try:
        yield f"127.0.0.1:{port}", service
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


@contextmanager
def shadow(address: str, config: Path, service: JournalService) -> Iterator[subprocess.Popen[str]]:
    """Run a shadow in another process, from the moment at which it follows."""
    config.write_text(_QUEUES + "".join(f"          - name: q{number}\n" for number in range(10)))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "remuda", "shadow", "--of", address),
            *("--config", str(config), "--output", "jsonl"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            end = time.monotonic() + _PATIENCE
            while not service.followers:
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit("the shadow does not follow")
                time.sleep(0.05)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def main() -> int:
    """Measure, and print what was found; 1 if it is more than the limit."""
    parser = argparse.ArgumentParser(description="What it costs a scheduler to be shadowed.")
    parser.add_argument("--inputs", type=int, default=40_000, help="inputs of each run")
    parser.add_argument("--rate", type=float, default=500.0, help="commands a second; 0: no pause")
    parser.add_argument("--times", type=int, default=3, help="runs of each kind; the best counts")
    parser.add_argument("--limit", type=float, default=10.0, help="of the cost, in percent")
    asked = parser.parse_args()
    work = commands(asked.inputs)
    alone: list[Cost] = []
    followed: list[Cost] = []
    for _ in range(asked.times):
        alone.append(run(work, asked.rate, shadowed=False))
        followed.append(run(work, asked.rate, shadowed=True))
    before, after = [min(each.median_ns for each in runs) for runs in (alone, followed)]
    longer = (after / before - 1) * 100
    more = min(each.beside_ns for each in followed) - min(each.beside_ns for each in alone)
    beside = more / alone[0].decisions
    print(
        f"{alone[0].decisions} decisions, followed within {followed[-1].behind:.1f} s: "
        f"median {before / 1e3:.0f} us alone, {after / 1e3:.0f} us shadowed ({longer:+.1f} %); "
        f"{beside / 1e3:.0f} us of a processor beside each ({beside / before * 100:+.1f} %)"
    )
    return int(max(longer, beside / before * 100) > asked.limit)


if __name__ == "__main__":
    sys.exit(main())
