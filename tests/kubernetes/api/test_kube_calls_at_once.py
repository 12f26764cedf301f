"""Calls: how many are in flight, and which do not wait for which."""

from __future__ import annotations

import asyncio

from remuda_kubernetes.api.attempts import CallSettings
from tests.kubernetes.api.scripted import Server, Stream, eventually, run
from tests.kubernetes.api.test_kube_calls import DONE, P, calling, pod


def test_at_most_so_many_requests_are_in_flight() -> None:
    settings = CallSettings(in_flight=10, background=3)

    async def test() -> None:
        go = asyncio.Event()

        async def held(stream: Stream) -> None:
            await go.wait()
            await stream.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

        async with Server() as server, calling(server, settings=settings) as calls:
            pods = [pod(f"p{number}") for number in range(40)]
            for each in pods:
                server.on("POST", f"{P}/{each.name}/binding", held)
                server.on("PATCH", f"{P}/{each.name}/status", held)
            patches = [asyncio.create_task(calls.patch_pod_conditions(p, ())) for p in pods]
            await eventually(lambda: server.open_requests == 3)
            binds = [asyncio.create_task(calls.bind(pod(f"q{n}"), "m")) for n in range(7)]
            for n in range(7):
                server.on("POST", f"{P}/q{n}/binding", held)
            await eventually(lambda: server.open_requests == 10)
            assert calls.figures.in_flight == 10
            assert calls.figures.open == 47
            go.set()
            await asyncio.gather(*patches, *binds)
            assert server.most_open == 10

    run(test())


def test_a_binding_does_not_wait_for_all_the_placeholders_of_a_gang() -> None:
    settings = CallSettings(in_flight=4, creations=3)

    async def test() -> None:
        go = asyncio.Event()

        async def held(stream: Stream) -> None:
            await go.wait()
            await stream.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

        async with Server() as server, calling(server, settings=settings) as calls:
            server.on("POST", P, held)
            server.on("POST", f"{P}/p/binding", DONE)
            bodies = [{"metadata": {"name": f"tg-{number}"}} for number in range(20)]
            made = [asyncio.create_task(calls.create_pod("n", each)) for each in bodies]
            await eventually(lambda: server.open_requests == 3)
            assert (await calls.bind(pod(), "m1")).done
            go.set()
            await asyncio.gather(*made)

    run(test())


def test_a_binding_does_not_wait_until_all_the_placeholders_of_a_gang_are_deleted() -> None:
    settings = CallSettings(in_flight=4, deletions=3)

    async def test() -> None:
        go = asyncio.Event()

        async def held(stream: Stream) -> None:
            await go.wait()
            await stream.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

        async with Server() as server, calling(server, settings=settings) as calls:
            pods = [pod(f"tg-{number}") for number in range(20)]
            for each in pods:
                server.on("DELETE", f"{P}/{each.name}", held)
            server.on("POST", f"{P}/p/binding", DONE)
            gone = [asyncio.create_task(calls.delete_pod(each)) for each in pods]
            await eventually(lambda: server.open_requests == 3)
            assert (await calls.bind(pod(), "m1")).done
            go.set()
            outcomes = await asyncio.gather(*gone)
            assert all(each.done for each in outcomes)
            assert server.most_open == 4

    run(test())
