"""Reflectors against a server that pages, cuts, expires, stalls, lies and sends garbage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from remuda_kubernetes.api import connection
from remuda_kubernetes.api import reflector as module
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.pace import SystemClock
from remuda_kubernetes.api.reflector import Reflector, ReflectorSettings
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.objects.metadata import KubernetesObject
from tests.kubernetes.api.scripted import Reply, Request, Server, Stream, eventually, refusal, run

PODS = "/api/v1/pods"
QUICK = ReflectorSettings(first_wait=0.01, longest_wait=0.05, idle_seconds=30.0)


def pod(name: str, version: int, uid: str = "", **spec: object) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": uid or f"u-{name}",
        "resourceVersion": str(version),
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def page(version: int, *items: object, token: str = "") -> Reply:
    metadata = {"resourceVersion": str(version), **({"continue": token} if token else {})}
    return Reply(200, {"kind": "PodList", "metadata": metadata, "items": list(items)})


def bookmark(version: int) -> dict[str, Any]:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(version)}}


async def quiet(stream: Stream) -> None:
    """A watch on which nothing happens."""
    await stream.begin()
    await asyncio.sleep(3600)


def events(*found: tuple[str, object], then: str = "stay") -> Callable[[Stream], Any]:
    """A watch with these events, which then stays, ends or breaks."""

    async def watch(stream: Stream) -> None:
        await stream.begin()
        for kind, obj in found:
            await stream.event(kind, obj)
        if then == "stay":
            await asyncio.sleep(3600)
        if then == "break":
            raise ConnectionError
        await stream.end()

    return watch


def raw(*lines: bytes) -> Callable[[Stream], Any]:
    """A watch with these bytes, which then ends."""

    async def watch(stream: Stream) -> None:
        await stream.begin()
        for line in lines:
            await stream.chunk(line)
        await stream.end()

    return watch


class Watcher:
    """Keeps what was delivered, as the shim would."""

    def __init__(self, connection: Connection, settings: ReflectorSettings, **more: Any) -> None:
        self.changes: list[Change] = []
        self.batches = 0
        self.reflector: Reflector[KubernetesObject] = Reflector(
            connection,
            POD,
            PODS,
            self.deliver,
            clock=SystemClock(),
            chance=lambda: 0.5,
            settings=settings,
            **more,
        )

    def deliver(self, changes: Sequence[Change]) -> None:
        self.batches += 1
        self.changes += changes

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Name, old version, new version of each change."""
        return [
            (
                (change.new or change.old).name,  # type: ignore[union-attr]
                change.old.metadata.resource_version if change.old else "",
                change.new.metadata.resource_version if change.new else "",
            )
            for change in self.changes
        ]


@asynccontextmanager
async def watching(
    server: Server, settings: ReflectorSettings = QUICK, **more: Any
) -> AsyncIterator[Watcher]:
    async with server.connection() as connection:
        watcher = Watcher(connection, settings, **more)
        task = asyncio.create_task(watcher.reflector.run())
        try:
            yield watcher
            assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def test_a_list_is_read_in_pages_and_watched_from_its_first_version() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on(
                "GET",
                PODS,
                page(10, pod("a", 1), pod("b", 2), token="t1"),
                page(10, pod("c", 3), token="t2"),
                page(10, pod("d", 4)),
            )
            server.on("WATCH", PODS, events(("ADDED", pod("e", 11))))
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 5)
                assert watcher.reflector.synced.is_set()
                assert [name for name, _, _ in watcher.told] == ["a", "b", "c", "d", "e"]
                assert watcher.batches == 4
            lists = server.seen("GET")
            assert [each.query for each in lists] == [
                {"limit": "500"},
                {"limit": "500", "continue": "t1"},
                {"limit": "500", "continue": "t2"},
            ]
            (watch,) = server.seen("WATCH")
            assert watch.query == {
                "watch": "1",
                "allowWatchBookmarks": "true",
                "resourceVersion": "10",
                "timeoutSeconds": "450",
            }

    run(test())


def test_selectors_go_with_lists_and_watches() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, quiet)
            wanted = {"fieldSelector": "status.phase!=Failed"}
            async with watching(server, selectors=wanted):
                await eventually(lambda: bool(server.seen("WATCH")))
            for each in server.requests:
                assert each.query["fieldSelector"] == "status.phase!=Failed"

    run(test())


def test_a_watch_that_ends_goes_on_from_the_last_version_without_a_list() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10, pod("a", 1)))
            server.on(
                "WATCH",
                PODS,
                events(("MODIFIED", pod("a", 12)), then="end"),
                events(("BOOKMARK", bookmark(20)), then="end"),
                events(("DELETED", pod("a", 25)), then="break"),
                quiet,
            )
            async with watching(server) as watcher:
                await eventually(lambda: len(server.seen("WATCH")) == 4)
                assert watcher.told == [("a", "", "1"), ("a", "1", "12"), ("a", "12", "")]
                assert watcher.reflector.figures.bookmarks == 1
            versions = [each.query["resourceVersion"] for each in server.seen("WATCH")]
            assert versions == ["10", "12", "20", "25"]
            assert len(server.seen("GET")) == 1

    run(test())


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old: 12 (297)"}


@pytest.mark.parametrize(
    "gone",
    [
        events(("ERROR", GONE), then="end"),
        refusal(410, "Expired", "too old resource version"),
        refusal(
            504,
            "Timeout",
            "Too large resource version",
            details={"causes": [{"reason": "ResourceVersionTooLarge"}]},
        ),
    ],
)
def test_an_expired_version_means_a_new_list_of_which_differences_are_told(gone: Any) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on(
                "GET",
                PODS,
                page(10, pod("a", 1), pod("b", 2), pod("c", 3)),
                page(300, pod("a", 1), pod("b", 290), pod("d", 295)),
            )
            server.on("WATCH", PODS, gone, quiet)
            async with watching(server) as watcher:
                await eventually(lambda: len(server.seen("WATCH")) == 2)
                assert watcher.told[3:] == [("b", "2", "290"), ("d", "", "295"), ("c", "3", "")]
                assert watcher.reflector.figures.lists == 2
            assert server.seen("WATCH")[1].query["resourceVersion"] == "300"

    run(test())


def test_events_before_an_error_in_the_same_piece_are_delivered() -> None:
    line = json.dumps({"type": "ADDED", "object": pod("b", 11)}).encode()
    error = json.dumps({"type": "ERROR", "object": GONE}).encode()

    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10), page(12, pod("b", 11)))
            server.on("WATCH", PODS, raw(line + b"\n" + error + b"\n"), quiet)
            async with watching(server) as watcher:
                await eventually(lambda: len(server.seen("WATCH")) == 2)
                assert watcher.told == [("b", "", "11")]

    run(test())


def test_many_events_at_once_are_delivered_in_batches_and_in_order() -> None:
    lines = [
        json.dumps({"type": "ADDED", "object": pod(f"p{number}", 11 + number)}).encode()
        for number in range(200)
    ]

    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, raw(b"\n".join(lines) + b"\n"), quiet)
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 200)
                assert [name for name, _, _ in watcher.told] == [f"p{n}" for n in range(200)]
                assert watcher.batches >= 4

    run(test())


def test_a_list_that_expires_between_pages_begins_anew_and_at_last_without_pages() -> None:
    async def test() -> None:
        async with Server() as server:
            expired = refusal(410, "Expired", "The provided continue parameter is too old")
            first = page(10, pod("a", 1), token="t")
            whole = page(30, pod("a", 1), pod("b", 2))
            server.on("GET", PODS, first, expired, first, expired, whole)
            server.on("WATCH", PODS, quiet)
            async with watching(server) as watcher:
                await eventually(watcher.reflector.synced.is_set)
                assert watcher.told == [("a", "", "1"), ("b", "", "2")]
            assert "limit" not in server.seen("GET")[-1].query

    run(test())


def test_a_server_that_fails_is_asked_again_after_a_growing_wait() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on(
                "GET",
                PODS,
                refusal(500, "InternalError"),
                Reply(503, b"<html>"),
                refusal(403, "Forbidden", "pods is forbidden"),
                Reply(200, b"not json"),
                Reply(200, {"items": []}),
                Reply(200, {"metadata": None}),
                page(10, pod("a", 1)),
            )
            server.on("WATCH", PODS, quiet)
            async with watching(server) as watcher:
                await eventually(watcher.reflector.synced.is_set)
                assert watcher.told == [("a", "", "1")]
                assert watcher.reflector.figures.failures == 6
                assert watcher.reflector.problem == ""

    run(test())


def test_while_it_fails_it_says_why() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, refusal(403, "Forbidden", "pods is forbidden: User x"))
            async with watching(server) as watcher:
                await eventually(lambda: "bind a role" in watcher.reflector.problem)
                assert watcher.reflector.problem.startswith("Pod: http://127.0.0.1:")
                assert not watcher.reflector.synced.is_set()

    run(test())


def test_a_watch_that_fails_again_and_again_ends_in_a_new_list() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10, pod("a", 1)), page(20))
            bad = Reply(500, {"kind": "Status", "message": "invalid syntax", "code": 500})
            server.on("WATCH", PODS, bad, bad, bad, quiet)
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 2)
                assert watcher.told[1] == ("a", "1", "")

    run(test())


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage\n",
        b"\xff\xfe\n",
        b'{"type":"ADDED"}\n',
        b'{"type":7,"object":{}}\n',
        b'{"type":"STRANGE","object":{"metadata":{"name":"x"}}}\n',
        b'{"type":"ERROR","object":[]}\n',
        b'{"type":"ERROR","object":{"code":500,"message":"etcd is away"}}\n',
        b"[" * 100_000 + b"\n",
        b'{"type":"ADDED","object":' + b'{"a":' * 5000 + b"\n",
        b"null\n",
        b'{"type":"ADDED","object":{"metadata":{"name":"half',
    ],
)
def test_garbage_in_a_watch_is_told_and_the_watch_opened_again(garbage: bytes) -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, raw(garbage), events(("ADDED", pod("a", 11))))
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 1)
                assert watcher.told == [("a", "", "11")]
                assert watcher.reflector.figures.failures == 1
            assert server.seen("WATCH")[1].query["resourceVersion"] == "10"

    run(test())


def test_an_object_that_cannot_be_read_is_left_out_and_the_others_are_not() -> None:
    bad = pod("bad", 2)
    bad["spec"] = {"containers": "none"}

    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10, pod("a", 1), bad, 7, pod("b", 3)))
            worse = {**pod("a", 12), "spec": 5}
            server.on(
                "WATCH",
                PODS,
                events(
                    ("MODIFIED", worse), ("MODIFIED", pod("b", 13)), ("DELETED", {**worse, "x": 1})
                ),
            )
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 4)
                assert watcher.told == [
                    ("a", "", "1"),
                    ("b", "", "3"),
                    ("b", "3", "13"),
                    ("a", "1", ""),
                ]
                assert watcher.reflector.figures.unreadable == 4

    run(test())


def test_a_stale_watch_is_opened_again() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, quiet, events(("ADDED", pod("a", 11))))
            settings = ReflectorSettings(first_wait=0.01, idle_seconds=0.2)
            async with watching(server, settings) as watcher:
                await eventually(lambda: len(watcher.changes) == 1)
                assert len(server.seen("GET")) == 1

    run(test())


def test_pages_too_large_for_one_answer_are_asked_for_in_halves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PAGE_LIMIT", 10_000)
    pods = [pod(f"p{number}", number + 1, note="x" * 1000) for number in range(20)]

    def answer(request: Request) -> Reply:
        start = int(request.query.get("continue", 0))
        end = start + int(request.query["limit"])
        return page(50, *pods[start:end], token=str(end) if end < len(pods) else "")

    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, answer)
            server.on("WATCH", PODS, quiet)
            settings = ReflectorSettings(page=16, first_wait=0.01)
            async with watching(server, settings) as watcher:
                await eventually(watcher.reflector.synced.is_set)
                assert [name for name, _, _ in watcher.told] == [f"p{n}" for n in range(20)]
                assert watcher.reflector.figures.failures == 0

    run(test())


def test_a_huge_object_passes() -> None:
    async def test() -> None:
        async with Server() as server:
            huge = pod("huge", 11)
            huge["metadata"]["annotations"] = {"a": "x" * 3_000_000}
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, events(("ADDED", huge)))
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 1)
                (change,) = watcher.changes
                assert change.new is not None
                assert len(change.new.annotations["a"]) == 3_000_000

    run(test())


def test_a_killed_server_that_comes_back_is_found_again() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10, pod("a", 1)))
            server.on("WATCH", PODS, quiet)
            async with watching(server) as watcher:
                await eventually(lambda: bool(server.seen("WATCH")))
                port = server.port
                await server.stop()
                await eventually(lambda: watcher.reflector.figures.failures >= 2)
                assert "Pod: " in watcher.reflector.problem
                server.on("GET", PODS, page(40, pod("b", 30)))
                server.on("WATCH", PODS, refusal(410, "Expired", "too old"), quiet)
                server._server = await asyncio.start_server(server._accept, "127.0.0.1", port)
                await eventually(lambda: len(watcher.changes) == 3)
                assert watcher.told[1:] == [("b", "", "30"), ("a", "1", "")]

    run(test())


def test_a_server_that_was_away_is_not_listed_again_if_it_knows_the_version() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10, pod("a", 1)))
            server.on("WATCH", PODS, quiet, events(("ADDED", pod("b", 11))))
            async with watching(server) as watcher:
                await eventually(lambda: bool(server.seen("WATCH")))
                port = server.port
                await server.stop()
                await eventually(lambda: watcher.reflector.figures.failures >= 6)
                server._server = await asyncio.start_server(server._accept, "127.0.0.1", port)
                await eventually(lambda: len(watcher.changes) == 2)
                assert len(server.seen("GET")) == 1
                assert watcher.reflector.problem == ""

    run(test())


def test_a_watch_that_the_server_ends_at_once_is_not_opened_in_a_tight_loop() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, raw())
            async with watching(server) as watcher:
                await eventually(lambda: watcher.reflector.figures.failures >= 3)
                assert watcher.reflector.figures.watches <= 4
                assert "ended the watch at once" in watcher.reflector.problem

    run(test())


def test_a_server_that_does_not_begin_to_answer_a_watch_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_BEGIN_SECONDS", 0.2)

    async def silent(_stream: Stream) -> None:
        await asyncio.sleep(3600)

    async def test() -> None:
        async with Server() as server:
            server.on("GET", PODS, page(10))
            server.on("WATCH", PODS, silent, events(("ADDED", pod("late", 11))))
            async with watching(server) as watcher:
                await eventually(lambda: len(watcher.changes) == 1)
                assert (len(server.seen("WATCH")), len(server.seen("GET"))) == (2, 1)
                assert watcher.reflector.figures.failures == 1

    run(test())
