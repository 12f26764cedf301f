"""Errors of the running scheduler, as opposed to errors of a request or of a configuration.

Bad input of a request is answered by effects or refused at the edge.
"""

from __future__ import annotations

from remuda.base.errors import ProtocolError, RemudaError


class LoopStoppedError(RemudaError):
    """The scheduler takes no more work: it was stopped, or it stopped itself after a fault."""


class RecordingError(RemudaError):
    """A recording could not be written, although its place looked usable."""


class FaultError(RemudaError):
    """A fault of the scheduler ended the registration of an RM while a call of it was handled."""

    def __init__(self, rm_id: str) -> None:
        super().__init__(
            f"the scheduler failed in work for '{rm_id}' and dropped all that it had: register"
            " again; the log of the scheduler has the fault"
        )


class NotRegisteredError(ProtocolError):
    """A call names a resource manager that is not registered (SI-1, RM-2)."""

    def __init__(self, rm_id: str) -> None:
        super().__init__(f"resource manager {rm_id[:300]!r} is not registered")
