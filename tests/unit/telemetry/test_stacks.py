"""Looking at threads: how often, for how long, and what is seen."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
import uvloop

from remuda.telemetry.memory import memory_over_time, memory_summary
from remuda.telemetry.stacks import (
    Window,
    sampled,
    task_stacks,
    thread_stacks,
    threads_table,
    timeline,
)


@pytest.mark.remuda_rule("REST-55")
def test_a_window_ends_in_time_and_does_not_make_up_for_what_it_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    milliseconds = [0]

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            milliseconds[0] += round(timeout * 1_000)
            return False

    monkeypatch.setattr("remuda.telemetry.stacks.monotonic", lambda: milliseconds[0] / 1_000)
    seen: list[int] = []
    for passed in Window(0.2, rate_hz=50).ticks(Stop()):
        seen.append(round(passed * 1_000))
        if len(seen) == 2:
            milliseconds[0] += 90  # the process is busy with something else
    assert seen == [0, 20, 120, 140, 160, 180]
    assert milliseconds[0] == 200


@pytest.mark.remuda_rule("REST-55")
def test_a_window_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    stop.set()
    assert len(list(Window(60).ticks(stop))) == 1


@pytest.mark.remuda_rule("REST-47")
def test_stacks_name_places_and_no_values() -> None:
    secret = "hun" + "ter2"
    stop = threading.Event()

    def holder(password: str) -> None:
        stop.wait()
        assert password

    thread = threading.Thread(target=holder, args=(secret,), name="holder")
    thread.start()
    try:
        window = Window(0.05)
        texts = [thread_stacks(), timeline(window, threading.Event()), threads_table()]
        texts.append(sampled("blocked", window, threading.Event()))
    finally:
        stop.set()
        thread.join()
    for text in texts:
        assert "holder" in text
        assert secret not in text


@pytest.mark.remuda_rule("REST-55")
@pytest.mark.parametrize("make", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_thread_whose_event_loop_has_nothing_to_do_is_blocked(
    make: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    idle, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def waits() -> None:
        loops.append(asyncio.get_running_loop())
        loops[0].call_later(0.01, idle.set)
        await stop.wait()

    def serve() -> None:
        with asyncio.Runner(loop_factory=make) as runner:
            runner.run(waits())

    thread = threading.Thread(target=serve, name="serving")
    thread.start()
    assert idle.wait(10)
    try:
        blocked = sampled("blocked", Window(0.1), threading.Event())
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()
    assert "serving" in blocked


@pytest.mark.remuda_rule("REST-55")
def test_tasks_are_shown_where_they_wait() -> None:
    async def waits() -> None:
        await asyncio.sleep(60)

    async def run() -> str:
        task = asyncio.create_task(waits(), name="sleeper")
        await asyncio.sleep(0)
        text = task_stacks(asyncio.get_running_loop())
        task.cancel()
        return text

    text = asyncio.run(run())
    assert "task 'sleeper'" in text
    assert ".waits line " in text


@pytest.mark.remuda_rule("REST-55")
def test_memory_over_time_has_a_line_for_each_look() -> None:
    lines = memory_over_time(Window(0.05), threading.Event()).splitlines()
    assert lines[0] == "seconds\tblocks\tpending"
    looks = [line for line in lines[1:] if not line.startswith("generation")]
    assert 1 <= len(looks) <= 6
    assert all(int(line.split("\t")[1]) > 1000 for line in looks)
    assert "generation 2: " in memory_summary()
