"""Lets faults happen to processes, and heals them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from tools.chaos.faults import WIRE, Fault
from tools.chaos.processes import GoneError, Relay, ResourceManager, Scheduler

# What a process may take beyond what it has, while its limits are low.
_MORE_BYTES: Final = 4 * 2**20
_MORE_DESCRIPTORS: Final = 1
_SIZE: Final = "size=64m"

_Step: TypeAlias = tuple[float, Callable[[], None]]
_UNLIMITED: Final = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


class Injector:
    """Does to a world what its faults say. One thread."""

    def __init__(
        self, scheduler: Scheduler, managers: list[ResourceManager], relay: Relay, disk: Disk
    ) -> None:
        self._scheduler = scheduler
        self._managers = managers
        self._relay = relay
        self._disk = disk
        # Whether the scheduler may end by itself: it had no memory.
        self._may_end = False
        # Whether its recording may have ended, which goes on with the next process.
        self.recording_lost = False

    def play(self, faults: list[Fault]) -> None:
        """Let the faults of a round happen. Raises: GoneError if a process ended by itself."""
        steps: list[_Step] = []
        for fault in faults:
            begin, end = self._steps(fault)
            steps += [(fault.at, begin), (fault.at + fault.lasting, end)]
        began = time.monotonic()
        for at, step in sorted(steps, key=lambda each: each[0]):
            time.sleep(max(0.0, began + at - time.monotonic()))
            step()

    def heal(self) -> None:
        """Make everything right again. Raises: GoneError if a process ended by itself."""
        self._disk.heal()
        for number, manager in enumerate(self._managers):
            self._relay.do(number, "heal")
            manager.send(signal.SIGCONT)
            if not manager.running:
                manager.start()
        self._scheduler.send(signal.SIGCONT)
        self._relax()
        if not self._scheduler.running:
            if not self._may_end:
                raise GoneError("the scheduler ended by itself")
            self._restart()
        self._scheduler.await_ready()
        self._may_end = False

    def _steps(self, fault: Fault) -> tuple[Callable[[], None], Callable[[], None]]:
        """Return what begins and what ends a fault."""
        number, scheduler = fault.manager, self._scheduler
        manager = self._managers[number]
        if fault.kind in WIRE:
            return (
                lambda: self._relay.do(number, fault.kind),
                lambda: self._relay.do(number, "heal"),
            )
        steps: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "kill-scheduler": (self._kill, self._restart),
            "end-scheduler": (self._terminate, self._restart),
            "stop-scheduler": (
                lambda: scheduler.send(signal.SIGSTOP),
                lambda: scheduler.send(signal.SIGCONT),
            ),
            "kill-manager": (manager.end, manager.start),
            "stop-manager": (
                lambda: manager.send(signal.SIGSTOP),
                lambda: manager.send(signal.SIGCONT),
            ),
            "disk-full": (self._fill, self._disk.heal),
            "clock": (lambda: scheduler.set_clock(fault.step), lambda: None),
            "memory": (self._limit_memory, self._relax),
            "descriptors": (self._limit_descriptors, self._relax),
        }
        begin, end = steps[fault.kind]
        return lambda: _call(begin), lambda: _call(end)

    def _kill(self) -> None:
        if self._scheduler.running:
            self._scheduler.end()

    def _terminate(self) -> None:
        """End it in order, which it does even if it is stopped first. Raises: GoneError."""
        if not self._scheduler.running or not self._scheduler.ready:
            return
        self._scheduler.send(signal.SIGCONT)
        code = self._scheduler.end(signal.SIGTERM)
        # A recording that lost its disk makes it end with 1.
        if code and not self._may_end and not self.recording_lost:
            raise GoneError(f"the scheduler ended with exit code {code} after SIGTERM")

    def _restart(self) -> None:
        if not self._scheduler.running:
            self._scheduler.start()
            self.recording_lost = self._disk.full

    def _fill(self) -> None:
        self.recording_lost = True
        self._disk.fill(self._scheduler)

    def _limit_memory(self) -> None:
        self._may_end = True
        pages = int(_proc(self._scheduler.pid, "statm").split()[0])
        limit = pages * resource.getpagesize() + _MORE_BYTES
        resource.prlimit(self._scheduler.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

    def _limit_descriptors(self) -> None:
        limit = descriptors(self._scheduler.pid) + _MORE_DESCRIPTORS
        _, most = resource.prlimit(self._scheduler.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self._scheduler.pid, resource.RLIMIT_NOFILE, (limit, most))

    def _relax(self) -> None:
        """Take the limits off."""
        if not self._scheduler.running:
            return
        with contextlib.suppress(ProcessLookupError):
            pid = self._scheduler.pid
            resource.prlimit(pid, resource.RLIMIT_AS, _UNLIMITED)
            _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))


class Disk:
    """The small disk of a scheduler: of its own if we may mount one, else a limit for its files."""

    def __init__(self, folder: Path, *, own: bool) -> None:
        self.folder = folder
        self.own = own
        self.full = False
        self._scheduler: Scheduler | None = None

    def fill(self, scheduler: Scheduler) -> None:
        """Leave no room on it."""
        self.full = True
        self._scheduler = scheduler
        if not self.own:
            pid = scheduler.pid
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            return
        with (
            contextlib.suppress(OSError),
            (self.folder / "filler").open("ab", buffering=0) as file,
        ):
            while True:
                file.write(bytes(4_096))

    def heal(self) -> None:
        """Give it room again."""
        self.full = False
        (self.folder / "filler").unlink(missing_ok=True)
        if self._scheduler is not None and not self.own and self._scheduler.running:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self._scheduler.pid, resource.RLIMIT_FSIZE, _UNLIMITED)
        self._scheduler = None


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    """Mount a small disk in memory, or take a folder if that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    own = os.geteuid() == 0 and _ran("mount", "-t", "tmpfs", "-o", _SIZE, "tmpfs", str(folder))
    try:
        yield Disk(folder, own=own)
    finally:
        if own:
            _ran("umount", str(folder))


def _ran(*command: str) -> bool:
    """Run a command; return whether it exists and did what it should."""
    try:
        return not subprocess.run(command, capture_output=True, check=False).returncode
    except OSError:
        return False


def descriptors(pid: int) -> int:
    """Return how many file descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _proc(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text(encoding="ascii")


def _call(step: Callable[[], object]) -> None:
    """Do something to a process that may just have ended."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        step()
