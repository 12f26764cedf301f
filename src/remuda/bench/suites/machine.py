"""Describes what figures depend on besides the scheduler: the machine, its Python, the build."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from remuda.base.message import message
from remuda.runtime.build import core_build


@message
class Machine:
    """Where something was measured. ``cores``: those this process may use."""

    cpu: str
    cores: int
    system: str
    python: str
    build: str
    version: str


def this_machine() -> Machine:
    """Return a description of the machine on which this process runs."""
    return Machine(
        cpu=_cpu(),
        cores=_cores(),
        system=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        build=core_build(),
        version=_version(),
    )


def _cpu() -> str:
    """Return the model of the processor, or the platform's name if the model is unknown."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version() -> str:
    try:
        return version("remuda")
    except PackageNotFoundError:
        return "unknown"
