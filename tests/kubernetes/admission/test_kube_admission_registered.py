"""Whether the API server asks and trusts the controller, as each replica sees it for itself."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from remuda_kubernetes.admission import webhooks
from remuda_kubernetes.admission.figures import Figures
from remuda_kubernetes.admission.keeper import GivenCertificates, Keeper, OwnCertificates
from remuda_kubernetes.admission.pairs import chain_of, is_trusted, new_pair, utc
from remuda_kubernetes.admission.store import Store
from remuda_kubernetes.admission.webhooks import Target
from remuda_kubernetes.api.connection import Answer, Connection
from remuda_kubernetes.api.errors import ApiError
from tests.kubernetes.admission.test_kube_admission_keeper import NAMES, Time, replica, run

NOW = utc(1_800_000_000)
PAIR = new_pair(NAMES, NOW)


class TurnError(Exception):
    """Ends a keeper at its next pause."""


class OneLook:
    """A clock on which nothing goes on after one look."""

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise TurnError


class Silent:
    """An API server that does not answer."""

    async def request(self, *_: object, **__: object) -> Answer:
        raise ApiError("no answer", status=503)

    def stream(self, *_: object, **__: object) -> Any:
        raise ApiError("no answer", status=503)


def given(connection: Any, figures: Figures, target: Target | None = None) -> GivenCertificates:
    made = GivenCertificates(
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        Store(connection, "yunikorn"),
        Store(connection, "yunikorn"),
        chain=lambda: PAIR.certificate,
        target=None if target is None else lambda: target,
        figures=figures,
        clock=OneLook(),
        wall=NOW.timestamp,
    )
    made.listening.set()
    return made


def target(authorities: bytes | None) -> Target:
    return Target("yunikorn", "hook", authorities=authorities)


async def once(keeper: Callable[[], Awaitable[None]]) -> None:
    with pytest.raises(TurnError):
        await keeper()


@pytest.mark.remuda_rule("EXT-143")
def test_a_replica_that_does_not_lead_sees_what_is_registered() -> None:
    async def act(connection: Connection) -> None:
        figures = Figures()
        # It registers nothing itself.
        follower = given(connection, figures)
        await once(follower.follow)
        assert not figures.registered
        await once(follower.lead)
        assert not figures.registered
        await Store(connection, "yunikorn").register(target(PAIR.authority))
        await once(follower.follow)
        assert bool(figures.registered)
        assert figures.ends == (NOW + timedelta(days=90)).timestamp()
        assert "remuda_admission_registered 1.0" in figures.text()
        # Somebody removes one of the two.
        plural = next(iter(webhooks.PLURALS))
        await connection.request("DELETE", f"/apis/{webhooks.GROUP}/{plural}/{webhooks.NAME}")
        await once(follower.follow)
        assert not figures.registered

    run(act)


@pytest.mark.remuda_rule("EXT-143")
@pytest.mark.parametrize(
    "authorities,registered",
    [
        (PAIR.authority, True),
        (new_pair(NAMES, NOW).authority, False),
        (new_pair(NAMES, NOW).authority + PAIR.authority, True),
        # Another program will write them, or the server's system has them.
        (None, True),
    ],
)
def test_the_authorities_that_are_registered_have_to_vouch(
    authorities: bytes | None, *, registered: bool
) -> None:
    async def act(connection: Connection) -> None:
        figures = Figures()
        keeper = given(connection, figures, target(authorities))
        await once(keeper.lead)
        await once(keeper.follow)
        assert figures.registered is registered

    run(act)


@pytest.mark.remuda_rule("EXT-143")
def test_what_cannot_be_read_is_not_known_to_be_so() -> None:
    figures = Figures()
    own = OwnCertificates(
        Store(Silent(), "yunikorn"),
        Store(Silent(), "yunikorn"),
        names=NAMES,
        target_of=None,
        figures=figures,
        clock=OneLook(),
    )
    keepers: list[Keeper] = [given(Silent(), figures), own]
    for keeper in keepers:
        figures.registered = True
        asyncio.run(once(keeper.follow))
        assert not figures.registered


def test_a_failure_to_register_is_no_registration() -> None:
    figures = Figures()
    keeper = given(Silent(), figures, target(PAIR.authority))
    asyncio.run(once(keeper.lead))
    assert not figures.registered


def test_own_certificates_count_when_both_configurations_trust_them() -> None:
    async def act(connection: Connection) -> None:
        clock = Time()
        figures = Figures()
        made = replica(connection, clock, figures)
        await made.step()
        await made.look()
        assert figures.registered
        store = Store(connection, "yunikorn")
        other = new_pair(NAMES, utc(clock()))
        await store.register(target(other.authority))
        for plural in webhooks.PLURALS:
            path = f"/apis/{webhooks.GROUP}/{plural}/{webhooks.NAME}"
            await connection.request("DELETE", path)
        await store.register(target(other.authority))
        await made.look()
        assert not figures.registered

    run(act)


def configuration(*bundles: bytes | None) -> dict[str, Any]:
    hooks = [
        {"clientConfig": {} if each is None else {"caBundle": base64.b64encode(each).decode()}}
        for each in bundles
    ]
    return {"webhooks": hooks}


@pytest.mark.parametrize(
    "found,bundle",
    [
        (None, None),
        ({}, None),
        (configuration(), None),
        (configuration(None), b""),
        (configuration(b"a", b"a"), b"a"),
        (configuration(b"a", None), None),
        (configuration(b"a", b"b"), None),
    ],
)
def test_all_webhooks_of_a_configuration_have_to_agree(found: Any, bundle: bytes | None) -> None:
    assert webhooks.bundle_of(found) == bundle


def test_a_chain_counts_by_signatures_and_time() -> None:
    chain = chain_of(PAIR.certificate)
    leaf = chain[:1]
    assert is_trusted(leaf, PAIR.authority, NOW)
    assert is_trusted(leaf, b"", NOW)
    assert not is_trusted(leaf, b"nonsense", NOW)
    for wrong in (NOW + timedelta(days=91), NOW - timedelta(days=1)):
        assert not is_trusted(leaf, PAIR.authority, wrong)
        assert not is_trusted(leaf, b"", wrong)
    # An authority of the same name with another key.
    assert not is_trusted(leaf, new_pair(NAMES, NOW).authority, NOW)
