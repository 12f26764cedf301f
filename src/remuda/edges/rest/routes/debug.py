"""Routes that show the inside of the process: stacks, profiles, memory (REST-47, REST-49, REST-52).

The paths are those of Go's profiler, the answers those that Python has instead. All work is done on
its own threads, its time is limited, and one such request runs at a time. Looks that stop all
threads are allowed once a minute, so that a loop of requests cannot stop scheduling. Implements:
REST-55.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Handler, Routes
from remuda.edges.rest.requests.errors import LOOKED_JUST_NOW, PROFILE_RUNNING, ApiError
from remuda.edges.rest.requests.numbers import count_option
from remuda.telemetry.command_line import shown_arguments
from remuda.telemetry.memory import collected, memory_over_time, memory_summary, type_counts
from remuda.telemetry.stacks import (
    Window,
    sampled,
    task_stacks,
    thread_stacks,
    threads_table,
    timeline,
)

TEXT: Final = "text/plain; charset=utf-8"
_HTML: Final = "text/html; charset=utf-8"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}

# The default and the highest number of seconds of a profile.
_USUAL_SECONDS: Final = 5
_MOST_SECONDS: Final = 60

# Seconds between two examinations of all objects, during which all threads stop.
_HALTS_APART_SECONDS: Final = 60.0

_INDEX: Final[Mapping[str, str]] = {
    "allocs": "allocated memory over some seconds",
    "block": "where threads wait, over some seconds",
    "cmdline": "the command line, without secrets",
    "goroutine": "stacks of all threads, and where the tasks of the event loop wait",
    "heap": "memory at this moment; with ?types what it is full of, with ?gc after all garbage was "
    "collected; everything stands still for these, so they are answered once a minute at most",
    "mutex": "where threads wait for others, over some seconds",
    "profile": "where time goes, over some seconds",
    "symbol": "nothing: names are in the profiles",
    "threadcreate": "the threads",
    "trace": "which thread did what when, over some seconds",
}

T = TypeVar("T")


def debug_routes() -> Routes:
    """Return the routes. One object of them is for one server: they know who profiles."""
    alone = _OneAtATime()
    timed: Mapping[str, Callable[[Window, threading.Event], str]] = {
        "profile": partial(sampled, "running"),
        "block": partial(sampled, "blocked"),
        "mutex": partial(sampled, "contending"),
        "trace": timeline,
        "allocs": memory_over_time,
    }
    return {
        "/ws/v1/stack": Endpoint(alone.quick(thread_stacks)),
        "/debug/stack": Endpoint(alone.quick(thread_stacks)),
        "/debug/pprof/": Endpoint(_index),
        "/debug/pprof/cmdline": Endpoint(_cmdline),
        "/debug/pprof/goroutine": Endpoint(alone.goroutines),
        "/debug/pprof/heap": Endpoint(alone.heap),
        "/debug/pprof/symbol": Endpoint(_symbol),
        "/debug/pprof/threadcreate": Endpoint(alone.quick(threads_table)),
        **{f"/debug/pprof/{name}": Endpoint(alone.timed(work)) for name, work in timed.items()},
    }


class _OneAtATime:
    """Runs one look into the process at a time, and refuses others meanwhile."""

    def __init__(self) -> None:
        self._busy = False
        self._halted_at = -_HALTS_APART_SECONDS

    def quick(self, work: Callable[[], str]) -> Handler:
        """Return the handler of a look that takes almost no time."""

        async def answer(_views: Views, _asked: Asked) -> object:
            return _text(await self._alone(asyncio.to_thread(work)))

        return answer

    def timed(self, work: Callable[[Window, threading.Event], str]) -> Handler:
        """Return the handler of a profile, which takes the seconds that the client asks for."""

        async def answer(_views: Views, asked: Asked) -> object:
            wanted = asked.options.get("seconds", "")
            seconds = count_option(wanted, "seconds", _USUAL_SECONDS, _MOST_SECONDS)
            stop = threading.Event()
            try:
                return _text(await self._alone(asyncio.to_thread(work, Window(seconds), stop)))
            finally:
                stop.set()

        return answer

    async def goroutines(self, _views: Views, _asked: Asked) -> object:
        """Threads, and the tasks of the event loop."""
        tasks = task_stacks(asyncio.get_running_loop())
        return _text(await self._alone(asyncio.to_thread(thread_stacks)) + tasks)

    async def heap(self, _views: Views, asked: Asked) -> object:
        """Memory; with the key ``gc`` without garbage, with ``types`` what is in it."""
        collects, counts = "gc" in asked.options, "types" in asked.options
        if not (collects or counts):
            return _text(memory_summary())

        def look() -> str:
            text = collected() if collects else ""
            text += memory_summary()
            return text + type_counts() if counts else text

        return _text(await self._alone(self._halting(look)))

    async def _halting(self, look: Callable[[], str]) -> str:
        """Return what a look at all objects finds.

        Raises: ApiError 503 if the last was just now.

        Everything stands still meanwhile. Rules: REST-55.
        """
        if monotonic() < self._halted_at + _HALTS_APART_SECONDS:
            raise ApiError(503, LOOKED_JUST_NOW)
        try:
            return await asyncio.to_thread(look)
        finally:
            self._halted_at = monotonic()

    async def _alone(self, work: Awaitable[T]) -> T:
        """Return what ``work`` returns. Raises: ApiError 503 if other work goes on."""
        if self._busy:
            if asyncio.iscoroutine(work):
                work.close()
            raise ApiError(503, PROFILE_RUNNING)
        self._busy = True
        try:
            return await work
        finally:
            self._busy = False


async def _index(_views: Views, _asked: Asked) -> object:
    """What there is. Implements: REST-49."""
    rows = "".join(
        f'<li><a href="/debug/pprof/{name}">{name}</a>: {text}</li>\n'
        for name, text in _INDEX.items()
    )
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>remuda: profiles</title></head>\n<body><h1>Profiles</h1>\n"
        f"<p>Key <code>seconds</code>: how long to look, {_USUAL_SECONDS} if it is missing, at "
        f"most {_MOST_SECONDS}. What they look like may change.</p>\n<ul>\n{rows}</ul></body>"
        "</html>\n"
    )
    return Body(page.encode(), _HTML, cors=False, headers=_HEADERS)


async def _cmdline(_views: Views, _asked: Asked) -> object:
    """The arguments, each ended by a zero byte as Go does it (REST-55)."""
    return _text("".join(f"{each}\0" for each in shown_arguments(sys.orig_argv)))


async def _symbol(_views: Views, _asked: Asked) -> object:
    """Answer that there are no symbols: stacks here have names, not addresses (REST-55)."""
    return _text("num_symbols: 0\n")


def _text(text: str) -> Body:
    return Body(text.encode(errors="replace"), TEXT, cors=False, headers=_HEADERS)
