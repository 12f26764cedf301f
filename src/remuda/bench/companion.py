"""Starts a process beside the one that is measured, and keeps a pipe to it."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess


def start_beside(work: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Have a new process do ``work(*arguments, pipe)``; return it, and the other end of its pipe.

    Who listens at that end while the process ends hears of it: EOFError.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()  # not when it happens to be freed: until then the end is not heard
    return process, ours
