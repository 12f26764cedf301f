"""Makes one copy of the process, which does one piece of work and writes its result to a pipe.

The copy has the thread that made it and no other one. It never returns to its caller's frames: it
ends when its work is done. It must not touch what other threads may have held when it was made:
locks, logs, connections. Work on the core's state needs none of these.

The copy closes all descriptors but its pipe, so that no connection stays open because of it. It
leads a group of processes, and an alarm ends it even if its parent is gone.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn, TypeAlias, final

from remuda.base.errors import RemudaError
from remuda.runtime.forks.limits import (
    COPIES_AT_ONCE,
    FORK_LIMITS,
    NICENESS,
    ForkFailedError,
    ForkFaultError,
    ForkLimits,
)

# Returns the answer. Runs in the copy.
Work: TypeAlias = Callable[[], bytes]

# The first byte of an answer: the result follows, a refusal for the caller, the limit that was
# exceeded, or a fault of ours.
_RESULT: Final = b"r"
_REFUSAL: Final = b"u"
_LIMIT: Final = b"l"
_FAULT: Final = b"f"

_LENGTH: Final = struct.Struct("<Q")
_PIECE: Final = 1 << 16
_MIB: Final = 1 << 20
_STDERR: Final = 2
_DESCRIPTORS: Final = "/proc/self/fd"
_FALSE: Final = ("0", "false", "no", "f", "n")
_GRPC: Final = "grpc._cython.cygrpc"

# How much longer an alarm waits than the maker of a copy, who can say what happened.
_ALARM_LATER: Final = 2.0

# The kernel ends a copy before any other process if memory runs out.
_FIRST_TO_END: Final = b"1000"

# Signals that this process, or what it runs in, may have given a meaning.
_RESET: Final = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGALRM, signal.SIGCHLD,
    signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip

# Python warns about copies of a process with several threads, because a lock that another thread
# holds stays locked in the copy. The work of our copies takes no such lock (see above).
warnings.filterwarnings("ignore", ".*fork", DeprecationWarning, __name__.replace(".", r"\."))


class _Place:
    """Whether this process is a copy; those that it makes stay in its group of processes."""

    in_copy = False


@final
class Copy:
    """A copy of the process that works, as its maker sees it."""

    def __init__(self, pid: int, pipe: int, due: float, limits: ForkLimits) -> None:
        self.pid = pid
        self._pipe = pipe
        self._due = due
        self._limits = limits

    def result(self) -> bytes:
        """Wait for the answer, at most until the copy is due, and end the copy.

        Raises: RemudaError that the work raised; ForkFailedError if there is no answer.
        """
        try:
            answer = self._read()
        finally:
            self.end()
        kind, content = answer[:1], answer[1:]
        if kind == _RESULT:
            return content
        text = content.decode(errors="replace")
        if kind == _REFUSAL:
            raise RemudaError(text)
        raise ForkFaultError(text) if kind == _FAULT else ForkFailedError(text)

    def end(self) -> None:
        """End the copy and those that it made, whatever they do. Repeating is harmless."""
        if self._pipe < 0:
            return
        os.close(self._pipe)
        self._pipe = -1
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGKILL)  # it leads no group yet
        os.waitpid(self.pid, 0)

    def _ending(self) -> str:
        """Return how a copy ended that closed its pipe; it stays for ``end`` to collect."""
        ending = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        if ending is None or ending.si_code == os.CLD_EXITED:
            return "ended without an answer"
        name = signal.Signals(ending.si_status).name
        return f"was ended by {name} before it had an answer"

    def _read(self) -> bytes:
        """Return all that the copy writes."""
        length = _LENGTH.unpack(self._bytes(_LENGTH.size))[0]
        if length > self._limits.answer_mib * _MIB:
            raise ForkFailedError(
                f"the answer is larger than {self._limits.answer_mib} MiB; ask for less"
            )
        return self._bytes(length)

    def _bytes(self, count: int) -> bytes:
        """Return the next bytes. Raises: ForkFailedError."""
        found = bytearray()
        readable = select.poll()
        readable.register(self._pipe, select.POLLIN)
        while len(found) < count:
            left = self._due - time.monotonic()
            if left <= 0 or not readable.poll(left * 1_000):
                raise ForkFailedError(
                    f"there was no answer within {self._limits.seconds:g} s; ask for less,"
                    " or try again when the machine has less to do"
                )
            piece = os.read(self._pipe, min(_PIECE, count - len(found)))
            if not piece:
                raise ForkFailedError(f"the copy of the scheduler {self._ending()}")
            found += piece
        return bytes(found)


def possible() -> bool:
    """Whether copies can be made here: on Linux, unless gRPC would take part in them.

    gRPC's own handlers of ``fork`` wait for its threads, and would stop the core thread; in the
    copy they start threads that fail without their descriptors. They are on unless the environment
    turned them off before gRPC was loaded, as ``remuda serve`` does.
    """
    grpc = os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower()
    if grpc not in _FALSE and (grpc or _GRPC in sys.modules):
        return False
    return sys.platform == "linux" and Path(_DESCRIPTORS).is_dir()


def fork(work: Work, limits: ForkLimits = FORK_LIMITS) -> Copy:
    """Make a copy that does ``work``; the caller goes on at once and asks for the result later.

    Raises: OSError if the machine makes no more processes. Implements: EXT-42.
    """
    due = time.monotonic() + limits.seconds
    reads, writes = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reads)
        os.close(writes)
        raise
    if pid == 0:
        _work_alone(work, writes, limits)
    os.close(writes)
    return Copy(pid, reads, due, limits)


def side_by_side(works: Sequence[Work], at_once: int, limits: ForkLimits) -> list[bytes | None]:
    """Do each work in a copy of its own, several at a time; None for a copy without an answer.

    For use in a copy, which is ended together with those that it made.
    """
    found: list[bytes | None] = []
    for first in range(0, len(works), at_once):
        copies = [fork(work, limits) for work in works[first : first + at_once]]
        for copy in copies:
            try:
                found.append(copy.result())
            except ForkFailedError:
                found.append(None)
    return found


def on_copies(works: Sequence[Work]) -> list[bytes | None]:
    """Do each work in a copy of its own, within the limits that all copies have. Rules: EXT-43."""
    return side_by_side(works, COPIES_AT_ONCE, FORK_LIMITS)


def _work_alone(work: Work, pipe: int, limits: ForkLimits) -> NoReturn:
    """Do the work in the copy, write the answer, and end without running anything else."""
    try:
        try:
            _settle_in(pipe, limits)
            answer = _RESULT + work()
        except RemudaError as error:
            answer = _REFUSAL + str(error).encode()
        except MemoryError:
            text = f"the answer takes more than {limits.memory_mib} MiB of memory; ask for less"
            answer = _LIMIT + text.encode()
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear of it
            line = str(error).partition("\n")[0]
            answer = _FAULT + f"{type(error).__name__}: {line}".encode()
        _write(pipe, _LENGTH.pack(len(answer)) + answer)
    except BaseException:  # noqa: BLE001 - nobody is left to tell
        os._exit(1)
    os._exit(0)


def _write(pipe: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(pipe, left) :]


def _settle_in(pipe: int, limits: ForkLimits) -> None:
    """Give up all that belongs to the original, and take on the limits."""
    if not _Place.in_copy:
        _Place.in_copy = True
        os.setpgid(0, 0)
    gc.disable()
    signal.set_wakeup_fd(-1)
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _ALARM_LATER)
    _close_all_but(pipe)
    os.nice(NICENESS)
    _bound_memory(limits)


def _close_all_but(pipe: int) -> None:
    """Close all descriptors but one; the standard ones lead nowhere then."""
    for entry in list(Path(_DESCRIPTORS).iterdir()):
        if int(entry.name) != pipe:
            with suppress(OSError):  # the one that listed them is closed already
                os.close(int(entry.name))
    while os.open(os.devnull, os.O_RDWR) < _STDERR:
        pass


def _bound_memory(limits: ForkLimits) -> None:
    """Let the copy take so much memory more, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + limits.memory_mib * _MIB
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or bound < most:
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(_FIRST_TO_END)
