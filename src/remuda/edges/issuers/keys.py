"""The public keys of an issuer, as its document lists them (JWKS, RFC 7517; EXT-31)."""

from __future__ import annotations

import hashlib
from typing import Final

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from remuda.base.message import message

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

# Bytes of a document, and keys in it.
DOCUMENT_LIMIT: Final = 262_144
_KEYS_LIMIT: Final = 64

# Bits of an RSA key: shorter ones can be broken, longer ones take long to use.
_RSA_BITS: Final = range(2_048, 8_193)

# The curve of each algorithm.
_CURVES: Final = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}


class KeysError(Exception):
    """A document is none that lists keys; one line says why."""


@message
class Key:
    """A key. ``name``: its `kid`, "" without. ``digest``: the SHA-256 of what it is.

    ``algorithm``: the only one that it is for, "": any that fits.
    """

    name: str
    algorithm: str
    public: PublicKey
    digest: bytes

    def fits(self, algorithm: str) -> bool:
        """Whether signatures by an algorithm can be verified with it."""
        if self.algorithm and self.algorithm != algorithm:
            return False
        if isinstance(self.public, RSAPublicKey):
            return algorithm.startswith(("RS", "PS"))
        if isinstance(self.public, EllipticCurvePublicKey):
            return _CURVES.get(algorithm) == self.public.curve.name
        return algorithm == "EdDSA"


class _Document(msgspec.Struct):
    keys: list[dict[str, object]]


def read_keys(document: bytes) -> tuple[Key, ...]:
    """Return the keys that can verify signatures; others are left out. Raises: KeysError."""
    if len(document) > DOCUMENT_LIMIT:
        raise KeysError(f"it has more than {DOCUMENT_LIMIT} bytes")
    try:
        entries = msgspec.json.decode(document, type=_Document).keys
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise KeysError(f"it is no list of keys: {error}") from None
    if len(entries) > _KEYS_LIMIT:
        raise KeysError(f"it has more than {_KEYS_LIMIT} keys")
    found = [key for key in map(_key, entries) if key is not None]
    if not found:
        raise KeysError("it has no key that can verify signatures")
    return tuple(found)


def _key(entry: dict[str, object]) -> Key | None:
    """Return a key, None if it cannot be used here. A secret key (`oct`) never can."""
    if entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig":
        return None
    name, algorithm = entry.get("kid", ""), entry.get("alg", "")
    if not isinstance(name, str) or not isinstance(algorithm, str):
        return None
    # Only what is public is passed on: a document that lists private keys is a mistake.
    public: dict[str, object] = {
        part: entry[part] for part in ("kty", "crv", "n", "e", "x", "y") if part in entry
    }
    try:
        key = jwt.PyJWK(public).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    if not isinstance(key, PublicKey):
        return None
    if isinstance(key, RSAPublicKey) and key.key_size not in _RSA_BITS:
        return None
    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Key(name, algorithm, key, hashlib.sha256(content).digest())
