"""Addresses from which too many wrong tokens come are refused for a while (EXT-29).

Event loop only.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from remuda.telemetry.audit.records import LOCK_OUT, REFUSED, Audit, Record, no_audit

# An address may send so many wrong tokens within a minute; each further one locks it out.
FREE_FAILURES: Final = 4
WINDOW_SECONDS: Final = 60.0

# The first time is so long; each further wrong token doubles it, up to the longest.
FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 60.0

# What callers are told; HTTP clients may compare it (REST-13).
TOO_MANY_WRONG: Final = "Too many wrong tokens came from this address; try again later"

# Addresses with wrong tokens, and pairs of an address and a token that it showed rightly, that are
# remembered. The oldest are forgotten first.
ADDRESSES: Final = 4_096
SHOWN: Final = 8_192


class RefusedTokenError(Exception):
    """A token is not accepted. ``text``: why. ``wrong``: whether it counts as a wrong token."""

    def __init__(self, text: str, *, wrong: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.wrong = wrong


class LockedOutError(RefusedTokenError):
    """A token is not looked at now. ``seconds``: when to try again."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(text)
        self.seconds = seconds


@dataclass(slots=True)
class _Failures:
    """The wrong tokens of one address: how many, the last one, and until when it is locked out."""

    count: int = 0
    last: float = 0.0
    until: float = 0.0


class Lockout:
    """Counts wrong tokens per address.

    Args:
        audit: takes a record each time an address is locked out.
        now: the time in seconds.

    Listeners share one, so that they agree about tokens. A token that an address has shown rightly
    before is let in all the same, because others may share the address. Implements: EXT-29.
    """

    def __init__(self, audit: Audit = no_audit, now: Callable[[], float] = time.monotonic) -> None:
        self._audit = audit
        self._now = now
        self._key = secrets.token_bytes(32)
        self._failures: dict[str, _Failures] = {}
        self._shown: dict[tuple[str, bytes], None] = {}

    def mark(self, digest: bytes) -> bytes:
        """Return what stands for a token here; it depends on a key that nobody knows."""
        return hashlib.blake2b(digest, key=self._key, digest_size=32).digest()

    def check(self, address: str, mark: bytes) -> None:
        """Raise LockedOutError if a token must not be looked at. ``mark``: stands for the token."""
        found = self._failures.get(address)
        if found is None:
            return
        left = found.until - self._now()
        if left > 0 and (address, mark) not in self._shown:
            raise LockedOutError(TOO_MANY_WRONG, left)

    def succeeded(self, address: str, mark: bytes) -> None:
        """Note that a token from an address was right."""
        pair = (address, mark)
        if pair not in self._shown:
            _make_room(self._shown, SHOWN)
            self._shown[pair] = None

    def failed(self, address: str) -> None:
        """Note a wrong token from an address."""
        now = self._now()
        found = self._failures.pop(address, None)
        # The time of a lock is no quiet time: an address is forgiven a minute after its end.
        if found is None or now - max(found.last, found.until) > WINDOW_SECONDS:
            found = _Failures()
        _make_room(self._failures, ADDRESSES)
        self._failures[address] = found
        found.count, found.last = found.count + 1, now
        beyond = found.count - FREE_FAILURES
        if beyond < 1:
            return
        seconds = min(FIRST_SECONDS * 2.0 ** min(beyond - 1, 16), LONGEST_SECONDS)
        found.until = now + seconds
        reason = f"{found.count} wrong tokens; refused for {seconds:g} s"
        self._audit(Record(LOCK_OUT, REFUSED, origin=address, reason=reason))


def _make_room(table: dict[Any, Any], size: int) -> None:
    """Forget the oldest entry of a table that is full."""
    while len(table) >= size:
        del table[next(iter(table))]
