"""All reflectors together: what is asked where, the barrier, faults and the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.api.reflector import Deliver, ReflectorSettings
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import CONFIG_MAP, CSI_CAPACITY, NODE, POD
from tests.kubernetes.api.scripted import Reply, Request, Server, Stream, eventually, refusal, run

SERVED = Served("v1.30.0", {POD: "v1", NODE: "v1", CONFIG_MAP: "v1"}, absent=(CSI_CAPACITY,))
KINDS = (CONFIG_MAP, NODE, CSI_CAPACITY, POD)
MAPS = "/api/v1/namespaces/remuda/configmaps"
QUICK = ReflectorSettings(first_wait=0.01, longest_wait=0.05)


async def quiet(stream: Stream) -> None:
    await stream.begin()
    await asyncio.sleep(3600)


def listing(*names: str) -> Reply:
    items = [
        {"metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "1"}} for name in names
    ]
    return Reply(200, {"metadata": {"resourceVersion": "5"}, "items": items})


def prepared(server: Server) -> None:
    for path, names in (("/api/v1/pods", ("p",)), ("/api/v1/nodes", ("m", "n")), (MAPS, ("c",))):
        server.on("GET", path, listing(*names))
        server.on("WATCH", path, quiet)


def made(connection: Connection, deliver: Deliver = lambda changes: None) -> Reflectors:
    return Reflectors(connection, SERVED, deliver, namespace="remuda", kinds=KINDS, settings=QUICK)


def test_every_kind_that_the_server_has_is_read_into_one_queue() -> None:
    async def test() -> None:
        changes: list[Change] = []
        async with Server() as server, server.connection() as connection:
            prepared(server)
            reflectors = made(connection, changes.extend)
            assert set(reflectors.unsynced) == {"ConfigMap", "Node", "Pod"}
            reflectors.start()
            await reflectors.wait_synced()
            assert reflectors.unsynced == {}
            assert sorted((each.kind.name, each.new.name) for each in changes if each.new) == [
                ("ConfigMap", "c"),
                ("Node", "m"),
                ("Node", "n"),
                ("Pod", "p"),
            ]
            (pods,) = server.seen("GET", "/api/v1/pods")
            assert pods.query["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"
            assert "fieldSelector" not in server.seen("GET", "/api/v1/nodes")[0].query
            assert len(server.seen("GET", MAPS)) == 1
            await reflectors.aclose()

    run(test())


def test_the_barrier_waits_for_the_slowest_and_says_for_what() -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            prepared(server)
            server.on("GET", "/api/v1/nodes", refusal(403, "Forbidden", "nodes is forbidden"))
            reflectors = made(connection)
            reflectors.start()
            barrier = asyncio.create_task(reflectors.wait_synced())
            await eventually(lambda: list(reflectors.problems) == ["Node"])
            await eventually(lambda: list(reflectors.unsynced) == ["Node"])
            assert "bind a role" in reflectors.unsynced["Node"]
            assert not barrier.done()
            server.on("GET", "/api/v1/nodes", listing("m"))
            await barrier
            assert reflectors.problems == {}
            await reflectors.aclose()

    run(test())


def test_an_outage_is_told_once_and_not_by_every_kind(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            prepared(server)
            reflectors = made(connection)
            reflectors.start()
            await reflectors.wait_synced()
            await eventually(lambda: server.open_requests == 3)
            port = server.port
            await server.stop()
            await eventually(lambda: len(reflectors.problems) == 3)
            found = reflectors.by_kind.values()
            await eventually(lambda: all(each.figures.failures >= 4 for each in found))
            server._server = await asyncio.start_server(server._accept, "127.0.0.1", port)
            await eventually(lambda: reflectors.problems == {})
            await reflectors.aclose()

    run(test())
    told = [each.getMessage() for each in caplog.records if each.name == "remuda.kubernetes"]
    assert len([each for each in told if "cannot connect" in each]) == 1
    assert len([each for each in told if "the connection broke" in each]) <= 1
    assert told.count("the API server answers again") == 1


def test_a_fault_of_the_callback_is_not_hidden() -> None:
    def broken(changes: Sequence[Change]) -> None:
        raise ZeroDivisionError

    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            prepared(server)
            reflectors = made(connection, broken)
            reflectors.start()
            with pytest.raises(ZeroDivisionError):
                await reflectors.wait_synced()
            with pytest.raises(ZeroDivisionError):
                reflectors.check()
            await reflectors.aclose()

    run(test())


def test_nothing_is_delivered_after_the_end() -> None:
    async def test() -> None:
        go = asyncio.Event()
        changes: list[Change] = []

        def late(request: Request) -> Reply:
            return listing("p")

        async def held(stream: Stream) -> None:
            await go.wait()
            await stream.begin()
            await stream.event("ADDED", {"metadata": {"name": "x", "resourceVersion": "9"}})

        async with Server() as server, server.connection() as connection:
            prepared(server)
            server.on("GET", "/api/v1/pods", late)
            server.on("WATCH", "/api/v1/pods", held)
            reflectors = Reflectors(
                connection, SERVED, changes.extend, namespace="remuda", kinds=(POD,)
            )
            reflectors.start()
            await reflectors.wait_synced()
            await eventually(lambda: server.open_requests == 1)
            await reflectors.aclose()
            go.set()
            await eventually(lambda: server.open_requests == 0)
            assert len(changes) == 1

    run(test())


def test_watches_that_were_silent_tell_all_when_they_are_opened_anew() -> None:
    async def missed(stream: Stream) -> None:
        await stream.begin()
        await stream.event("ADDED", {"metadata": {"name": "x", "resourceVersion": "9"}})
        await asyncio.sleep(3600)

    async def test() -> None:
        changes: list[Change] = []
        async with Server() as server, server.connection() as connection:
            prepared(server)
            server.on("WATCH", "/api/v1/pods", quiet, missed)
            reflectors = made(connection, changes.extend)
            reflectors.start()
            await reflectors.wait_synced()
            await eventually(lambda: len(server.seen("WATCH")) == 3)
            await reflectors.refresh()
            assert [each.new.name for each in changes[4:] if each.new] == ["x"]
            assert len(server.seen("GET")) == 3
            first, second = server.seen("WATCH", "/api/v1/pods")
            assert first.query["resourceVersion"] == second.query["resourceVersion"] == "5"
            await reflectors.aclose()

    run(test())


def test_what_the_server_does_not_remember_is_listed_before_all_is_known() -> None:
    async def test() -> None:
        changes: list[Change] = []
        async with Server() as server, server.connection() as connection:
            prepared(server)
            server.on("WATCH", "/api/v1/nodes", quiet, refusal(410, "Expired", "too old"), quiet)
            reflectors = made(connection, changes.extend)
            reflectors.start()
            await reflectors.wait_synced()
            await eventually(lambda: len(server.seen("WATCH")) == 3)
            server.on("GET", "/api/v1/nodes", listing("m", "o"))
            await reflectors.refresh()
            told = [(each.old and each.old.name, each.new and each.new.name) for each in changes]
            assert sorted(told[4:], key=str) == [("n", None), (None, "o")]
            await reflectors.aclose()

    run(test())


def test_a_server_that_is_away_is_waited_for_before_all_is_known() -> None:
    async def test() -> None:
        async with Server() as server, server.connection() as connection:
            prepared(server)
            reflectors = made(connection)
            reflectors.start()
            await reflectors.wait_synced()
            port = server.port
            await server.stop()
            renewing = asyncio.create_task(reflectors.refresh())
            await eventually(lambda: len(reflectors.problems) == 3)
            assert not renewing.done()
            server._server = await asyncio.start_server(server._accept, "127.0.0.1", port)
            await renewing
            assert reflectors.problems == {}
            await reflectors.aclose()

    run(test())
