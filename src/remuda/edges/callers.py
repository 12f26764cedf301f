"""The callers that are known now, and their open calls (EXT-23, EXT-27).

The file of identities may change while the service runs. A caller is looked up in the identities
of this moment; a call that lasts is noted, so that it can be ended when its caller is not known
any more or has other rights. Event loop only.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from remuda.edges.identities import Identity
from remuda.edges.lockout import LockedOutError, Lockout
from remuda.edges.token_hashes import TokenHash, key_of

# What shows who a caller is: a name in its certificate, or the mark of its token's digest.
Proof: TypeAlias = str | bytes

Found: TypeAlias = tuple[Identity, Proof]

# Tokens that fit a slow hash and are remembered until the identities change.
VERIFIED: Final = 1_024

# Tokens that may wait for their slow hash, of one address and of all, and what others are told.
WAITING_OF_ADDRESS: Final = 64
WAITING: Final = 256
TOO_MANY_CHECKED: Final = "Too many tokens are being checked; try again later"

# The reason that callers get when their open calls are ended.
NOT_KNOWN_ANY_MORE: Final = "the caller of this call is not known any more, or has other rights"


class OpenCall:
    """A call that lasts. ``revoked``: it was ended, because its caller lost its rights."""

    __slots__ = ("_end", "identity", "proof", "revoked")

    def __init__(self, identity: Identity, proof: Proof, end: Callable[[], object]) -> None:
        self.identity = identity
        self.proof = proof
        self.revoked = False
        self._end = end

    def revoke(self) -> None:
        """End the call."""
        self.revoked = True
        self._end()


class KnownCallers:
    """Who may call a listener; ``everybody`` if no identities were given at the start.

    ``lockout``: refuses addresses from which too many wrong tokens come.
    """

    def __init__(self, identities: Sequence[Identity] = (), lockout: Lockout | None = None) -> None:
        self.everybody = not identities
        self._lockout = lockout or Lockout()
        self._hashes: dict[bytes, tuple[Identity, TokenHash]] = {}
        self._verified: dict[bytes, Found] = {}
        self._checks: dict[bytes, tuple[str, asyncio.Task[Found | None]]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)
        self._open: dict[OpenCall, None] = {}
        self._by_proof: dict[Proof, Identity] = {}
        self._set(identities)

    def certified(self, name: str) -> Found | None:
        """Return the owner of a name in a certificate, None if nobody has it."""
        found = self._by_proof.get(name)
        return None if found is None else (found, name)

    async def bearer(self, token: bytes, address: str) -> Found | None:
        """Return the owner of a token that came from an address, None if nobody has it.

        Digests are looked up by a mark that depends on a key of this process. So the time it takes
        does not show how much of a guess is right. Raises: LockedOutError. Rules: EXT-29.
        """
        mark = self._lockout.mark(hashlib.sha256(token).digest())
        self._lockout.check(address, mark)
        found = self._by_proof.get(mark)
        known = self._verified.get(mark) if found is None else (found, mark)
        if known is None and key_of(token) in self._hashes:
            return await asyncio.shield(self._check(token, mark, address))
        self._note(known, mark, address)
        return known

    def _note(self, known: Found | None, mark: bytes, address: str) -> None:
        if known is None:
            self._lockout.failed(address)
        else:
            self._lockout.succeeded(address, mark)

    def _check(self, token: bytes, mark: bytes, address: str) -> asyncio.Task[Found | None]:
        """Return what computes the slow hash of a token, even if its caller goes away.

        Calls with the same token share it. Raises: LockedOutError if too many wait already.
        """
        if mark in self._checks:
            return self._checks[mark][1]
        same = sum(other == address for other, _ in self._checks.values())
        if same >= WAITING_OF_ADDRESS or len(self._checks) >= WAITING:
            raise LockedOutError(TOO_MANY_CHECKED, 1.0)
        check = asyncio.create_task(self._verify(token, mark, address))
        self._checks[mark] = (address, check)
        check.add_done_callback(partial(self._checked, mark))
        return check

    def _checked(self, mark: bytes, check: asyncio.Task[Found | None]) -> None:
        del self._checks[mark]
        if not check.cancelled():
            check.exception()  # nobody may wait for it any more

    async def _verify(self, token: bytes, mark: bytes, address: str) -> Found | None:
        """Return the owner of a token that is stored as a slow hash. Implements: EXT-28."""
        async with self._one_at_a_time:
            # A wrong token before it may have locked the address out meanwhile.
            self._lockout.check(address, mark)
            key = key_of(token)
            owner = self._hashes.get(key)
            fits = owner is not None and await asyncio.to_thread(owner[1].fits, token)
            known = None
            # The identities may have changed meanwhile.
            if fits and owner is not None and self._hashes.get(key) == owner:
                known = (owner[0], self._hash_mark(owner[1]))
                self._remember(mark, known)
        self._note(known, mark, address)
        return known

    def _remember(self, mark: bytes, known: Found) -> None:
        if len(self._verified) >= VERIFIED:
            del self._verified[next(iter(self._verified))]
        self._verified[mark] = known

    @contextmanager
    def calling(
        self, identity: Identity, proof: Proof, end: Callable[[], object]
    ) -> Iterator[OpenCall]:
        """A call lasts inside; ``end`` ends it when its caller loses its rights."""
        call = OpenCall(identity, proof, end)
        self._open[call] = None
        try:
            yield call
        finally:
            self._open.pop(call, None)

    def replace(self, identities: Sequence[Identity]) -> list[Identity]:
        """Put other identities in force; end the calls of those that are gone or changed.

        Returns: whose calls were ended, one for each call. Implements: EXT-27.
        """
        self._set(identities)
        ended = [call for call in self._open if not (call.revoked or self._keeps_rights(call))]
        for call in ended:
            call.revoke()
        return [call.identity for call in ended]

    def _set(self, identities: Sequence[Identity]) -> None:
        found: dict[Proof, Identity] = {}
        for each in identities:
            found.update(dict.fromkeys(each.certificates, each))
            found.update(dict.fromkeys(map(self._lockout.mark, each.token_digests), each))
            found.update(dict.fromkeys(map(self._hash_mark, each.token_hashes), each))
        self._by_proof = found
        self._hashes = {
            stored.key: (each, stored) for each in identities for stored in each.token_hashes
        }
        self._verified.clear()

    def _hash_mark(self, stored: TokenHash) -> bytes:
        """Return what stands for a hash; no token has the same mark."""
        return self._lockout.mark(b"hash " + stored.text().encode())

    def _keeps_rights(self, call: OpenCall) -> bool:
        now = self._by_proof.get(call.proof)
        return now is not None and _rights(now) == _rights(call.identity)


def _rights(identity: Identity) -> Identity:
    """Return an identity without its proofs: another token more changes nothing for the old one."""
    return replace(identity, certificates=(), token_digests=(), token_hashes=())
