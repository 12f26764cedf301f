"""Verifies tokens that issuers have signed (JWT, RFC 7519, RFC 8725; EXT-31). Event loop only.

What a token says of itself is believed only after its signature: its algorithm must be one of the
list of its issuer, its key one that the issuer lists, and nothing in the token says where a key is.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence
from typing import Final

import jwt
import msgspec

from remuda.edges.issuers.key_source import KeySource
from remuda.edges.issuers.keys import Key
from remuda.edges.issuers.presented import Presented
from remuda.edges.issuers.settings import Issuer, Trust
from remuda.edges.lockout import RefusedTokenError
from remuda.edges.rights import Identity

_REQUIRED: Final = ("exp", "iss", "aud")


class _Header(msgspec.Struct):
    """The part of a token that says how it is signed. ``crit``: what must be understood."""

    alg: str
    kid: str = ""
    crit: object = None


class _Claims(msgspec.Struct):
    """What a token says of its issuer before it was verified."""

    iss: str


class SignedTokens:
    """The issuers of this moment and their keys.

    Args: issuers: those of the file. keys_changed: called when an issuer has other keys. now: the
        time in seconds, of a clock that does not run backwards.
    """

    def __init__(
        self,
        issuers: Sequence[Issuer],
        keys_changed: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys_changed = keys_changed
        self._now = now
        self._issuers: dict[str, Issuer] = {}
        self._sources: dict[str, KeySource] = {}
        self.replace(issuers)

    def replace(self, issuers: Sequence[Issuer]) -> None:
        """Put other issuers in force; what is known of the keys of the same ones stays."""
        before, sources = self._issuers, self._sources
        self._issuers = {each.trust.issuer: each for each in issuers}
        self._sources = {
            name: sources[name]
            if name in before and before[name].trust == each.trust
            else KeySource(each.trust, self._keys_changed, self._now)
            for name, each in self._issuers.items()
        }

    def tend(self) -> None:
        """Have old keys fetched again."""
        for each in self._sources.values():
            each.tend()

    def identity(self, presented: Presented) -> Identity | None:
        """Return who shows a token that was verified; None: it is not accepted any more."""
        issuer = self._issuers.get(presented.trust.issuer)
        if issuer is None or issuer.trust != presented.trust:
            return None
        if not self._sources[issuer.trust.issuer].lists(presented.key):
            return None
        return issuer.identity(presented.claims)

    async def verify(self, token: bytes) -> Presented | None:
        """Return what a token shows; None: it is none of an issuer. Implements: EXT-31.

        Raises: RefusedTokenError for one of an issuer that is not accepted.
        """
        found = self._issuer_of(token)
        if found is None:
            return None
        header, trust = found
        if len(token) > trust.token_bytes:
            raise _refused(trust, f"it has more than {trust.token_bytes} bytes")
        if header.alg not in trust.algorithms:
            raise _refused(trust, "its algorithm is not permitted")
        if header.crit is not None:
            raise _refused(trust, "it needs extensions")
        key = await self._sources[trust.issuer].key(header.kid, header.alg)
        if key is None:
            text = "its key is not one of the issuer's"
            raise _refused(trust, text, wrong=False)
        return _verified(token, header.alg, key, trust)

    def _issuer_of(self, token: bytes) -> tuple[_Header, Trust] | None:
        """Return the header of a token and the issuer that it names; None without either."""
        parts = token.split(b".", 3)
        longest = max([each.trust.token_bytes for each in self._issuers.values()], default=0)
        if len(parts) != 3 or len(token) > 2 * longest:
            return None
        try:
            header = msgspec.json.decode(_bytes(parts[0]), type=_Header)
            claims = msgspec.json.decode(_bytes(parts[1]), type=_Claims)
        except (msgspec.DecodeError, binascii.Error, UnicodeError, RecursionError):
            return None
        issuer = self._issuers.get(claims.iss)
        return None if issuer is None else (header, issuer.trust)


def _bytes(part: bytes) -> bytes:
    return base64.b64decode(part + b"=" * (-len(part) % 4), b"-_", validate=True)


def _verified(token: bytes, algorithm: str, key: Key, trust: Trust) -> Presented:
    """Return what a token shows after its signature, times, issuer and audience were looked at.

    Raises: RefusedTokenError.
    """
    try:
        claims = jwt.decode(
            token,
            key.public,
            algorithms=[algorithm],
            audience=trust.audience,
            issuer=trust.issuer,
            leeway=trust.leeway_seconds,
            options={"require": list(_REQUIRED)},
        )
        ends = int(claims["exp"]) + trust.leeway_seconds
    except jwt.ExpiredSignatureError:
        raise _refused(trust, "it has expired", wrong=False) from None
    except jwt.ImmatureSignatureError:
        raise _refused(trust, "it is not valid yet", wrong=False) from None
    except jwt.InvalidAudienceError:
        raise _refused(trust, "it is for another audience") from None
    except jwt.InvalidSignatureError:
        raise _refused(trust, "its signature is wrong") from None
    except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError):
        raise _refused(trust, "its claims are not as they must be") from None
    return Presented(trust, key.digest, claims, ends)


def _refused(trust: Trust, why: str, *, wrong: bool = True) -> RefusedTokenError:
    text = f"The token of the issuer {trust.name} is not accepted: {why}"
    return RefusedTokenError(text, wrong=wrong)
