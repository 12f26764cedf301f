"""Replicas keep one certificate through a Secret, and renew it while clients go on to trust it."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.edges.certificates import TlsFiles, following_context
from remuda_kubernetes.admission.figures import Figures
from remuda_kubernetes.admission.keeper import OwnCertificates
from remuda_kubernetes.admission.program import Options, Program, names_of
from remuda_kubernetes.admission.store import Store
from remuda_kubernetes.admission.webhooks import Target
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.errors import CONFLICT, ApiError
from remuda_kubernetes.api.kubeconfig import Access
from remuda_kubernetes.testing.server import ApiServer

DAY = timedelta(days=1).total_seconds()
NAMES = names_of("hook", "yunikorn")


class Time:
    """A time of day that a test turns. TLS has its own, so all certificates have to count now."""

    def __init__(self) -> None:
        self.now = time.time() - 62 * DAY

    def __call__(self) -> float:
        return self.now


def replica(connection: Connection, clock: Time, figures: Figures | None = None) -> OwnCertificates:
    made = OwnCertificates(
        Store(connection, "yunikorn"),
        Store(connection, "yunikorn"),
        names=NAMES,
        target_of=lambda authorities: Target("yunikorn", "hook", authorities=authorities),
        figures=figures or Figures(),
        wall=clock,
    )
    made.listening.set()
    return made


def run(act: Callable[[Connection], Awaitable[None]]) -> None:
    async def test(address: str) -> None:
        async with Connection(Access(server=address, source="a test")) as connection:
            await act(connection)

    with ApiServer() as server:
        server.load([{"kind": "Namespace", "metadata": {"name": "yunikorn"}}])
        asyncio.run(test(server.address))


async def shakes_hands(serving: ssl.SSLContext, authorities: bytes) -> None:
    """Connect as an API server does. Raises: ssl.SSLError."""
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0, ssl=serving)
    async with server:
        port = server.sockets[0].getsockname()[1]
        trust = ssl.create_default_context(cadata=authorities.decode())
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=trust, server_hostname=NAMES[0]
        )
        writer.close()


def test_replicas_move_on_together_and_are_trusted_at_each_step() -> None:
    async def act(connection: Connection) -> None:
        clock = Time()
        first, second = replica(connection, clock), replica(connection, clock)
        store = Store(connection, "yunikorn")
        await first.step()
        for each in (first, second):
            await each.look()
        assert first.serving is not None
        assert second.serving is not None
        old = first.serving.pair
        assert second.serving.pair == old

        async def both_are_trusted() -> None:
            for each in (first, second):
                assert each.serving is not None
                await shakes_hands(each.serving.context, await store.registered())

        await both_are_trusted()
        clock.now += 61 * DAY
        await first.step()
        await both_are_trusted()
        # The other one leads from here on.
        await second.step()
        clock.now += 61
        await second.step()
        await second.look()
        new = second.serving.pair
        assert new != old
        # One has moved on, the other one has not: both are trusted.
        assert first.serving.pair == old
        await both_are_trusted()
        await first.look()
        assert first.serving.pair == new
        clock.now += DAY
        await second.step()
        assert await store.registered() == new.authority
        await both_are_trusted()

    run(act)


def test_of_two_that_write_at_once_one_is_refused_and_follows() -> None:
    async def act(connection: Connection) -> None:
        clock = Time()
        first, second = replica(connection, clock), replica(connection, clock)
        done = await asyncio.gather(first.step(), second.step(), return_exceptions=True)
        failed = [each for each in done if isinstance(each, ApiError)]
        assert [each.status for each in failed] in ([], [CONFLICT])
        for each in (first, second):
            await each.step()
            await each.look()
        assert first.serving is not None
        assert second.serving is not None
        assert first.serving.pair == second.serving.pair
        await shakes_hands(first.serving.context, await Store(connection, "yunikorn").registered())

    run(act)


def test_a_secret_that_was_deleted_is_made_anew() -> None:
    async def act(connection: Connection) -> None:
        clock = Time()
        first = replica(connection, clock)
        await first.step()
        await first.look()
        assert first.serving is not None
        old = first.serving.pair
        path = "/api/v1/namespaces/yunikorn/secrets/remuda-admission"
        await connection.request("DELETE", path)
        # Until it is there again the old one is served.
        await first.look()
        assert first.serving.pair == old
        clock.now += 1
        await first.step()
        await first.look()
        assert first.serving.pair != old
        registered = await Store(connection, "yunikorn").registered()
        await shakes_hands(first.serving.context, registered)

    run(act)


def test_nothing_is_registered_before_somebody_listens() -> None:
    async def act(connection: Connection) -> None:
        first = replica(connection, Time())
        first.listening.clear()
        await first.step()
        await first.look()
        assert await Store(connection, "yunikorn").registered() == b""
        first.listening.set()
        await first.step()
        assert await Store(connection, "yunikorn").registered() != b""

    run(act)


@pytest.mark.parametrize(
    "url", ["http://a:1", "https://a/b", "https://u@a", "https://", "a:1", "https://a:1?x"]
)
def test_a_url_that_cannot_be_called_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match=r"--url: .* is no https://HOST:PORT"):
        Program(Options(url=url))


@pytest.mark.parametrize(
    "url, host", [("https://10.0.0.7:9443", "10.0.0.7"), ("https://[::1]:9", "::1"), ("", "")]
)
def test_the_host_of_a_url_is_the_name_in_the_certificate(url: str, host: str) -> None:
    assert Program(Options(url=url)).host == host


def test_certificates_that_are_not_there_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*tls\.crt"):
        following_context(TlsFiles(tmp_path / "tls.crt", tmp_path / "tls.key"))
