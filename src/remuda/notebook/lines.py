"""What a view has a line for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """An ask that waits: how many allocations of it, the amounts of one, and why."""

    application_id: str
    allocation_key: str
    pending: int
    resource: Mapping[str, int]
    reason: str
