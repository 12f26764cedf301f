"""The callers that are known now, and their open calls (EXT-23, EXT-27).

The file of identities may change while the service runs. A caller is looked up in the identities
of this moment; a call that lasts is noted, so that it can be ended when its caller is not known
any more or has other rights. Event loop only.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

from remuda.edges.identities import Identity

# What shows who a caller is: a name in its certificate, or the mark of its token's digest.
Proof: TypeAlias = str | bytes

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
    """Who may call a listener; ``everybody`` if no identities were given at the start."""

    def __init__(self, identities: Sequence[Identity] = ()) -> None:
        self.everybody = not identities
        self._open: dict[OpenCall, None] = {}
        self._key = secrets.token_bytes(32)
        self._by_proof: dict[Proof, Identity] = {}
        self._set(identities)

    def certified(self, name: str) -> tuple[Identity, Proof] | None:
        """Return the owner of a name in a certificate, None if nobody has it."""
        found = self._by_proof.get(name)
        return None if found is None else (found, name)

    def bearer(self, token: bytes) -> tuple[Identity, Proof] | None:
        """Return the owner of a token, None if nobody has it.

        Digests are looked up by a mark that depends on a key of this process. So the time it takes
        does not show how much of a guess is right.
        """
        mark = self._mark(hashlib.sha256(token).digest())
        found = self._by_proof.get(mark)
        return None if found is None else (found, mark)

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
            found.update(dict.fromkeys(map(self._mark, each.token_digests), each))
        self._by_proof = found

    def _mark(self, digest: bytes) -> bytes:
        return hashlib.blake2b(digest, key=self._key, digest_size=32).digest()

    def _keeps_rights(self, call: OpenCall) -> bool:
        now = self._by_proof.get(call.proof)
        return now is not None and _rights(now) == _rights(call.identity)


def _rights(identity: Identity) -> Identity:
    """Return an identity without its proofs: another token more changes nothing for the old one."""
    return replace(identity, certificates=(), token_digests=())
