"""The callers that are known now, and their open calls (EXT-23, EXT-27, EXT-31).

The file of identities may change while the service runs. A caller is looked up in the identities
of this moment; a call that lasts is noted, so that it can be ended when its caller is not known
any more or has other rights, or when its token has expired. Event loop only.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from remuda.edges.issuers.presented import Presented
from remuda.edges.issuers.settings import Issuer
from remuda.edges.lockout import LockedOutError, Lockout, RefusedTokenError
from remuda.edges.rights import Identity
from remuda.edges.token_hashes import TokenHash, key_of
from remuda.telemetry.audit.records import DONE, REVOKE, Audit, Record, no_audit

if TYPE_CHECKING:
    from remuda.edges.issuers.signed import SignedTokens

# What shows who a caller is: a name in its certificate, the mark of its token's digest, or what
# its token showed, if an issuer signed it.
Proof: TypeAlias = str | bytes | Presented

Found: TypeAlias = tuple[Identity, Proof]

# Tokens that fit a slow hash, or that an issuer signed, and are remembered until the identities
# change.
VERIFIED: Final = 1_024

# Tokens that may wait for their slow hash, of one address and of all, and what others are told.
WAITING_OF_ADDRESS: Final = 64
WAITING: Final = 256
TOO_MANY_CHECKED: Final = "Too many tokens are being checked; try again later"

# The reasons that callers get when their open calls are ended.
NOT_KNOWN_ANY_MORE: Final = "the caller of this call is not known any more, or has other rights"
EXPIRED: Final = "the token of this call has expired"

# How often open calls are compared with the time, and old keys of issuers looked for.
_LOOK_SECONDS: Final = 1.0


class OpenCall:
    """A call that lasts. ``reason``: why it was ended, because its caller lost its rights."""

    __slots__ = ("_end", "identity", "proof", "reason")

    def __init__(self, identity: Identity, proof: Proof, end: Callable[[], object]) -> None:
        self.identity = identity
        self.proof = proof
        self.reason = ""
        self._end = end

    @property
    def revoked(self) -> bool:
        """Whether it was ended."""
        return self.reason != ""

    def revoke(self, reason: str) -> None:
        """End the call."""
        self.reason = reason
        self._end()


class KnownCallers:
    """Who may call a listener; ``everybody`` if no identities or issuers were given at the start.

    ``lockout``: refuses addresses from which too many wrong tokens come. ``issuers``: whose signed
    tokens count. ``audit``: takes records of calls that are ended. ``now``: seconds, for the age of
    keys.

    ``generation``: another number each time what tokens mean may have changed.
    ``certificates``: whether a name in a certificate can mean anybody.
    """

    def __init__(
        self,
        identities: Sequence[Identity] = (),
        lockout: Lockout | None = None,
        *,
        issuers: Sequence[Issuer] = (),
        audit: Audit = no_audit,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.everybody = not (identities or issuers)
        self._lockout = lockout or Lockout()
        self._audit = audit
        self._now = now
        self._signed: SignedTokens | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._hashes: dict[bytes, tuple[Identity, TokenHash]] = {}
        self._verified: dict[bytes, Found] = {}
        self._checks: dict[bytes, tuple[str, asyncio.Task[Found | None]]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)
        self._open: dict[OpenCall, None] = {}
        self._by_proof: dict[str | bytes, Identity] = {}
        self.generation = 0
        self.certificates = False
        self._set(identities, issuers)

    def certified(self, name: str) -> Found | None:
        """Return the owner of a name in a certificate, None if nobody has it."""
        found = self._by_proof.get(name)
        return None if found is None else (found, name)

    async def bearer(self, token: bytes, address: str) -> Found | None:
        """Return the owner of a token that came from an address, None if nobody has it.

        Digests are looked up by a mark that depends on a key of this process. So the time it takes
        does not show how much of a guess is right. Raises: RefusedTokenError. Rules: EXT-29.
        """
        mark = self._lockout.mark(hashlib.sha256(token).digest())
        self._lockout.check(address, mark)
        found = self._by_proof.get(mark)
        known = self._remembered(mark) if found is None else (found, mark)
        if known is None and key_of(token) in self._hashes:
            return await asyncio.shield(self._check(token, mark, address))
        if known is None and self._signed is not None:
            known = await self._by_issuer(self._signed, token, mark, address)
        self._note(known, mark, address)
        return known

    def _remembered(self, mark: bytes) -> Found | None:
        """Return the owner of a token that was verified before and has not expired."""
        known = self._verified.get(mark)
        if known is not None and has_expired(known[1]):
            del self._verified[mark]
            return None
        return known

    async def _by_issuer(
        self, signed: SignedTokens, token: bytes, mark: bytes, address: str
    ) -> Found | None:
        """Return who shows a token that an issuer signed; None: it is none of an issuer.

        Raises: RefusedTokenError. Rules: EXT-31.
        """
        try:
            presented = await signed.verify(token)
            if presented is None:
                return None
            # The identities may have changed meanwhile.
            identity = None if self._signed is None else self._signed.identity(presented)
        except RefusedTokenError as refusal:
            if refusal.wrong:
                self._lockout.failed(address)
            raise
        if identity is None:
            name = presented.trust.name
            text = f"The token of the issuer {name} is not accepted: it may do nothing"
            raise RefusedTokenError(text)
        known = (identity, presented)
        self._remember(mark, known)
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
        if isinstance(proof, Presented):
            self._look_later()
        try:
            yield call
        finally:
            self._open.pop(call, None)

    def replace(
        self, identities: Sequence[Identity], issuers: Sequence[Issuer] = ()
    ) -> list[Identity]:
        """Put other identities in force; end the calls of those that are gone or changed.

        Returns: whose calls were ended, one for each call. Implements: EXT-27.
        """
        self._set(identities, issuers)
        return self._end(NOT_KNOWN_ANY_MORE, self._lost_rights)

    def _end(self, reason: str, is_over: Callable[[OpenCall], bool]) -> list[Identity]:
        """End the calls that are over; return whose they were, one for each, and record it.

        Rules: EXT-26.
        """
        ended = [call for call in self._open if not call.revoked and is_over(call)]
        for call in ended:
            call.revoke(reason)
        for name in sorted({call.identity.name for call in ended}):
            self._audit(Record(REVOKE, DONE, who=name, reason=reason))
        return [call.identity for call in ended]

    def _look_later(self) -> None:
        if self._looking is None:
            loop = asyncio.get_running_loop()
            self._looking = loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """End the calls whose tokens have expired; have old keys fetched. Rules: EXT-31."""
        self._looking = None
        self._end(EXPIRED, lambda call: has_expired(call.proof))
        if self._signed is not None:
            self._signed.tend()
        if any(isinstance(call.proof, Presented) for call in self._open):
            self._look_later()

    def _keys_changed(self) -> None:
        """Forget what was verified, and end the calls whose keys are gone. Rules: EXT-31."""
        self.generation += 1
        self._verified.clear()
        self._end(NOT_KNOWN_ANY_MORE, self._lost_rights)

    def _set_issuers(self, issuers: Sequence[Issuer]) -> None:
        if self._signed is not None:
            self._signed.replace(issuers)
        elif issuers:
            # It needs an optional library.
            from remuda.edges.issuers.signed import SignedTokens  # noqa: PLC0415

            self._signed = SignedTokens(issuers, self._keys_changed, self._now)

    def _set(self, identities: Sequence[Identity], issuers: Sequence[Issuer]) -> None:
        self.generation += 1
        self.certificates = any(each.certificates for each in identities)
        self._set_issuers(issuers)
        found: dict[str | bytes, Identity] = {}
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

    def _lost_rights(self, call: OpenCall) -> bool:
        proof = call.proof
        if not isinstance(proof, Presented):
            now = self._by_proof.get(proof)
        else:
            now = None if self._signed is None else self._signed.identity(proof)
        return now is None or _rights(now) != _rights(call.identity)


def has_expired(proof: Proof) -> bool:
    """Whether what showed who a caller is has an end that is over."""
    return isinstance(proof, Presented) and proof.ends <= time.time()


def _rights(identity: Identity) -> Identity:
    """Return an identity without its proofs: another token more changes nothing for the old one."""
    return replace(identity, certificates=(), token_digests=(), token_hashes=())
