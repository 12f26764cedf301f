"""Errors of the running scheduler, as opposed to errors of a request or of a configuration.

A request never causes one of these: bad input is answered by effects or refused at the edge.
"""

from __future__ import annotations

from remuda.base.errors import RemudaError


class LoopStoppedError(RemudaError):
    """The scheduler takes no more work: it was stopped, or it stopped itself after a fault."""


class RecordingError(RemudaError):
    """A recording could not be written, although its place looked usable."""
