"""Computes a fingerprint of everything a scheduler decided.

Two runs with equal digests produced the same effects in the same order. The encoding is
canonical: it depends on neither hash seeds nor the order in which a mapping was filled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from remuda.core.messages.effects import Effect


class EffectDigest:
    """A running SHA-256 over effects; it does not depend on their batches."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.json.Encoder(order="deterministic")

    def update(self, effects: Sequence[Effect]) -> None:
        """Add the next effects."""
        named = [(type(effect).__name__, effect) for effect in effects]
        self._hash.update(self._encoder.encode_lines(named))

    def hexdigest(self) -> str:
        """The fingerprint of all effects so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()
