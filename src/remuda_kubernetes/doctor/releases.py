"""Which releases of Kubernetes are supported, as numbers: the N of 1.N."""

from __future__ import annotations

from typing import Final

# Release whose real API server the tests run against.
TESTED: Final = frozenset({20})
OLDEST: Final = 20
# Newest release whose differences the fake API server of the tests knows.
NEWEST: Final = 34
