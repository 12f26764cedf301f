"""What every thread does at this moment, and where time goes over a while (REST-47, REST-55).

A look costs some microseconds per thread and names places in the program, never values: stacks have
no variables, so they have no secrets of anybody either.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Final

from remuda.base.message import message

# Frames of a stack that are looked at, the innermost ones.
_DEPTH: Final = 128

# Files in whose functions a thread waits for something, and those that wait for other threads.
_FOR_THREADS: Final = ("threading.py", "queue.py", "thread.py")
# An event loop in C has no frame of its own, so one that waits is seen in who runs it.
_LOOPS: Final = ("selectors.py", "runners.py")
_WAITING: Final = (*_FOR_THREADS, *_LOOPS, "socket.py", "ssl.py", "subprocess.py")

# Lines of a timeline at most.
_LINES: Final = 100_000


@message
class Window:
    """How long to look, and how often. The caller bounds ``seconds``."""

    seconds: float
    rate_hz: int = 100

    def ticks(self, stop: threading.Event) -> Iterator[float]:
        """Yield the seconds since the start, at the rate, until the end or until told to stop."""
        start = monotonic()
        count = 0
        while True:
            passed = monotonic() - start
            if passed >= self.seconds:
                return
            yield passed
            passed = monotonic() - start
            # Samples that were missed because the process was busy are not taken later.
            count = max(count + 1, int(passed * self.rate_hz) + 1)
            if stop.wait(max(min(count / self.rate_hz, self.seconds) - passed, 0.0)):
                return


def thread_stacks() -> str:
    """Return the stacks of all threads as text, by thread name, innermost call last.

    Implements: REST-47.
    """
    frames = sys._current_frames()  # noqa: SLF001 - the documented way to see other threads
    out = StringIO()
    for thread in _threads():
        frame = frames.get(thread.ident or 0)
        out.write(f"thread {thread.name!r} ident {thread.ident}")
        out.write(" daemon\n" if thread.daemon else "\n")
        if frame is not None:
            out.writelines(traceback.format_stack(frame, _DEPTH))
        out.write("\n")
    return out.getvalue()


def task_stacks(loop: asyncio.AbstractEventLoop) -> str:
    """Return where the tasks of an event loop wait. To be called on the loop's thread."""
    out = StringIO()
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: (task.get_name(), id(task)))
    for task in tasks:
        out.write(f"task {task.get_name()!r}\n")
        for frame in task.get_stack(limit=_DEPTH):
            out.write(f"  {_place(frame)} line {frame.f_lineno}\n")
    return out.getvalue()


def threads_table() -> str:
    """Return one line per thread: identifiers, kind, name."""
    lines = [
        f"{thread.ident}\t{thread.native_id}\t{'daemon' if thread.daemon else 'normal'}"
        f"\t{thread.name}\n"
        for thread in _threads()
    ]
    return "ident\tnative\tkind\tname\n" + "".join(lines)


def running(frame: FrameType) -> bool:
    """Whether a thread whose innermost frame this is does something."""
    return not blocked(frame)


def blocked(frame: FrameType) -> bool:
    """Whether it waits, for whatever."""
    return _file(frame) in _WAITING


def contending(frame: FrameType) -> bool:
    """Whether it waits for other threads."""
    return _file(frame) in _FOR_THREADS


def sampled(kind: str, window: Window, stop: threading.Event) -> str:
    """Return how often which stack was seen, most often first, one a line, in the folded format.

    ``kind``: ``running``, ``blocked`` or ``contending`` threads. Takes as long as ``window`` says,
    on the caller's thread, which is left out. Rules: REST-55.
    """
    wanted = {"running": running, "blocked": blocked, "contending": contending}[kind]
    seen: Counter[str] = Counter()
    for _ in window.ticks(stop):
        seen.update(_folded(name, frame) for name, frame in _others() if wanted(frame))
    ranked = sorted(seen.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{stack} {count}\n" for stack, count in ranked)


def timeline(window: Window, stop: threading.Event) -> str:
    """Return, in order of time, when which thread was first seen in another function.

    Rules: REST-55.
    """
    last: dict[str, str] = {}
    lines: list[str] = []
    for passed in window.ticks(stop):
        for name, frame in _others():
            place = _place(frame)
            if last.get(name) != place and len(lines) < _LINES:
                last[name] = place
                lines.append(f"{passed:.3f}\t{name}\t{place}\n")
    return "seconds\tthread\tfunction\n" + "".join(lines)


def _threads() -> list[threading.Thread]:
    return sorted(threading.enumerate(), key=lambda thread: (thread.name, thread.ident or 0))


def _others() -> list[tuple[str, FrameType]]:
    """Return name and innermost frame of all threads but the caller's."""
    own = threading.get_ident()
    frames = sys._current_frames()  # noqa: SLF001 - as above
    return [
        (f"{thread.name}", frames[thread.ident])
        for thread in _threads()
        if thread.ident is not None and thread.ident != own and thread.ident in frames
    ]


def _folded(name: str, frame: FrameType) -> str:
    """Return the stack from its outermost call to its innermost, separated by semicolons."""
    calls: list[str] = []
    at: FrameType | None = frame
    while at is not None and len(calls) < _DEPTH:
        calls.append(_place(at))
        at = at.f_back
    return ";".join([name.replace(";", "_"), *reversed(calls)])


def _file(frame: FrameType) -> str:
    return Path(frame.f_code.co_filename).name


def _place(frame: FrameType) -> str:
    module = frame.f_globals.get("__name__", "?")
    return f"{module}.{frame.f_code.co_qualname}".replace(";", "_").replace(" ", "_")
