"""Stacks and profiles over HTTP: what they show, how long they take, one at a time."""

from __future__ import annotations

import asyncio
import sys
import threading
from time import monotonic
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.edges.rest.requests.asking import Asked
from remuda.edges.rest.requests.endpoint import Body
from remuda.edges.rest.requests.errors import ApiError
from remuda.edges.rest.routes import debug as module
from remuda.edges.rest.routes.debug import debug_routes
from remuda.edges.rest.transport.app import build_app
from remuda.telemetry.stacks import Window
from tests.unit.edges.rest.schema import openapi

Fake = Any  # FakeViews of conftest.py; tests are not a package

TIMED = ("allocs", "block", "mutex", "profile", "trace")


@pytest.fixture
def debug(views: Fake, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """Seconds are tenths of seconds here."""
    monkeypatch.setattr(module, "Window", lambda seconds: Window(seconds / 10))
    return TestClient(build_app(views, more=debug_routes()), "http://remuda")


@pytest.mark.remuda_rule("REST-47", "REST-5", "REST-52", "REST-54")
@pytest.mark.parametrize("path", ["/ws/v1/stack", "/debug/stack"])
def test_both_forms_of_the_stacks_show_every_thread(debug: TestClient, path: str) -> None:
    stop = threading.Event()

    def lies_in_wait() -> None:
        stop.wait()

    thread = threading.Thread(target=lies_in_wait, name="the-one")
    thread.start()
    try:
        answer = debug.get(path)
    finally:
        stop.set()
        thread.join()
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "thread 'the-one'" in answer.text
    assert "in lies_in_wait" in answer.text
    assert "thread 'MainThread'" in answer.text


@pytest.mark.remuda_rule("REST-49", "REST-55")
def test_every_path_of_the_profiler_is_there_and_in_the_index(debug: TestClient) -> None:
    index = debug.get("/debug/pprof/")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    names = {"heap", "threadcreate", "goroutine", "cmdline", "symbol", *TIMED}
    described = {path.rpartition("/")[2] for path in openapi()["paths"] if "/pprof/" in path}
    assert names | {""} == described
    for name in names:
        assert f'href="/debug/pprof/{name}"' in index.text
        answer = debug.get(f"/debug/pprof/{name}?seconds=1")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.remuda_rule("REST-55")
def test_a_profile_says_where_time_goes(debug: TestClient) -> None:
    done = threading.Event()

    def toils() -> None:
        while not done.is_set():
            sum(range(1000))

    def rests() -> None:
        done.wait()

    threads = [threading.Thread(target=each, name=each.__name__) for each in (toils, rests)]
    for thread in threads:
        thread.start()
    try:
        busy = debug.get("/debug/pprof/profile?seconds=3").text
        waiting = debug.get("/debug/pprof/mutex?seconds=1").text
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert any(line.startswith("toils;") and ".toils " in line for line in busy.splitlines())
    assert "rests;" not in busy
    assert any(line.startswith("rests;") for line in waiting.splitlines())
    for line in busy.splitlines():
        assert int(line.rpartition(" ")[2]) > 0


@pytest.mark.remuda_rule("REST-55")
@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "soon", "99999999999999999999999"])
def test_seconds_that_are_none_are_refused(debug: TestClient, name: str, seconds: str) -> None:
    answer = debug.get(f"/debug/pprof/{name}", params={"seconds": seconds})
    assert answer.status_code == 400
    assert answer.json()["message"] == f'{seconds} is not a valid value for "seconds"'


@pytest.mark.remuda_rule("REST-55")
def test_a_profile_takes_a_minute_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def quick(window: Any, _stop: threading.Event) -> str:
        asked.append(window.seconds)
        return ""

    handler = module._OneAtATime().timed(quick)
    for options in ({}, {"seconds": "7"}, {"seconds": "100000"}):
        asyncio.run(handler(None, Asked(options=options)))  # type: ignore[arg-type]
    assert asked == [5, 7, 60]


@pytest.mark.remuda_rule("REST-55")
def test_one_profile_at_a_time_and_others_are_served_meanwhile() -> None:
    async def run() -> None:
        routes = debug_routes()

        async def get(path: str, **options: str) -> object:
            return await routes[path].handler(None, Asked(options=options))  # type: ignore[arg-type]

        profile = asyncio.create_task(get("/debug/pprof/profile", seconds="60"))
        await asyncio.sleep(0.05)
        for path in ("/debug/pprof/trace", "/ws/v1/stack", "/debug/pprof/goroutine"):
            with pytest.raises(ApiError) as caught:
                await get(path)
            assert caught.value.status == 503
        for _ in range(20):
            assert isinstance(await get("/debug/pprof/cmdline"), Body)
            await asyncio.sleep(0)
        assert not profile.done()
        # A client that leaves, or a server that stops, ends the work.
        profile.cancel()
        with pytest.raises(asyncio.CancelledError):
            await profile
        assert isinstance(await get("/ws/v1/stack"), Body)

    started = monotonic()
    asyncio.run(run())  # ends when the thread of the profile has ended
    assert monotonic() - started < 55


@pytest.mark.remuda_rule("REST-55")
def test_memory_is_told_without_looking_at_objects_unless_wanted(debug: TestClient) -> None:
    plain = debug.get("/debug/pprof/heap").text
    assert "allocated blocks: " in plain
    assert "builtins.dict" not in plain
    both = debug.get("/debug/pprof/heap?types&gc").text
    assert "\tbuiltins.dict\n" in both
    assert both.startswith("garbage collected: ")


@pytest.mark.remuda_rule("REST-55", "REST-13")
def test_all_objects_are_looked_at_once_a_minute_whoever_asks(
    debug: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    looks: list[float] = []

    def look() -> str:
        looks.append(now[0])
        return ""

    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "collected", look)
    monkeypatch.setattr(module, "type_counts", look)
    assert debug.get("/debug/pprof/heap?gc").status_code == 200
    for query in ("gc", "types", "gc&types"):
        refused = debug.get(f"/debug/pprof/heap?{query}")
        assert refused.status_code == 503
        assert "less than a minute ago" in refused.json()["message"]
    assert debug.get("/debug/pprof/heap").status_code == 200
    assert looks == [1_000.0]
    now[0] += 60
    assert debug.get("/debug/pprof/heap?types").status_code == 200
    assert looks == [1_000.0, 1_060.0]


@pytest.mark.remuda_rule("REST-55")
def test_the_command_line_has_no_secrets(
    debug: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["remuda", "--api-token", "hunter2", "--demo"])
    assert debug.get("/debug/pprof/cmdline").text == "remuda\0--api-token\0...\0--demo\0"
