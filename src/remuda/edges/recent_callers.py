"""The callers of the latest call of each connection, so that their next calls cost little (EXT-23).

A client sends its token with each call. To look it up takes more time than some calls do. So what
a token meant is remembered by connection until the identities change or the token expires. Event
loop only.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from remuda.base.message import message
from remuda.edges.callers import Found, KnownCallers, has_expired

# Connections that are remembered; the oldest are forgotten first.
CONNECTIONS: Final = 1_024


@message
class _Recent:
    """A caller. ``digest``: of its token. ``generation``: of the identities then in force."""

    generation: int
    digest: bytes
    found: Found


class RecentCallers:
    """Remembers callers with tokens by connection. Rules: EXT-23, EXT-27.

    Certificates are not remembered: nothing in a call shows that a connection is still the same.
    """

    def __init__(self, callers: KnownCallers) -> None:
        self._callers = callers
        self._by_peer: dict[str, _Recent] = {}

    def find(self, peer: str, token: bytes) -> Found | None:
        """Return the owner of a token if this connection has shown it last, and it still counts.

        The comparison takes the same time for all tokens.
        """
        recent = self._by_peer.get(peer)
        if recent is None or recent.generation != self._callers.generation:
            return None
        if not hmac.compare_digest(recent.digest, hashlib.sha256(token).digest()):
            return None
        return None if has_expired(recent.found[1]) else recent.found

    def note(self, peer: str, token: bytes, found: Found) -> None:
        """Remember whom a connection's token means now."""
        self._by_peer.pop(peer, None)
        if len(self._by_peer) >= CONNECTIONS:
            del self._by_peer[next(iter(self._by_peer))]
        digest = hashlib.sha256(token).digest()
        self._by_peer[peer] = _Recent(self._callers.generation, digest, found)
