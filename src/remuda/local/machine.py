"""What this machine has: its name, cores, memory and GPUs, as far as this process may use them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from typing import Final

from remuda.base.message import message
from remuda.local.records import GPU, MEMORY, VCORE
from remuda.telemetry.memory_limits import group_limit

_PROGRAM: Final = "nvidia-smi"
_SECONDS: Final = 20


@message
class Machine:
    """This machine as a node: ``cores`` by number, ``memory`` in bytes, ``gpus`` by ID."""

    name: str
    cores: tuple[int, ...]
    memory: int
    gpus: tuple[str, ...] = ()

    def capacity(self) -> Mapping[str, int]:
        """Return its resources in base units."""
        found = {VCORE: 1_000 * len(self.cores), MEMORY: self.memory}
        return {**found, GPU: len(self.gpus)} if self.gpus else found


def this_machine() -> Machine:
    """Find out what this machine has. Implements: EXT-102."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = group_limit()
    return Machine(
        socket.gethostname(),
        tuple(sorted(os.sched_getaffinity(0))),
        memory if limit is None else min(memory, limit),
        _gpus(),
    )


def _gpus() -> tuple[str, ...]:
    """Return the IDs of the GPUs that the driver lists; none without a driver."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return ()
    try:
        listed = subprocess.run(  # noqa: S603 - the tool of the driver, found on the PATH
            [program, "--query-gpu=uuid", "--format=csv,noheader"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in listed.splitlines() if line.strip())
