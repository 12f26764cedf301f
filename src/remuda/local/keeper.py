"""The keeper of one task: starts its process, keeps its output, says how it ended.

    python -m remuda.local.keeper DIRECTORY DESCRIPTOR

Each task has a keeper of its own, a process that belongs to nobody's terminal. So a task goes on
when the service ends, and its end is known when the service is there again. ``DESCRIPTOR`` is an
open file with a lock; as long as the keeper lives the lock is taken, which cannot be said of a
number of a process. SIGTERM ends the task: its processes get SIGTERM and, ten seconds later,
SIGKILL. Standard library only, since there is one keeper for each task that runs.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from remuda.local.output import ERR, OUT, RECORD_LIMIT, OutputWriter

# Seconds between SIGTERM and SIGKILL.
GRACE_SECONDS: Final = 10.0

# Exit codes as shells have them, and the one for what Remuda could not do.
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
FAILED: Final = 125

# Names of files of a task.
ORDER: Final = "order.json"
BEGUN: Final = "begun.json"
ENDED: Final = "ended.json"
LOCK: Final = "lock"

# The file of a control group that kills all of its processes.
_KILL: Final = "cgroup.kill"

# The file in which the end is written, before it has its name, and bytes that are more than enough.
_END: Final = f"{ENDED}.new"
_END_BYTES: Final = 4_096

_SET_DEATH_SIGNAL: Final = 1
_SET_SUBREAPER: Final = 36

# Records that a pipe may hold.
_PIPE_RECORDS: Final = 32

# How often what is left of a task is looked for.
_ROUNDS: Final = 20


class Keeper:
    """Keeps one task; ``directory``: that of the task, with its order."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._order: Mapping[str, Any] = json.loads((directory / ORDER).read_text("utf-8"))
        self._output = OutputWriter(directory, self._order["outputLimit"])
        self._told = False
        self._number = os.getpid()
        self._kill_at: float | None = None
        self._wake, self._waker = os.pipe()
        for end in (self._wake, self._waker):
            os.set_blocking(end, False)

    def run(self) -> None:
        """Run the task to its end, and write down how it ended."""
        signal.set_wakeup_fd(self._waker)
        signal.signal(signal.SIGTERM, self._tell)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _control(_SET_SUBREAPER, 1)
        # How a task ended can be written down on a disk that has become full meanwhile.
        _write_whole(self._directory / _END, " " * _END_BYTES)
        # Before the process is there: a task that may have run is not started a second time.
        write_json(self._directory / BEGUN, {"keeper": self._number})
        try:
            process = self._begin()
        except (OSError, subprocess.SubprocessError) as error:
            code, reason = self._explained(error)
            self._output.write(ERR, f"remuda: {reason}\n".encode())
            self._end(code, reason)
            return
        # The environment of the caller may have secrets; it is not needed any more.
        (self._directory / ORDER).unlink(missing_ok=True)
        self._watch(process)
        code = process.wait()
        reason = self._leave_group() if self._order["group"] else ""
        self._end(128 - code if code < 0 else code, reason if code else "")

    def _begin(self) -> subprocess.Popen[bytes]:
        """Start the process of the task. Raises: OSError."""
        order = self._order
        os.chdir(order["directory"])
        return subprocess.Popen(  # noqa: S603 - this is what the keeper is for
            order["arguments"],
            env=order["environment"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            preexec_fn=self._bind,  # noqa: PLW1509 - the keeper has one thread
        )

    def _bind(self) -> None:
        """Bind the process of the task, in which this runs, before its program begins.

        Rules: EXT-135.
        """
        _control(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != self._number:
            raise OSError("its keeper has died before the signal was set")
        if self._order["group"]:
            Path(self._order["group"], "cgroup.procs").write_text("0", "ascii")
        if self._order["cores"]:
            os.sched_setaffinity(0, self._order["cores"])
        else:
            os.nice(self._order["nice"])
        os.umask(self._order["umask"])
        # Last, since this process is larger than most programs are when they begin.
        if self._order["dataLimit"]:
            _limit_data(self._order["dataLimit"])

    def _explained(self, error: Exception) -> tuple[int, str]:
        """Return the exit code and the reason for a process that could not be started."""
        program, directory = self._order["arguments"][0], self._order["directory"]
        if not isinstance(error, OSError):
            return FAILED, f"{program} cannot have the cores, limit or control group meant for it"
        if error.filename == directory:
            return FAILED, f"cannot work in {directory}: {error.strerror}"
        if isinstance(error, FileNotFoundError):
            return NOT_FOUND, f"{program}: there is no such program"
        return NOT_EXECUTABLE, f"{program} cannot be run: {error.strerror}"

    def _leave_group(self) -> str:
        """Remove the control group of a task that has ended; return what its bound did to it.

        Implements: EXT-137.
        """
        group = Path(self._order["group"])
        events = _events(group / "memory.events")
        remove_group(group, _ROUNDS)
        if not events.get("oom_kill"):
            return ""
        if events.get("oom"):
            return f"it was killed: it took more than its {_size(self._order['memory'])} of memory"
        return "it was killed, because the memory of the machine or of the service was used up"

    def _tell(self, *_: object) -> None:
        self._told = True

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Keep the output until the process has ended, and what is in its pipes then."""
        assert process.stdout is not None
        assert process.stderr is not None
        streams = {process.stdout.fileno(): OUT, process.stderr.fileno(): ERR}
        for each in streams:
            os.set_blocking(each, False)
        poll = select.poll()
        for each in (*streams, self._wake):
            poll.register(each, select.POLLIN)
        ended = False
        while not ended:
            ready = poll.poll(self._patience_ms())
            ended = _has_ended(process.pid)
            self._signal(process.pid)
            for descriptor, _ in ready:
                if descriptor == self._wake:
                    _drain(self._wake)
                elif not self._take(descriptor, streams[descriptor]):
                    poll.unregister(descriptor)
                    del streams[descriptor]
        _end_rest(process.pid)
        for descriptor, stream in streams.items():
            # A pipe holds no more than so many records.
            for _ in range(_PIPE_RECORDS):
                if not self._take(descriptor, stream):
                    break

    def _patience_ms(self) -> float | None:
        """Return how long to wait for something to happen, None for as long as it takes."""
        if self._kill_at is None:
            return None
        return max(self._kill_at - time.monotonic(), 0.0) * 1000 + 1

    def _signal(self, process: int) -> None:
        """Signal the task if it was ordered to end, or if it had its time to do so."""
        now = time.monotonic()
        if self._told and self._kill_at is None:
            self._kill_at = now + GRACE_SECONDS
            _send(process, signal.SIGTERM)
        elif self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + GRACE_SECONDS
            _send(process, signal.SIGKILL)

    def _take(self, descriptor: int, stream: bytes) -> bool:
        """Keep what is in a pipe, up to one record; False if there is nothing."""
        try:
            data = os.read(descriptor, RECORD_LIMIT)
        except BlockingIOError:
            return False
        if data:
            self._output.write(stream, data)
        return bool(data)

    def _end(self, code: int, reason: str) -> None:
        self._output.close()
        (self._directory / ORDER).unlink(missing_ok=True)
        outcome = {"code": code, "reason": reason, "dropped": self._output.dropped}
        # Written over what is there, and as long, so it takes no room that it does not have.
        _write_whole(self._directory / _END, json.dumps(outcome).ljust(_END_BYTES), mode="r+")
        _name(self._directory / _END, self._directory / ENDED)


def write_json(path: Path, content: object) -> None:
    """Write a file that is there as a whole or not at all, also after a power cut."""
    beside = path.with_name(f"{path.name}.new")
    _write_whole(beside, json.dumps(content))
    _name(beside, path)


def _write_whole(path: Path, content: str, mode: str = "w") -> None:
    with path.open(mode, encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _name(beside: Path, path: Path) -> None:
    """Give a file its name, for good."""
    beside.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def remove_group(group: Path, rounds: int = 1) -> bool:
    """Kill what is left in a control group and remove it; False if it stays.

    It stays for example while processes are being killed.

    ``rounds``: how often it is tried, a hundredth of a second later each time.
    """
    with suppress(OSError):
        (group / _KILL).write_text("1", "ascii")
    for round_ in range(rounds):
        try:
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                return False
            time.sleep(0.01 * round_)
        else:
            return True
    return False


def _events(path: Path) -> dict[str, int]:
    """Return what a control group counts; nothing if it cannot be read."""
    try:
        lines = [line.split() for line in path.read_text("ascii").splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines}


def _size(count: int) -> str:
    """Return bytes as a text in the unit that shows them without a fraction."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if count and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"


def _limit_data(wanted: int) -> None:
    """Limit the private memory of this process, as far as it may be raised at all."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))


def _has_ended(process: int) -> bool:
    """Whether a child has ended; its number stays taken until it is waited for."""
    found = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return found is not None


def _end_rest(process: int) -> None:
    """Kill what is left of a task whose first process has ended, also what left its group."""
    for round_ in range(_ROUNDS):
        _send(process, signal.SIGKILL)
        rest = [each for each in _children() if each != process]
        if not rest:
            return
        for each in rest:
            with suppress(OSError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.01 * round_)
        for each in rest:
            os.waitpid(each, os.WNOHANG)


def _send(group: int, number: int) -> None:
    """Signal the processes of a group; without effect on those that run as somebody else."""
    with suppress(OSError):
        os.killpg(group, number)


def _children() -> list[int]:
    """Return the children of this process; those of a child that ended are among them."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []
    return [int(each) for each in listed.split()]


def _drain(descriptor: int) -> None:
    with suppress(BlockingIOError):
        while os.read(descriptor, 512):
            pass


def _control(option: int, value: int) -> None:
    """Set an attribute of this process; a kernel that does not have it goes without."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    os.umask(0o077)
    Keeper(Path(sys.argv[1])).run()
