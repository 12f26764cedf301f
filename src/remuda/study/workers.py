"""Plays runs in processes of their own, each of which is given the next run when it is free.

A process takes neighbouring runs where it can, because those share a scenario. Results are written
by the process that made them; only the number of a finished run comes back. A run depends on its
content alone, so the number of processes and the order of runs change no result.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Final, TypeAlias

from remuda.base.errors import RemudaError, UsageError
from remuda.base.message import message
from remuda.study.folder import Folder
from remuda.study.plan import Run
from remuda.study.scenes import Stage

# How long an idle process may take to end.
_END_SECONDS: Final = 5


@message
class _Answer:
    """The end of a run; ``error`` "": its result is written. ``usage``: the user's fault."""

    place: int
    error: str = ""
    usage: bool = False


_Worker: TypeAlias = tuple[SpawnProcess, Connection]


def play_all(runs: Sequence[Run], folder: Folder, workers: int) -> Iterator[Run]:
    """Play runs and yield each when its result is written.

    Raises: UsageError, if a run finds a fault in its files; RemudaError, if its process dies.
    """
    workers = min(workers, len(runs))
    if workers <= 1:
        stage = Stage()
        for run in runs:
            folder.keep(run, stage.play(run))
            yield run
        return
    queues = _dealt(len(runs), workers)
    with _started(workers, folder.directory) as started:
        busy: dict[Connection, int] = {}
        at: dict[Connection, int] = {}
        for number, (_, pipe) in enumerate(started):
            at[pipe] = number
            _give(pipe, number, queues, runs, busy)
        while busy:
            ready = wait(list(busy))
            for pipe in [each for each in busy if each in ready]:
                place = busy.pop(pipe)
                _check(pipe, runs[place])
                _give(pipe, at[pipe], queues, runs, busy)
                yield runs[place]


def _dealt(count: int, workers: int) -> list[list[int]]:
    """Return for each process the runs it begins with, last first."""
    edges = [count * number // workers for number in range(workers + 1)]
    return [list(reversed(range(edges[number], edges[number + 1]))) for number in range(workers)]


def _give(
    pipe: Connection,
    number: int,
    queues: list[list[int]],
    runs: Sequence[Run],
    busy: dict[Connection, int],
) -> None:
    """Send a process its next run; if it has none left, the last one of the longest queue."""
    own = queues[number]
    if own:
        place = own.pop()
    else:
        longest = max(queues, key=len)
        if not longest:
            return
        place = longest.pop(0)
    try:
        pipe.send((place, runs[place]))
    except OSError:
        raise _died(runs[place]) from None
    busy[pipe] = place


def _check(pipe: Connection, run: Run) -> None:
    """Take the answer of a process."""
    try:
        answer = pipe.recv()
    except (EOFError, OSError):
        raise _died(run) from None
    assert isinstance(answer, _Answer)
    if answer.error:
        kind = UsageError if answer.usage else RemudaError
        raise kind(f"run {run.run_id}: {answer.error}")


def _died(run: Run) -> RemudaError:
    what = "its process ended without a result (killed, or out of memory)"
    return RemudaError(f"run {run.run_id}: {what}; finished runs are kept, start the study again")


@contextmanager
def _started(workers: int, directory: Path) -> Iterator[list[_Worker]]:
    """Start processes, and end them whatever happens."""
    context = get_context("spawn")
    started: list[_Worker] = []
    try:
        for _ in range(workers):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there, directory), daemon=True)
            process.start()
            there.close()
            started.append((process, here))
        yield started
        for process, pipe in started:
            pipe.close()
            process.join(_END_SECONDS)
    finally:
        for process, pipe in started:
            pipe.close()
            if process.is_alive():
                process.kill()
            process.join()
            process.close()


def _work(pipe: Connection, directory: Path) -> None:
    """Play runs until the pipe is closed: what a process does."""
    # An interrupt at the terminal reaches all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    folder = Folder(directory)
    stage = Stage()
    while True:
        try:
            place, run = pipe.recv()
        except (EOFError, OSError):
            return
        answer = _Answer(place)
        try:
            folder.keep(run, stage.play(run))
        except UsageError as error:
            answer = _Answer(place, str(error), usage=True)
        except (RemudaError, OSError) as error:
            answer = _Answer(place, str(error))
        pipe.send(answer)
