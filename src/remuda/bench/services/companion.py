"""Starts a process beside the measured one, receives its messages, and ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from remuda.base.errors import RemudaError
from remuda.bench.throughput.run import TIMEOUT_S

# How long a process may take to end.
_ENDING_S: Final = 30.0


def start_beside(work: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Have a new process do ``work(*arguments, pipe)``; return it, and the other end of its pipe.

    A read at that end raises EOFError when the process ends.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()  # not when it happens to be freed: until then the end is not heard
    return process, ours


@contextmanager
def companion(work: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """Run a process beside this one until the block ends; yield the pipe to it."""
    process, ours = start_beside(work, *arguments)
    try:
        yield ours
    finally:
        ours.close()
        process.join(_ENDING_S)
        process.kill()
        process.join()


def heard(pipe: Connection, who: str, shape: str) -> object:
    """Return the message of a process. Raises: RemudaError if it failed or sent none."""
    said: object = f"{who} fell silent"
    if pipe.poll(TIMEOUT_S):
        try:
            said = pipe.recv()
        except EOFError:
            said = f"{who} ended"
    if isinstance(said, str):
        raise RemudaError(f"{shape}: {said}")
    return said
