"""Callers that are remembered by connection (EXT-23, EXT-27)."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from remuda.edges import recent_callers
from remuda.edges.callers import KnownCallers
from remuda.edges.issuers.presented import Presented
from remuda.edges.issuers.settings import Trust
from remuda.edges.recent_callers import RecentCallers
from remuda.edges.rights import Identity

PEER = "ipv4:10.0.0.1:4711"


def owner(*tokens: bytes) -> Identity:
    digests = tuple(hashlib.sha256(token).digest() for token in tokens)
    return Identity("a", token_digests=digests, read=True)


async def noted(known: KnownCallers, token: bytes, peer: str = PEER) -> RecentCallers:
    recent = RecentCallers(known)
    found = await known.bearer(token, "10.0.0.1")
    assert found is not None
    recent.note(peer, token, found)
    return recent


@pytest.mark.remuda_rule("EXT-23", "EXT-27")
def test_only_the_token_of_the_connection_counts_and_only_until_the_identities_change() -> None:
    async def calls() -> None:
        known = KnownCallers([owner(b"one", b"two")])
        recent = await noted(known, b"one")
        found = recent.find(PEER, b"one")
        assert found is not None
        assert found[0] == owner(b"one", b"two")
        assert recent.find(PEER, b"two") is None
        assert recent.find("ipv4:10.0.0.1:4712", b"one") is None
        known.replace([owner(b"two")])
        assert recent.find(PEER, b"one") is None

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-31")
def test_a_token_that_has_expired_does_not_count_any_more() -> None:
    recent = RecentCallers(KnownCallers())
    trust = Trust("login", "https://login", ("remuda",), ("RS256",), keys=Path("keys.json"))
    for ends, counts in ((2.0**40, True), (1.0, False)):
        recent.note(PEER, b"x", (owner(), Presented(trust, b"", {}, ends)))
        assert (recent.find(PEER, b"x") is not None) is counts


def test_the_oldest_connections_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_callers, "CONNECTIONS", 2)
    recent = RecentCallers(KnownCallers())
    for peer in ("a", "b", "a", "c"):
        recent.note(peer, b"x", (owner(), b"mark"))
    assert [recent.find(peer, b"x") is not None for peer in ("a", "b", "c")] == [True, False, True]
