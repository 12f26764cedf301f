"""Tokens that are stored as slow hashes (EXT-28)."""

from __future__ import annotations

import hashlib

import pytest

from remuda.edges.token_hashes import TokenHash, key_of, new_token, read_token_hash

# Cheap, so that tests are fast. The digest is that of the standard library for these numbers.
CHEAP = TokenHash(
    b"0123",
    bytes(range(16)),
    hashlib.scrypt(b"0123.secret", salt=bytes(range(16)), n=16, r=1, p=1, dklen=32),
    rounds=16,
    blocks=1,
)


@pytest.mark.remuda_rule("EXT-28")
def test_a_new_token_fits_its_hash_and_no_other_does() -> None:
    token, stored = new_token()
    other, _ = new_token()
    read = read_token_hash(stored.text())
    assert read == stored
    assert stored.fits(token.encode())
    assert not stored.fits(other.encode())
    assert not stored.fits(token[:-1].encode())
    assert key_of(token.encode()) == stored.key
    assert token.partition(".")[2] not in stored.text()
    assert len(token) >= 59


@pytest.mark.remuda_rule("EXT-28")
def test_a_token_without_a_public_part_has_none() -> None:
    assert key_of(b"correct horse") == b""
    assert key_of(b".secret") == b""


@pytest.mark.remuda_rule("EXT-28")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "correct horse",
        "argon2:16:1:1:0123:00:" + "00" * 32,
        "scrypt:15:1:1:0123:00:" + "00" * 32,
        "scrypt:1:1:1:0123:00:" + "00" * 32,
        "scrypt:16:0:1:0123:00:" + "00" * 32,
        "scrypt:16:1:5:0123:00:" + "00" * 32,
        "scrypt:1048576:8:1:0123:00:" + "00" * 32,
        "scrypt:65536:1:1:0123:00:" + "00" * 32,
        "scrypt:2:262144:1:0123:00:" + "00" * 32,
        "scrypt:16:1:1::00:" + "00" * 32,
        "scrypt:16:1:1:0123::" + "00" * 32,
        "scrypt:16:1:1:0123:0g:" + "00" * 32,
        "scrypt:16:1:1:0123:00:" + "00" * 31,
        "scrypt:16:1:1:0123:00:" + "00" * 32 + ":",
    ],
)
def test_a_text_that_is_no_hash_or_asks_for_too_much_is_none(text: str) -> None:
    assert read_token_hash(text) is None
    assert read_token_hash(CHEAP.text()) == CHEAP
