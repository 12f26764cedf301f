"""How certificates follow each other without a gap, as a pure function of what is stored.

A new certificate waits until both webhook configurations trust its authority and API servers had
time to learn that. Then all replicas serve with it. The authority before is trusted for a day more,
in which every replica moves on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding

from remuda_kubernetes.admission.pairs import (
    RENEW_DAYS,
    Pair,
    PairError,
    chain_of,
    check_pair,
    ends,
    still_valid,
)

# An API server learns of a changed configuration within a second; replicas look every ten.
SETTLE: Final = timedelta(seconds=60)
RETAIN: Final = timedelta(days=1)

Make = Callable[[Sequence[str], datetime], Pair]


@dataclass(frozen=True, slots=True)
class Stored:
    """What all replicas share.

    ``current``: what they serve with, since ``since``. ``coming``: what they will serve with, and
    since when its authority has been trusted everywhere. ``authorities``: those to trust, in PEM.
    """

    current: Pair
    since: datetime
    authorities: bytes
    coming: Pair | None = None
    trusted_since: datetime | None = None


def next_state(
    stored: Stored | None,
    registered: bytes,
    *,
    names: Sequence[str],
    now: datetime,
    make: Make,
) -> Stored:
    """Return what is to be stored next; the same object if nothing changes.

    ``registered``: the authorities that both webhook configurations trust. ``names``: those under
    which API servers call. One step is taken at a time.
    """
    if stored is None:
        return _first(names, now, make, b"")
    try:
        check_pair(stored.current, names, now)
    except PairError:
        # Nobody can be served with it, so there is nothing to wait for.
        return _first(names, now, make, stored.authorities)
    if stored.coming is not None:
        return _step(stored, stored.coming, registered, names=names, now=now, make=make)
    if now >= ends(stored.current) - timedelta(days=RENEW_DAYS):
        return _with_coming(stored, make(names, now), now)
    return _without_old(stored, now)


def _first(names: Sequence[str], now: datetime, make: Make, before: bytes) -> Stored:
    pair = make(names, now)
    kept = [*still_valid(before, now), pair.authority]
    return Stored(pair, now, b"".join(kept))


def _with_coming(stored: Stored, pair: Pair, now: datetime) -> Stored:
    kept = [*still_valid(stored.authorities, now), pair.authority]
    return replace(stored, authorities=b"".join(kept), coming=pair, trusted_since=None)


def _step(
    stored: Stored,
    coming: Pair,
    registered: bytes,
    *,
    names: Sequence[str],
    now: datetime,
    make: Make,
) -> Stored:
    try:
        check_pair(coming, names, now)
    except PairError:
        return _with_coming(stored, make(names, now), now)
    if coming.authority not in still_valid(registered, now):
        return replace(stored, trusted_since=None) if stored.trusted_since else stored
    # A clock that went back must not hold it up.
    if stored.trusted_since is None or now < stored.trusted_since:
        return replace(stored, trusted_since=now)
    if now - stored.trusted_since < SETTLE:
        return stored
    return replace(stored, current=coming, since=now, coming=None, trusted_since=None)


def _without_old(stored: Stored, now: datetime) -> Stored:
    """Stop trusting what is over, and after a day what nobody serves with any more."""
    kept = still_valid(stored.authorities, now)
    if now - stored.since >= RETAIN or stored.current.authority not in kept:
        kept = [stored.current.authority]
    bundle = b"".join(kept)
    return stored if bundle == stored.authorities else replace(stored, authorities=bundle)


def with_newer(authorities: bytes, registered: bytes) -> bytes:
    """Return authorities to register, with those registered that are newer than all of them.

    A leader that was stopped for a while may know an older state than the one after it wrote. It
    must not take back what replicas may serve with by now.
    """
    try:
        newest = max(each.not_valid_before_utc for each in chain_of(authorities))
        found = chain_of(registered)
    except PairError:
        return authorities
    newer = [each for each in found if each.not_valid_before_utc > newest]
    return authorities + b"".join(each.public_bytes(Encoding.PEM) for each in newer)
