"""Failures of the lease."""

from __future__ import annotations

from remuda.base.errors import RemudaError


class LeaseLostError(RemudaError):
    """This process is not the active scheduler any more, so it ends."""


class StoreError(RemudaError):
    """The store of the lease did not answer, or not with sense; one line."""
