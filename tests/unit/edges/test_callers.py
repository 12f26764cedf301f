"""Callers that are known by a token, and what their tokens cost (EXT-28, EXT-29)."""

from __future__ import annotations

import asyncio
import hashlib
import threading

import pytest

from remuda.edges import callers as module
from remuda.edges.callers import TOO_MANY_CHECKED, KnownCallers
from remuda.edges.lockout import LockedOutError
from remuda.edges.rights import Identity
from remuda.edges.token_hashes import TokenHash

HERE = "10.0.0.1"


def cheap(token: bytes) -> TokenHash:
    digest = hashlib.scrypt(token, salt=b"salt", n=16, r=1, p=1, dklen=32)
    return TokenHash(token.partition(b".")[0], b"salt", digest, rounds=16, blocks=1)


def owner(*tokens: bytes, read: bool = True) -> Identity:
    return Identity("a", token_hashes=tuple(map(cheap, tokens)), read=read)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The tokens whose slow hash was computed."""
    found: list[bytes] = []
    fits = TokenHash.fits

    def noted(self: TokenHash, token: bytes) -> bool:
        found.append(token)
        return fits(self, token)

    monkeypatch.setattr(TokenHash, "fits", noted)
    return found


@pytest.mark.remuda_rule("EXT-28")
def test_a_slow_hash_is_computed_once_until_the_identities_change(computed: list[bytes]) -> None:
    async def calls() -> None:
        known = KnownCallers([owner(b"1.x")])
        first = await asyncio.gather(*[known.bearer(b"1.x", HERE) for _ in range(9)])
        again = await known.bearer(b"1.x", "10.0.0.2")
        assert {found[0].name for found in (*first, again) if found} == {"a"}
        assert None not in first
        assert computed == [b"1.x"]
        known.replace([owner(b"1.x")])
        assert await known.bearer(b"1.x", HERE) is not None
        known.replace([owner(b"2.y")])
        assert await known.bearer(b"1.x", HERE) is None
        assert computed == [b"1.x"] * 2

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-28")
def test_a_token_whose_public_part_nobody_has_costs_no_hash(computed: list[bytes]) -> None:
    async def calls() -> None:
        known = KnownCallers([owner(b"1.x")])
        for number, token in enumerate((b"", b"1", b"2.x", b"x.1")):
            assert await known.bearer(token, f"10.0.0.{number}") is None
        assert computed == []
        assert await known.bearer(b"1.wrong", HERE) is None
        assert computed == [b"1.wrong"]

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-27", "EXT-28")
def test_the_open_call_of_a_token_ends_with_its_hash() -> None:
    ended: list[str] = []

    async def calls() -> None:
        known = KnownCallers([owner(b"1.x", b"2.y")])
        found = await known.bearer(b"1.x", HERE)
        assert found is not None
        with known.calling(*found, lambda: ended.append("1.x")) as call:
            assert known.replace([owner(b"1.x")]) == []
            assert not call.revoked
            assert [each.name for each in known.replace([owner(b"2.y")])] == ["a"]
            assert known.replace([owner(b"2.y")]) == []
            assert call.revoked

    asyncio.run(calls())
    assert ended == ["1.x"]


@pytest.mark.remuda_rule("EXT-29")
def test_wrong_tokens_of_both_kinds_lock_the_address_out(computed: list[bytes]) -> None:
    async def calls() -> None:
        known = KnownCallers([owner(b"1.x")])
        assert await known.bearer(b"1.x", HERE) is not None
        for number in range(5):
            assert await known.bearer(b"1.wrong" if number % 2 else b"none", HERE) is None
        computed.clear()
        for token in (b"none", b"1.other"):
            with pytest.raises(LockedOutError, match="Too many wrong tokens"):
                await known.bearer(token, HERE)
        assert computed == []
        assert await known.bearer(b"1.x", HERE) is not None
        assert await known.bearer(b"1.x", "10.0.0.9") is not None

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-28", "EXT-29")
def test_a_caller_that_goes_away_before_the_hash_is_there_counts_as_a_failure() -> None:
    async def calls() -> None:
        known = KnownCallers([owner(b"1.x")])
        for number in range(5):
            call = asyncio.create_task(known.bearer(b"1.wrong %d" % number, HERE))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        # It waits for all of them, for one hash is computed at a time.
        with pytest.raises(LockedOutError):
            await known.bearer(b"1.x", HERE)

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-28")
def test_the_tokens_that_wait_for_their_hash_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_OF_ADDRESS", 2)
    monkeypatch.setattr(module, "WAITING", 3)

    async def calls() -> None:
        known = KnownCallers([owner(b"1.x")])
        addresses = (HERE, HERE, HERE, "10.0.1.3", "10.0.1.4")
        outcomes = await asyncio.gather(
            *[known.bearer(b"1.%d" % number, each) for number, each in enumerate(addresses)],
            return_exceptions=True,
        )
        assert [str(each) for each in outcomes] == [
            "None",
            "None",
            TOO_MANY_CHECKED,
            "None",
            TOO_MANY_CHECKED,
        ]

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-27", "EXT-28")
def test_a_token_that_is_taken_away_while_its_hash_is_computed_is_not_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, taken_away = threading.Event(), threading.Event()

    def slow(_stored: TokenHash, _token: bytes) -> bool:
        begun.set()
        return taken_away.wait(30)

    monkeypatch.setattr(TokenHash, "fits", slow)

    async def calls() -> None:
        known = KnownCallers([owner(b"1.x")])
        call = asyncio.create_task(known.bearer(b"1.x", HERE))
        assert await asyncio.to_thread(begun.wait, 30)
        known.replace([owner(b"2.y")])
        taken_away.set()
        assert await call is None

    asyncio.run(calls())
