"""Tokens that are stored as slow hashes (EXT-28).

A file of identities may be read by people who must not learn tokens from it. A hash that takes
much time and memory keeps even a short token from being guessed. A token has a public part, which
tells the hash that it belongs to: a wrong token costs one computation at most, one without a known
public part none.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from remuda.base.message import message

_SCHEME: Final = "scrypt"

# The cost of new hashes: 16 MiB and some 50 ms.
_ROUNDS, _BLOCKS, _PARALLEL = 2**14, 8, 1

# The most that a file may ask for.
_MEMORY_LIMIT: Final = 64 * 2**20
_PARALLEL_LIMIT: Final = 4

# The most that computing a hash takes, with all that scrypt needs besides.
_MEMORY_MOST: Final = 2 * _MEMORY_LIMIT

_KEY_BYTES: Final = 8
_SALT_BYTES: Final = 16
_DIGEST_BYTES: Final = 32
_SECRET_BYTES: Final = 32

# Between the public part of a token and the secret one.
_SEPARATOR: Final = b"."


@message
class TokenHash:
    """A hash of a token. ``key``: the public part of the token.

    ``rounds``, ``blocks``, ``parallel``: the cost, which scrypt calls n, r and p.
    """

    key: bytes
    salt: bytes
    digest: bytes
    rounds: int = _ROUNDS
    blocks: int = _BLOCKS
    parallel: int = _PARALLEL

    def text(self) -> str:
        """Return the hash as it stands in the file."""
        cost = f"{self.rounds}:{self.blocks}:{self.parallel}"
        key, salt, digest = self.key.decode(), self.salt.hex(), self.digest.hex()
        return f"{_SCHEME}:{cost}:{key}:{salt}:{digest}"

    def fits(self, token: bytes) -> bool:
        """Whether it is the hash of a token; it takes some 50 ms. Any thread."""
        found = hashlib.scrypt(
            token,
            salt=self.salt,
            n=self.rounds,
            r=self.blocks,
            p=self.parallel,
            maxmem=_MEMORY_MOST,
            dklen=_DIGEST_BYTES,
        )
        return hmac.compare_digest(found, self.digest)


def new_token() -> tuple[str, TokenHash]:
    """Return a random token and its hash."""
    key = secrets.token_hex(_KEY_BYTES)
    token = f"{key}{_SEPARATOR.decode()}{secrets.token_urlsafe(_SECRET_BYTES)}"
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = hashlib.scrypt(
        token.encode(), salt=salt, n=_ROUNDS, r=_BLOCKS, p=_PARALLEL, dklen=_DIGEST_BYTES
    )
    return token, TokenHash(key.encode(), salt, digest)


def key_of(token: bytes) -> bytes:
    """Return the public part of a token, empty if it has none."""
    key, separator, _ = token.partition(_SEPARATOR)
    return key if separator else b""


def read_token_hash(text: str) -> TokenHash | None:
    """Return the hash that a text of the file means, None if it means none. Rules: EXT-28."""
    parts = text.split(":")
    if len(parts) != 7 or parts[0] != _SCHEME:
        return None
    try:
        rounds, blocks, parallel = map(int, parts[1:4])
        key, salt, digest = parts[4].encode("ascii"), *map(bytes.fromhex, parts[5:])
    except ValueError:
        return None
    if rounds < 2 or rounds & (rounds - 1) or blocks < 1 or not 1 <= parallel <= _PARALLEL_LIMIT:
        return None
    # What is refused here is what computing the hash would raise an error for.
    if rounds.bit_length() > 16 * blocks or 128 * rounds * blocks > _MEMORY_LIMIT:
        return None
    if 128 * blocks * (rounds + parallel + 2) > _MEMORY_MOST:
        return None
    if len(digest) != _DIGEST_BYTES or not key or not salt:
        return None
    return TokenHash(key, salt, digest, rounds, blocks, parallel)
