"""Keepers as processes: starting one for a task, telling one to end its task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from remuda.local.bounds import Bound
from remuda.local.directory import keeper_lives, take_lock
from remuda.local.keeper import BEGUN
from remuda.local.records import MEMORY, Command, Task

# How much nicer tasks are that have no cores of their own.
_NICE: Final = 5

# Bytes of output that are kept for each task.
OUTPUT_LIMIT: Final = 64 * 1024 * 1024

_KEEPER_LOG: Final = "keeper.log"


def order_of(command: Command, task: Task, *, gpus: bool, bound: Bound) -> dict[str, object]:
    """Return what a keeper needs to know. ``gpus``: whether the machine has any.

    ``bound``: how the task is bound. Implements: EXT-106.
    """
    wanted = command.wanted
    environment = {
        **wanted.environment,
        "REMUDA_COMMAND": wanted.identity,
        "REMUDA_TASK_INDEX": str(task.index),
        "REMUDA_GANG_SIZE": str(wanted.gang),
    }
    if gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(task.gpus)
    return {
        "arguments": wanted.arguments,
        "environment": environment,
        "directory": wanted.directory,
        "umask": wanted.umask,
        "cores": task.cores,
        "nice": _NICE,
        "group": bound.group,
        "dataLimit": bound.data_limit,
        "memory": wanted.resources.get(MEMORY, 0),
        "outputLimit": OUTPUT_LIMIT,
    }


class Keepers:
    """The keepers that this process has started, until they have ended."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, own: Path, environment: Mapping[str, str]) -> None:
        """Start the keeper of a task whose order is in its directory. Raises: OSError.

        The lock is taken before and handed over, so there is no moment at which the task could be
        started a second time. ``environment``: that of the keeper, not of the task.
        """
        lock = take_lock(own)
        try:
            with (own / _KEEPER_LOG).open("ab") as log:
                self._started.append(
                    subprocess.Popen(  # noqa: S603 - our own module
                        [sys.executable, "-m", "remuda.local.keeper", str(own)],
                        cwd="/",
                        env=dict(environment),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=log,
                        start_new_session=True,
                        pass_fds=(lock,),
                    )
                )
        finally:
            os.close(lock)

    def reap(self) -> None:
        """Take note of those that have ended."""
        self._started = [each for each in self._started if each.poll() is None]


def end_task(own: Path) -> bool:
    """Tell the keeper of a task to end it; False if it has not begun, or has ended.

    A number of a process may belong to another one by now. So it is opened first, and then looked
    whether the keeper still lives: what was opened is the keeper then.
    """
    try:
        keeper = json.loads((own / BEGUN).read_text("utf-8"))["keeper"]
        opened = os.pidfd_open(keeper)
    except (OSError, ValueError, KeyError):
        return False
    try:
        if not keeper_lives(own):
            return False
        signal.pidfd_send_signal(opened, signal.SIGTERM)
    except ProcessLookupError:
        return False
    finally:
        os.close(opened)
    return True
