"""Tokens that an issuer signed: what is accepted, what hostile ones get, and when it ends (EXT-31).

The keys, the signatures and the issuer on loopback are real.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from remuda.base.errors import UsageError
from remuda.edges.callers import KnownCallers
from remuda.edges.identities import AccessRules, read_access_rules
from remuda.edges.issuers import key_source
from remuda.edges.lockout import LockedOutError, RefusedTokenError
from remuda.edges.rights import Identity
from tests.issuer import AUDIENCE, ISSUER, Listing, document, ec_key, listed, rsa_key, signed

HERE = "10.0.0.1"

FILE = """
[[issuer]]
name = "login"
issuer = "{issuer}"
audience = "{audience}"
{keys}
{more}

[[issuer.grant]]
values = ["scheduling"]
role = "administrator"

[[issuer.grant]]
values = ["team-a"]
role = "operator"
queues = ["root.team-a"]

[[issuer.grant]]
claim = "sub"
values = ["cluster-a"]
rm-ids = ["cluster-a"]
"""


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def rules(path: Path, keys: str, more: str = "") -> AccessRules:
    path.write_text(FILE.format(issuer=ISSUER, audience=AUDIENCE, keys=keys, more=more))
    return read_access_rules(path, certificates=False)


def of_file(tmp_path: Path, content: bytes, more: str = "") -> AccessRules:
    (tmp_path / "keys.json").write_bytes(content)
    return rules(tmp_path / "access.toml", "keys-file = 'keys.json'", more)


def of_address(tmp_path: Path, url: str, more: str = "") -> AccessRules:
    return rules(tmp_path / "access.toml", f"keys-url = '{url}'", more)


async def shown(known: KnownCallers, token: str | bytes, address: str = HERE) -> Identity | None:
    found = await known.bearer(token if isinstance(token, bytes) else token.encode(), address)
    return None if found is None else found[0]


async def refusal(known: KnownCallers, token: str | bytes, address: str = HERE) -> str:
    """Why a token is not accepted; "" if it is none of an issuer."""
    try:
        assert await shown(known, token, address) is None
    except RefusedTokenError as error:
        return error.text
    return ""


@pytest.mark.remuda_rule("EXT-31")
def test_the_first_grant_that_fits_a_claim_gives_the_rights(tmp_path: Path) -> None:
    found = of_file(tmp_path, document(one=rsa_key(), two=ec_key()))

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        assert not known.everybody
        chief = await shown(known, signed(rsa_key(), groups=["other", "scheduling", "team-a"]))
        assert chief == Identity("login/ann", admin=True)
        duty = await shown(known, signed(ec_key(), "two", groups="team-a", sub="bob"))
        assert duty is not None
        assert (duty.name, duty.admin, duty.read) == ("login/bob", False, True)
        assert duty.operates is not None
        assert duty.operates.queues == ("root.team-a",)
        cluster = await shown(known, signed(rsa_key(), sub="cluster-a", groups=None))
        assert cluster == Identity("login/cluster-a", rm_ids=("cluster-a",))
        assert "it may do nothing" in await refusal(known, signed(rsa_key(), groups=["x"]))

    asyncio.run(calls())


def parts(token: str) -> list[bytes]:
    return token.encode().split(b".")


def packed(value: object) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")


def unsigned(algorithm: str) -> bytes:
    _, claims, _ = parts(signed(rsa_key()))
    return b".".join([packed({"alg": algorithm, "kid": "one"}), claims, b""])


def with_public_key_as_secret() -> bytes:
    """Signed with HS256 and the public key, which a verifier that believes the header accepts."""
    secret = rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body = b".".join([packed({"alg": "HS256", "kid": "one"}), parts(signed(rsa_key()))[1]])
    proof = hmac.new(secret, body, hashlib.sha256).digest()
    return body + b"." + base64.urlsafe_b64encode(proof).rstrip(b"=")


def changed() -> bytes:
    """The claims of one token with the signature of another."""
    header, _, proof = parts(signed(rsa_key(), groups=["nothing"]))
    return b".".join([header, parts(signed(rsa_key()))[1], proof])


NOW = int(time.time())

HOSTILE: dict[str, tuple[Callable[[], str | bytes], str]] = {
    "alg none": (lambda: unsigned("none"), "its algorithm is not permitted"),
    "alg None": (lambda: unsigned("None"), "its algorithm is not permitted"),
    "no signature": (lambda: unsigned("RS256"), "its signature is wrong"),
    "HS256 with the public key": (with_public_key_as_secret, "its algorithm is not permitted"),
    "changed claims": (changed, "its signature is wrong"),
    "a key of a stranger": (lambda: signed(rsa_key(9)), "its signature is wrong"),
    "an algorithm of another kind of key": (
        lambda: signed(ec_key(), "one"),
        "its key is not one of the issuer's",
    ),
    "another audience": (lambda: signed(rsa_key(), aud="x"), "it is for another audience"),
    "no audience": (lambda: signed(rsa_key(), aud=None), "its claims are not as they must be"),
    "another issuer": (lambda: signed(rsa_key(), iss="https://evil.example"), ""),
    "expired": (lambda: signed(rsa_key(), exp=NOW - 3_600), "it has expired"),
    "no end": (lambda: signed(rsa_key(), exp=None), "its claims are not as they must be"),
    "an end that is no number": (
        lambda: signed(rsa_key(), exp="never"),
        "its claims are not as they must be",
    ),
    "not yet valid": (lambda: signed(rsa_key(), nbf=NOW + 3_600), "it is not valid yet"),
    "huge": (lambda: signed(rsa_key(), x="x" * 8_000), "it has more than 8192 bytes"),
    "much too huge": (lambda: signed(rsa_key(), x="x" * 1_000_000), ""),
    "a kid that leads away": (
        lambda: signed(rsa_key(), "../../dev/null"),
        "its key is not one of the issuer's",
    ),
    "a kid of SQL": (lambda: signed(rsa_key(), "' or 1=1"), "its key is not one of the issuer's"),
    "a kid that is no text": (
        lambda: b".".join([packed({"alg": "RS256", "kid": 1}), *parts(signed(rsa_key()))[1:]]),
        "",
    ),
    "a key of its own": (
        lambda: signed(rsa_key(9), header={"jwk": listed("one", rsa_key(9))}),
        "its signature is wrong",
    ),
    "an address of its own": (
        lambda: signed(rsa_key(9), header={"jku": "http://127.0.0.1:1/", "x5u": "file:///x"}),
        "its signature is wrong",
    ),
    "extensions": (lambda: signed(rsa_key(), header={"crit": ["b64"]}), "it needs extensions"),
    "deep claims": (lambda: b".".join([packed({"alg": "RS256"}), b"W1tb" * 2_000, b""]), ""),
    "no token": (lambda: b"..", ""),
    "five parts": (lambda: b"a.b.c.d.e", ""),
    "no Base64": ("ä.ö.ü".encode, ""),
}


@pytest.mark.remuda_rule("EXT-31")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_token_is_refused_and_its_reason_told(tmp_path: Path, what: str) -> None:
    make, reason = HOSTILE[what]
    found = of_file(tmp_path, document(one=rsa_key(), two=ec_key()))

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        assert await shown(known, signed(rsa_key())) is not None
        text = f"The token of the issuer login is not accepted: {reason}" if reason else ""
        assert await refusal(known, make()) == text

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-29", "EXT-31")
def test_false_tokens_lock_an_address_out_and_expired_ones_do_not(tmp_path: Path) -> None:
    found = of_file(tmp_path, document(one=rsa_key()))

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        for _ in range(9):
            assert "expired" in await refusal(known, signed(rsa_key(), exp=NOW - 3_600))
        for _ in range(5):
            assert "signature" in await refusal(known, signed(rsa_key(9)))
        with pytest.raises(LockedOutError):
            await shown(known, signed(rsa_key()))

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-31")
def test_a_small_or_secret_key_in_the_document_is_not_used(tmp_path: Path) -> None:
    small = generate_private_key(65_537, 1_024)
    secret = {"kty": "oct", "kid": "s", "k": "c2VjcmV0"}
    usable = listed("one", rsa_key())
    encrypts = {**listed("e", rsa_key(1)), "use": "enc"}
    other = listed("other", rsa_key(2), alg="RS512")
    entries = [secret, listed("small", small), usable, encrypts, other, {"kty": "RSA", "n": 1}]
    found = of_file(tmp_path, json.dumps({"keys": entries}).encode())

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        assert await shown(known, signed(rsa_key())) is not None
        for token in (signed(rsa_key(1), "e"), signed(rsa_key(2), "other")):
            assert "its key is not one" in await refusal(known, token)
        with pytest.warns(match="below the minimum"):
            token = signed(small, "small")
        assert "its key is not one" in await refusal(known, token)

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-31")
def test_a_key_that_is_not_known_is_fetched_once_and_then_not_too_often(tmp_path: Path) -> None:
    async def calls(listing: Listing) -> None:
        found, clock = of_address(tmp_path, listing.url), Clock()
        known = KnownCallers(found.identities, issuers=found.issuers, now=clock)
        several = await asyncio.gather(*[shown(known, signed(rsa_key())) for _ in range(9)])
        assert None not in several
        assert listing.asked == 1
        for number in range(20):
            assert "its key" in await refusal(known, signed(rsa_key(), f"none {number}"))
        assert listing.asked == 1
        listing.content = document(one=rsa_key(), new=ec_key())
        assert "its key" in await refusal(known, signed(ec_key(), "new"))
        clock.seconds += 11
        assert await shown(known, signed(ec_key(), "new")) is not None
        assert listing.asked == 2

    with Listing(document(one=rsa_key())) as listing:
        asyncio.run(calls(listing))


@pytest.mark.remuda_rule("EXT-31")
def test_known_keys_go_on_without_the_issuer_until_they_are_too_old(tmp_path: Path) -> None:
    async def calls(listing: Listing) -> None:
        found, clock = of_address(tmp_path, listing.url, "keys-kept-seconds = 3600"), Clock()
        known = KnownCallers(found.identities, issuers=found.issuers, now=clock)
        assert await shown(known, signed(rsa_key())) is not None
        listing.status = 503
        clock.seconds += 3_500
        assert await shown(known, signed(rsa_key(), sub="bob")) is not None
        clock.seconds += 200
        text = "The keys of the issuer login cannot be read; try again later"
        assert await refusal(known, signed(rsa_key(), sub="eve")) == text
        listing.status = 200
        clock.seconds += 11
        assert await shown(known, signed(rsa_key(), sub="eve")) is not None

    with Listing(document(one=rsa_key())) as listing:
        asyncio.run(calls(listing))


@pytest.mark.remuda_rule("EXT-31")
@pytest.mark.parametrize(
    "content, status",
    [
        (b'{"keys": [' + b" " * 300_000 + b"]}", 200),
        (b"[" * 100_000, 200),
        (b'{"keys": []}', 200),
        (b'{"keys": [' + b'{"kty": "RSA"},' * 99 + b"{}]}", 200),
        (b"\xff", 200),
        (document(one=ec_key()), 302),
    ],
)
def test_a_document_that_is_too_large_or_wrong_gives_no_keys(
    tmp_path: Path, content: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def calls(listing: Listing) -> None:
        found = of_address(tmp_path, listing.url)
        known = KnownCallers(found.identities, issuers=found.issuers)
        assert "cannot be read" in await refusal(known, signed(ec_key()))
        assert listing.asked == 1

    with Listing(content) as listing:
        listing.status = status
        asyncio.run(calls(listing))
    assert "the keys of the issuer 'login' were not read: " in caplog.text


@pytest.mark.remuda_rule("EXT-31")
def test_an_issuer_that_does_not_answer_delays_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_source, "DOWNLOAD_SECONDS", 0.2)
    owner = Identity("a", token_digests=(hashlib.sha256(b"static").digest(),), read=True)

    async def calls(listing: Listing) -> None:
        found = of_address(tmp_path, listing.url)
        known = KnownCallers([owner], issuers=found.issuers)
        waiting = asyncio.create_task(refusal(known, signed(rsa_key())))
        await asyncio.sleep(0)
        assert await shown(known, "static") == owner
        assert not waiting.done()
        assert "cannot be read" in await waiting

    with Listing(document(one=rsa_key())) as listing:
        listing.silent.set()
        asyncio.run(calls(listing))


class Ended:
    """A call that lasts; ``done`` when it is ended, ``why``: what its caller is told."""

    def __init__(self) -> None:
        self.done = asyncio.Event()


async def held(known: KnownCallers, token: str, ended: Ended, begun: asyncio.Event) -> str:
    found = await known.bearer(token.encode(), HERE)
    assert found is not None
    with known.calling(*found, ended.done.set) as call:
        begun.set()
        async with asyncio.timeout(20):
            await ended.done.wait()
        return call.reason


async def opened(known: KnownCallers, token: str) -> asyncio.Task[str]:
    begun = asyncio.Event()
    task = asyncio.create_task(held(known, token, Ended(), begun))
    await begun.wait()
    return task


@pytest.mark.remuda_rule("EXT-31", "EXT-27")
def test_the_end_of_a_token_ends_its_open_calls_and_it_is_not_remembered(tmp_path: Path) -> None:
    found = of_file(tmp_path, document(one=rsa_key()), "leeway-seconds = 0")

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        token, lasting = signed(rsa_key(), exp=int(time.time()) + 2), signed(rsa_key())
        short, long = await opened(known, token), await opened(known, lasting)
        assert await short == "the token of this call has expired"
        assert "it has expired" in await refusal(known, token)
        assert not long.done()
        long.cancel()

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-31", "EXT-27")
def test_a_change_of_the_file_ends_calls_whose_token_gives_other_rights(tmp_path: Path) -> None:
    found = of_file(tmp_path, document(one=rsa_key()))

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        chief = await opened(known, signed(rsa_key()))
        cluster = await opened(known, signed(rsa_key(), sub="cluster-a", groups=None))
        assert known.replace(found.identities, found.issuers) == []
        (issuer,) = found.issuers
        less = replace(issuer, grants=issuer.grants[1:])
        assert [each.name for each in known.replace((), [less])] == ["login/ann"]
        assert "not known any more" in await chief
        assert not cluster.done()
        other = replace(issuer, trust=replace(issuer.trust, audience=("x",)))
        assert [each.name for each in known.replace((), [other])] == ["login/cluster-a"]
        await cluster

    asyncio.run(calls())


@pytest.mark.remuda_rule("EXT-31", "EXT-27")
def test_a_key_that_the_issuer_lists_no_more_ends_what_it_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_source, "_FILE_PAUSE", 0.1)
    found = of_file(tmp_path, document(one=rsa_key(), two=ec_key()))

    async def calls() -> None:
        known = KnownCallers(found.identities, issuers=found.issuers)
        first = await opened(known, signed(rsa_key()))
        second = await opened(known, signed(ec_key(), "two"))
        (tmp_path / "keys.json").write_bytes(document(two=ec_key()))
        assert "not known any more" in await first
        assert "its key" in await refusal(known, signed(rsa_key()))
        assert not second.done()
        second.cancel()

    asyncio.run(calls())


WRONG: dict[str, tuple[str, str, str]] = {
    "none": ("keys-file = 'k'", "algorithms = ['none']", "algorithms has 'none'"),
    "HS256": ("keys-file = 'k'", "algorithms = ['RS256', 'HS256']", "algorithms has 'HS256'"),
    "clear": ("keys-url = 'http://10.0.0.1/'", "", "in clear text, which is for loopback only"),
    "a file as address": ("keys-url = 'file:///k'", "", "no address of HTTP"),
    "a password": ("keys-url = 'https://a:b@c/'", "", "no address of HTTP without a user"),
    "both": ("keys-url = 'https://c/'\nkeys-file = 'k'", "", "either keys-file or keys-url"),
    "leeway": ("keys-file = 'k'", "leeway-seconds = 301", "leeway-seconds is not between"),
    "unknown": ("keys-file = 'k'", "secret = 'x'", "unknown field `secret`"),
}


@pytest.mark.remuda_rule("EXT-31")
@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_about_an_issuer_is_told_at_the_start(tmp_path: Path, what: str) -> None:
    keys, more, text = WRONG[what]
    with pytest.raises(UsageError) as refused:
        rules(tmp_path / "access.toml", keys, more)
    assert text in str(refused.value)
    assert str(tmp_path / "access.toml") in str(refused.value)
