"""Computes fingerprints of what a scheduler decided.

Two runs with equal digests produced the same effects in the same order. The encoding is
canonical: it depends on neither hash seeds nor the order in which a mapping was filled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

import msgspec

from remuda.core.messages.effects import AllocationNew, Effect, EventRecord

# Of one input in so many all effects count. The number is odd because inputs come in pairs, a
# command and the step after it, and both kinds have to have their turn.
ALL_EVERY: Final = 31

# What names a placement. The rest of its ask is part of an earlier input.
_placement: Final[Callable[[Effect], tuple[str, ...]]] = attrgetter(
    "rm_id", "partition", "ask.application_id", "allocation_id", "node_id"
)


class EffectDigest:
    """A running SHA-256 over all effects; it does not depend on their batches.

    Recordings of formats before 8 have it.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.json.Encoder(order="deterministic")

    def add(self, _number: int, effects: Sequence[Effect]) -> str:
        """Add the effects of the next input; return the fingerprint after it."""
        self.update(effects)
        return self.hexdigest()

    def update(self, effects: Sequence[Effect]) -> None:
        """Add the next effects."""
        named = [(type(effect).__name__, effect) for effect in effects]
        self._hash.update(self._encoder.encode_lines(named))

    def hexdigest(self) -> str:
        """The fingerprint of all effects so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()


class InputDigest:
    """A running SHA-256 over what inputs led to, at a quarter of the cost of one over all effects.

    It covers all decisions: the effects that are no event records, without what a placement repeats
    of its ask. Of one input in 31, by its number, it covers all effects in full. Event records are
    four fifths of the effects, and follow from decisions and state. Implements: EXT-185.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def add(self, number: int, effects: Sequence[Effect]) -> str:
        """Add the effects of the next input, which has this number.

        Returns: the fingerprint after it, "" if it is the one before.
        """
        if number % ALL_EVERY == 0:
            found: list[object] = [(type(effect).__name__, effect) for effect in effects]
        else:
            found = []
            # One loop that calls nothing for an event record: every input passes through it.
            for effect in effects:
                kind = effect.__class__
                if kind is EventRecord:
                    continue
                if kind is AllocationNew:
                    found.append(_placement(effect))
                else:
                    found.append((kind.__name__, effect))
        if not found:
            return ""
        self._hash.update(self._encode(found))
        return self._hash.hexdigest()

    def hexdigest(self) -> str:
        """The fingerprint of all so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()
