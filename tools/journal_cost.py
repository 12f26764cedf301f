"""What a journal costs: the core thread alone, and a served scheduler.

    python -m tools.journal_cost 100000
    PYTHONPATH=build/compiled python -m tools.journal_cost 100000 kept
    python -m tools.journal_cost --served 7

The number is that of the inputs: in turn an ask, or the release of an allocation, and the step
after it, in a cluster of 1,000 nodes with 1,000 waiting asks. Two schedulers get them, in turn some
hundreds, so that other programs slow both down alike: one without and one with a journal; and all
three times. A directory after the number keeps the last journal, for ``remuda replay``.

With --served schedulers are processes that get asks over gRPC at a steady pace, one a message and
100 a message: two at a time, one without and one with a journal, so that other programs slow both
down alike; and so many times one after another. The processor time of each process for an
allocation counts, and of the times the middle one.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final

# As the service does, before anything loads gRPC: copies of the process write the states.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from remuda.bench.services.over_grpc import GrpcShape, measure_grpc
from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.scheduler import Scheduler
from remuda.runtime.guarded import GuardedScheduler
from remuda.runtime.journals.writer import Journal

_RM: Final = "rm"
_QUEUES: Final = 10
_APPLICATIONS: Final = 100
_NODES: Final = 1_000
_PLACES: Final = 10_000
_WAITING: Final = 1_000
_STEP: Final = 2_000
_SECOND: Final = 1_000_000_000
_TIMES: Final = 3
_PIECE: Final = 200

# What a served scheduler gets.
_SHAPES: Final = (
    GrpcShape("single", 1_000, clients=1, asks=20_000, per_message=1, rate=1_000.0),
    GrpcShape("hundreds", 1_000, clients=1, asks=100_000, per_message=100, rate=10_000.0),
)


def commands(inputs: int) -> list[c.Command]:
    """Return the commands that, each with the step after it, are so many inputs."""
    queues = tuple(QueueConfig(f"q{number}") for number in range(_QUEUES))
    root = QueueConfig("root", parent=True, queues=queues, submit_acl=AccessList(everybody=True))
    size = {"vcore": 10_000, "memory": 10_000}
    nodes = [c.NodeUpdate(f"node-{number}", c.CREATE, size) for number in range(_NODES)]
    new = [
        c.NewApplication(f"app-{number}", f"root.q{number % _QUEUES}", user=f"user-{number % 20}")
        for number in range(_APPLICATIONS)
    ]
    first = tuple(_ask(number) for number in range(_PLACES + _WAITING))
    found: list[c.Command] = [
        c.RegisterResourceManager(_RM, Configuration((PartitionConfig("default", root),))),
        c.UpdateNodes(_RM, tuple(nodes)),
        c.UpdateApplications(_RM, tuple(new)),
        c.UpdateAllocations(_RM, asks=first),
    ]
    for turn in range(inputs // 2 - len(found)):
        number = turn // 2
        if turn % 2:
            ask = _ask(_PLACES + _WAITING + number)
            found.append(c.UpdateAllocations(_RM, asks=(ask,)))
        else:
            name = f"app-{number % _APPLICATIONS}"
            old = c.AllocationRelease(name, allocation_key=f"ask-{number}")
            found.append(c.UpdateAllocations(_RM, releases=(old,)))
    return found


def _ask(number: int) -> c.Ask:
    amount = {"vcore": 1_000, "memory": 1_000}
    tags = {"kubernetes.io/meta/podName": f"pod-{number}"}
    return c.Ask(f"app-{number % _APPLICATIONS}", f"ask-{number}", amount, tags=tags)


def played(work: list[c.Command], journal: Journal) -> tuple[float, float]:
    """Give the commands to a scheduler without and to one with a journal, in turn some hundreds.

    Returns: the processor seconds of this thread for each of the two.
    """
    scheduler = Scheduler()
    journal.begin(None, DEFAULT_LIMITS)
    journal.write_states_of(scheduler)
    both = (GuardedScheduler(Scheduler(), None, None), GuardedScheduler(scheduler, journal, None))
    spent = [0.0, 0.0]
    began = time.time_ns()
    for first in range(0, len(work), _PIECE):
        for place, guarded in enumerate(both):
            begin = time.thread_time()
            for number, command in enumerate(work[first : first + _PIECE], first):
                now_ns = began + number * _SECOND // 1_000
                guarded.handle(command, now_ns)
                guarded.step(now_ns, _STEP, timers=True)
            spent[place] += time.thread_time() - begin
    return spent[0], spent[1]


def main(arguments: list[str]) -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("inputs", type=int, nargs="?", default=100_000)
    parser.add_argument("kept", type=Path, nargs="?", help="where the last journal stays")
    parser.add_argument("--served", type=int, metavar="TIMES", help="measure a served scheduler")
    given = parser.parse_args(arguments)
    if given.served:
        for shape in _SHAPES:
            served(shape, given.served)
    else:
        alone(given.inputs, given.kept)


def alone(inputs: int, keep: Path | None) -> None:
    """Measure the core thread, and print a line for each time."""
    work = commands(inputs)
    # The collector of the interpreter would run now in one half, now in the other.
    gc.disable()
    for turn in range(_TIMES):
        with tempfile.TemporaryDirectory() as scratch:
            kept = keep if turn == _TIMES - 1 and keep is not None else Path(scratch)
            kept.mkdir(exist_ok=True)
            journal = Journal(kept)
            before, after = played(work, journal)
            journal.close()
            each = (after - before) / (2 * len(work)) * 1e6
            print(
                f"{2 * len(work)} inputs: {before:.2f} s without a journal, {after:.2f} s with one "
                f"({after / before - 1:+.1%}, {each:.1f} us an input), {journal.segments} segments,"
                f" {journal.lost_inputs} lost"
            )


def served(shape: GrpcShape, times: int) -> None:
    """Measure pairs of served schedulers, and print a line."""
    without: list[float] = []
    written: list[float] = []
    build = ""
    with ThreadPoolExecutor(max_workers=2) as both:
        for _ in range(times):
            with tempfile.TemporaryDirectory() as directory:
                pair = [
                    both.submit(measure_grpc, shape),
                    both.submit(measure_grpc, shape, "--journal", directory),
                ]
                one, two = [each.result() for each in pair]
            without.append(one.server_microseconds)
            written.append(two.server_microseconds)
            build = one.build
    parts = sorted(two / one - 1 for one, two in zip(without, written, strict=True))
    print(
        f"{build}, {shape.per_message} asks a message: {median(without):.1f} us an allocation "
        f"without a journal, {median(written):.1f} us with one ({median(parts):+.1%}, "
        f"{parts[0]:+.1%} to {parts[-1]:+.1%})"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
